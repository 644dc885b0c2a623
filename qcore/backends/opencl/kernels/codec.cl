/* Eight scaled floats to eight fields and back. KIND, BITS and EVEN are fixed per build; limits, tables and widths are
 * arguments. The functions of qc_strips.h under their names. */
#pragma OPENCL FP_CONTRACT OFF

#define INTEGER 0
#define MINIFLOAT 1
#define LOOKUP 2
/* Where a table is looked up: close to the compute unit on a GPU, in cached memory on a processor. */
#if defined(LOCAL_TABLE) && KIND != INTEGER
#define TABLE_SPACE __local
#else
#define TABLE_SPACE __constant
#endif
#define FIELD ((1u << BITS) - 1u)

/* Numbers of the element type: what is no array of qc_codec. */
#define CODEC_ARGS int lo, int hi, int mbits, int emin, uint top, uint zero_code, __constant const float *bounds, __constant const uchar *order
#define CODEC lo, hi, mbits, emin, top, zero_code, bounds, order

/* t = x / effective, whose zeros become 0. */
inline float8 qc_divide(float8 x, float8 effective) {
#ifdef CORRECTED_DIVISION
    float part[8], by[8];
    vstore8(x, 0, part);
    vstore8(effective, 0, by);
    for (int i = 0; i < 8; i++) part[i] = qc_quotient(part[i], by[i]);
    float8 t = vload8(0, part);
#else
    float8 t = x / effective;
#endif
    return effective == 0.0f ? (float8)(0.0f) : t;
}

/* Integers: NaN becomes 0, the rest is clamped as a float, so that the conversion is always defined. Adding the largest
 * float below a half and truncating rounds ties away from zero; 1.5 * 2^23 rounds them to even. */
inline uint8 qc_integer_codes(float8 t, int lo, int hi) {
    float8 v = t == t ? t : (float8)(0.0f);
    float8 least = (float8)(lo), most = (float8)(hi);
    v = v < least ? least : v;
    v = v > most ? most : v;
#ifdef EVEN
    return as_uint8(v + 12582912.0f) & FIELD;
#else
    return as_uint8(convert_int8(v + as_float8(0x3effffffu | (as_uint8(v) & 0x80000000u)))) & FIELD;
#endif
}

/* Lookup: how many of the bounds, which do not decrease, lie below. Few are counted, many are halved. */
#if KIND == LOOKUP && BITS <= 4
inline uint8 qc_lookup_codes(float8 t, uint zero_code, __constant const float *bounds, __constant const uchar *order) {
    uint8 found = (uint8)(order[0]);
    for (uint b = 0; b < FIELD; b++) found += as_uint8(t > bounds[b]) & ((uint)order[b + 1] - (uint)order[b]);
    return t == t ? found : (uint8)(zero_code);
}
#else
inline uint qc_lookup_code(float t, uint zero_code, __constant const float *bounds, __constant const uchar *order) {
    uint at = 0;
    for (uint step = 1u << (BITS - 1); step; step >>= 1) at += t > bounds[at + step - 1] ? step : 0u;
    return t == t ? (uint)order[at] : zero_code;
}

inline uint8 qc_lookup_codes(float8 t, uint zero_code, __constant const float *bounds, __constant const uchar *order) {
    return (uint8)(qc_lookup_code(t.s0, zero_code, bounds, order), qc_lookup_code(t.s1, zero_code, bounds, order),
                   qc_lookup_code(t.s2, zero_code, bounds, order), qc_lookup_code(t.s3, zero_code, bounds, order),
                   qc_lookup_code(t.s4, zero_code, bounds, order), qc_lookup_code(t.s5, zero_code, bounds, order),
                   qc_lookup_code(t.s6, zero_code, bounds, order), qc_lookup_code(t.s7, zero_code, bounds, order));
}
#endif

/* Fields of eight elements under their effective scales; where that is 0, the zero code. */
inline uint8 qc_codes(float8 x, float8 effective, CODEC_ARGS) {
    float8 t = qc_divide(x, effective);
#if KIND == INTEGER
    return qc_integer_codes(t, lo, hi);
#elif KIND == MINIFLOAT
    return qc_minifloat8(t, mbits, emin, top, BITS);
#else
    return effective == 0.0f ? (uint8)(zero_code) : qc_lookup_codes(t, zero_code, bounds, order);
#endif
}

/* The value of each field. */
inline float8 qc_values(uint8 fields, TABLE_SPACE const float *table) {
#if KIND == INTEGER
    return convert_float8(as_int8(fields << (uint8)(32 - BITS)) >> (int8)(32 - BITS));
#else
    return (float8)(table[fields.s0], table[fields.s1], table[fields.s2], table[fields.s3], table[fields.s4],
                    table[fields.s5], table[fields.s6], table[fields.s7]);
#endif
}
