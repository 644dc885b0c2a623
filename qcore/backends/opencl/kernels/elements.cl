/* Elements and fields in memory, eight at a time or fewer at the end of a line. ELEMENT, BITS and WORD are fixed per
 * build: the float type of the tensor (0 float32, 2 float16, 3 bfloat16), bits of a field, bytes of a word (0: a byte
 * per value). Little-endian words are a stream of bytes, so fields of every width are read and written as bytes. */
#pragma OPENCL FP_CONTRACT OFF

#if ELEMENT == 0
typedef float qc_element;
#define QC_WIDEN(v) (v)
#define QC_WIDEN8(v) (v)
#define QC_NARROW(v) (v)
#define QC_NARROW8(v) (v)
#elif ELEMENT == 2
typedef ushort qc_element;
#define QC_WIDEN(v) qc_from_half(v)
#define QC_WIDEN8(v) qc_from_half8(v)
#define QC_NARROW(v) qc_to_half(v)
#define QC_NARROW8(v) qc_to_half8(v)
#else
typedef ushort qc_element;
#define QC_WIDEN(v) qc_from_bfloat(v)
#define QC_WIDEN8(v) qc_from_bfloat8(v)
#define QC_NARROW(v) qc_to_bfloat(v)
#define QC_NARROW8(v) qc_to_bfloat8(v)
#endif

/* n <= 8 elements, `step` apart; the rest is zeros. */
inline float8 qc_read(__global const qc_element *from, ulong step, uint n) {
    float buffer[8];
    for (uint i = 0; i < 8; i++) buffer[i] = i < n ? QC_WIDEN(from[i * step]) : 0.0f;
    return vload8(0, buffer);
}

inline void qc_write(__global qc_element *to, ulong step, uint n, float8 values) {
    float buffer[8];
    vstore8(values, 0, buffer);
    for (uint i = 0; i < n; i++) to[i * step] = QC_NARROW(buffer[i]);
}

#ifdef BITS
/* Eight fields as the bytes they are packed in. */
inline void qc_pack(uint8 fields, __global uchar *to) {
#if BITS == 8
    uchar8 bytes = convert_uchar8(fields);
#if WORD == 4
    vstore2(as_uint2(bytes), 0, (__global uint *)to);
#else
    vstore8(bytes, 0, to);
#endif
#else
    uint8 apart = fields << ((uint8)(0, 1, 2, 3, 4, 5, 6, 7) * BITS);
    uint4 four = apart.lo | apart.hi;
    uint2 two = four.lo | four.hi;
    uint word = two.x | two.y;
#if BITS == 4 && WORD == 4
    *(__global uint *)to = word;
#elif BITS == 4
    vstore4(as_uchar4(word), 0, to);
#else
    *(__global ushort *)to = (ushort)word;
#endif
#endif
}

inline uint8 qc_unpack(__global const uchar *from) {
#if BITS == 8
#if WORD == 4
    return convert_uint8(as_uchar8(vload2(0, (__global const uint *)from)));
#else
    return convert_uint8(vload8(0, from));
#endif
#else
#if BITS == 4 && WORD == 4
    uint word = *(__global const uint *)from;
#elif BITS == 4
    uint word = as_uint(vload4(0, from));
#else
    uint word = *(__global const ushort *)from;
#endif
    return ((uint8)(word) >> ((uint8)(0, 1, 2, 3, 4, 5, 6, 7) * BITS)) & ((1u << BITS) - 1u);
#endif
}

/* n <= 8 fields, whose last byte is filled with zero bits. */
inline void qc_pack_few(uint8 fields, uint n, __global uchar *to) {
    uint buffer[8], byte = 0;
    vstore8(fields, 0, buffer);
    for (uint i = 0; i < n; i++) {
        byte |= buffer[i] << (i * BITS % 8);
        if ((i + 1) * BITS % 8 == 0 || i + 1 == n) {
            to[i * BITS / 8] = (uchar)byte;
            byte = 0;
        }
    }
}

inline uint8 qc_unpack_few(__global const uchar *from, uint n) {
    uint buffer[8];
    for (uint i = 0; i < 8; i++)
        buffer[i] = i < n ? ((uint)from[i * BITS / 8] >> (i * BITS % 8)) & ((1u << BITS) - 1u) : 0u;
    return vload8(0, buffer);
}
#endif
