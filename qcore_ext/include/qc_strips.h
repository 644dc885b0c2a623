/* The work itself, a strip at a time: maxima, division, codes, packing, and the way back. Every loop here vectorises. */
#ifndef QC_STRIPS_H
#define QC_STRIPS_H

#include "qc_floats.h"
#include "qc_numbers.h"
#include "qc_tables.h"

/* What a scaled float becomes, known when a loop is compiled. */
enum { QC_CLAMPED = 1, QC_TO_EVEN = 2, QC_TO_MINIFLOAT = 4 };

/* A block of usual length is a loop of known length, which the compiler unrolls into whole vectors. */
#define QC_BY_LENGTH(count, call)                                                                                   \
    switch (count) {                                                                                                 \
        case 16: call(16); break;                                                                                    \
        case 32: call(32); break;                                                                                    \
        case 64: call(64); break;                                                                                    \
        default: call(count); break;                                                                                 \
    }

/* The largest |x| as bits, `most` at least. NaN and infinity win, or are passed over when only finite ones count. */
QC_INLINE uint32_t qc_maximum(const float *QC_RESTRICT x, int64_t n, int finite, uint32_t most) {
    if (finite) {
        for (int64_t i = 0; i < n; i++) {
            uint32_t a = qc_bits(x[i]) & QC_MAGNITUDE;
            a &= 0u - (uint32_t)(a < QC_INFINITY);
            most = a > most ? a : most;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            uint32_t a = qc_bits(x[i]) & QC_MAGNITUDE;
            most = a > most ? a : most;
        }
    }
    return most;
}

/* Raise each block's maximum. The strip begins `phase` elements into its first block. */
static inline void qc_maxima(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase, int finite,
                             uint32_t *QC_RESTRICT maxima) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n; maxima++) {
        int64_t count = n - first < room ? n - first : room;
#define QC_CALL(length) *maxima = qc_maximum(x + first, length, finite, *maxima)
        QC_BY_LENGTH(count, QC_CALL)
#undef QC_CALL
        first += count;
        room = block;
    }
}

/* Blocks shorter than this are spread to one scale per element first; longer ones are loops of their own. */
#define QC_SHORT 32
/* The same for a loop that divides and converts: there it pays off for longer blocks too. */
#define QC_SPREAD 256

/* Each block's scale at every element of the strip; `spread` has a block of room behind the last. Whole
 * vectors are stored, the next block overwrites what was too much. */
static inline void qc_spread(const float *QC_RESTRICT effective, int64_t n, int64_t block, int64_t phase,
                             float *QC_RESTRICT spread) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n;) {
        float scale = *effective++;
        if (room == 16) {
            for (int64_t j = 0; j < 16; j++) spread[first + j] = scale;
        } else if (room == 32) {
            for (int64_t j = 0; j < 32; j++) spread[first + j] = scale;
        } else {
            for (int64_t i = 0; i < room; i += 8)
                for (int64_t j = 0; j < 8; j++) spread[first + i + j] = scale;
        }
        first += room;
        room = block;
    }
}

/* Each block's divisor at every element: its scale, or 1 where that is 0. Returns how many are 0. */
static inline int64_t qc_spread_divisors(const float *QC_RESTRICT effective, int64_t n, int64_t block, int64_t phase,
                                         float *QC_RESTRICT spread) {
    float divisors[QC_ROOM + 1];
    int64_t blocks = (phase + n - 1) / block + 1, zeros = 0;
    for (int64_t i = 0; i < blocks; i++) {
        zeros += effective[i] == 0.0f;
        divisors[i] = effective[i] == 0.0f ? 1.0f : effective[i];
    }
    qc_spread(divisors, n, block, phase, spread);
    return zeros;
}

/* Zero bytes, `size` per element, for every block whose effective scale is 0. */
static inline void qc_clear_zero_blocks(int64_t n, int64_t block, int64_t phase, const float *effective, int64_t size,
                                        void *elements) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        if (*effective++ == 0.0f) memset((char *)elements + first * size, 0, (size_t)(count * size));
        first += count;
        room = block;
    }
}

/* t = x / effective; where the effective scale is 0, t is 0. The strip begins `phase` elements into its first block. */
static inline void qc_divide(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase,
                             const float *QC_RESTRICT effective, float *QC_RESTRICT t) {
    int64_t room = block - phase;
    if (block < QC_SHORT) {
        float spread[QC_ROOM + QC_SHORT];
        int64_t zeros = qc_spread_divisors(effective, n, block, phase, spread);
        for (int64_t i = 0; i < n; i++) t[i] = x[i] / spread[i];
        if (zeros) qc_clear_zero_blocks(n, block, phase, effective, 4, t);
        return;
    }
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        if (scale == 0.0f) {
            for (int64_t i = 0; i < count; i++) t[first + i] = 0.0f;
        } else {
            for (int64_t i = 0; i < count; i++) t[first + i] = x[first + i] / scale;
        }
        first += count;
        room = block;
    }
}

/* y = effective * value, block by block. */
static inline void qc_multiply(const float *QC_RESTRICT values, int64_t n, int64_t block, int64_t phase,
                               const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
    int64_t room = block - phase;
    if (block < QC_SHORT) {
        float spread[QC_ROOM + QC_SHORT];
        qc_spread(effective, n, block, phase, spread);
        for (int64_t i = 0; i < n; i++) y[i] = spread[i] * values[i];
        return;
    }
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        for (int64_t i = 0; i < count; i++) y[first + i] = scale * values[first + i];
        first += count;
        room = block;
    }
}

/* Integer nearest to t, for |t| < 2^22. Adding the largest float below a half and truncating rounds ties away from
 * zero; adding 1.5 * 2^23 leaves the one nearest, ties to even, in the low bits. */
QC_INLINE int32_t qc_nearest(float t, int half_even) {
    if (half_even) return (int32_t)(qc_bits(t + 12582912.0f) - qc_bits(12582912.0f));
    return (int32_t)(t + qc_float(0x3effffffu | (qc_bits(t) & ~QC_MAGNITUDE)));
}

/* Anything to an integer code: NaN becomes 0, the rest is clamped as a float, so that the conversion is defined. */
static inline void qc_integer_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                    uint8_t *QC_RESTRICT codes) {
    float lo = (float)k->lo, hi = (float)k->hi;
    int half_even = k->half_even;
    for (int64_t i = 0; i < n; i++) {
        float v = t[i] == t[i] ? t[i] : 0.0f;
        v = v < lo ? lo : v;
        v = v > hi ? hi : v;
        codes[i] = (uint8_t)(half_even ? qc_nearest(v, 1) : qc_nearest(v, 0));
    }
}

/* The largest |x / effective| of blocks whose largest |x| are given; NaN or infinity where those are not finite. Under
 * a scale of 0 the numbers are divided by 1 before their codes are cleared, and that must be defined too. */
static inline float qc_worst(const uint32_t *QC_RESTRICT maxima, const float *QC_RESTRICT effective, int64_t count) {
    uint32_t worst = 0;
    for (int64_t i = 0; i < count; i++) {
        float scale = effective[i] == 0.0f ? 1.0f : effective[i];
        uint32_t ratio = qc_bits(qc_float(maxima[i]) / scale) & QC_MAGNITUDE;
        worst = ratio > worst ? ratio : worst;
    }
    return qc_float(worst);
}

static inline void qc_minifloat_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                      uint8_t *QC_RESTRICT codes) {
    int32_t mbits = k->mbits, emin = k->emin, bits = k->bits;
    uint32_t top = qc_bits(k->top);
    for (int64_t i = 0; i < n; i++) codes[i] = (uint8_t)qc_minifloat(t[i], mbits, emin, top, bits);
}

/* Code of one scaled float; `what` is known when a loop is compiled. */
QC_INLINE uint8_t qc_code(float t, int what, int32_t lo, int32_t hi, int32_t mbits, int32_t emin, uint32_t top,
                          int32_t bits) {
    int32_t code;
    if (what == QC_TO_MINIFLOAT) return (uint8_t)qc_bounded_minifloat(t, mbits, emin, bits);
    if (what & QC_TO_MINIFLOAT) return (uint8_t)qc_minifloat(t, mbits, emin, top, bits);
    code = qc_nearest(t, what & QC_TO_EVEN);
    if (what & QC_CLAMPED) {
        code = code < lo ? lo : code;
        code = code > hi ? hi : code;
    }
    return (uint8_t)code;
}

/* Division and conversion in one go: the divider works while the rest of the loop does. */
QC_INLINE void qc_divided_codes(const qc_codec *k, const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase,
                                const float *QC_RESTRICT effective, int what, uint8_t *QC_RESTRICT codes) {
    const int32_t lo = k->lo, hi = k->hi, mbits = k->mbits, emin = k->emin, bits = k->bits;
    const uint32_t top = qc_bits(k->top);
    /* Short loops pay off where little is to be done: integers, and a whole number of vectors of codes. */
    const int whole = !(what & QC_TO_MINIFLOAT) && (block == 32 || block == 64);
    int64_t room = block - phase;
    if (block < QC_SPREAD && !whole) {
        float spread[QC_ROOM + QC_SPREAD];
        int64_t zeros = qc_spread_divisors(effective, n, block, phase, spread);
        for (int64_t i = 0; i < n; i++)
            codes[i] = qc_code(x[i] / spread[i], what, lo, hi, mbits, emin, top, bits);
        if (zeros) qc_clear_zero_blocks(n, block, phase, effective, 1, codes);
        return;
    }
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        if (scale == 0.0f) {
            memset(codes + first, 0, (size_t)count);
        } else {
#define QC_CALL(length)                         \
    for (int64_t i = 0; i < (length); i++)       \
    codes[first + i] = qc_code(x[first + i] / scale, what, lo, hi, mbits, emin, top, bits)
            QC_BY_LENGTH(count, QC_CALL)
#undef QC_CALL
        }
        first += count;
        room = block;
    }
}

/* Lookup of up to four bits: start at the index of the smallest entry, step along for every bound exceeded. */
static inline void qc_few_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n, uint8_t *QC_RESTRICT codes) {
    int32_t count = (1 << k->bits) - 1, zero = k->zero_code;
    for (int64_t at = 0; at < n; at += 64) {
        int32_t found[64], m = n - at < 64 ? (int32_t)(n - at) : 64;
        for (int32_t i = 0; i < m; i++) found[i] = k->first;
        for (int32_t b = 0; b < count; b++) {
            float bound = k->bounds[b];
            int32_t delta = k->delta[b];
            for (int32_t i = 0; i < m; i++) found[i] += t[at + i] > bound ? delta : 0;
        }
        for (int32_t i = 0; i < m; i++) codes[at + i] = (uint8_t)(t[at + i] == t[at + i] ? found[i] : zero);
    }
}

/* Lookup of eight bits: halve the bounds eight times. The steps before a place add up to the index there. */
static inline void qc_many_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n, uint8_t *QC_RESTRICT codes) {
    uint8_t order[256];
    int32_t index = k->first;
    for (int32_t i = 0; i < 256; i++) {
        order[i] = (uint8_t)index;
        if (i < 255) index += k->delta[i];
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t place = 0;
        for (int32_t step = 128; step; step >>= 1) place += t[i] > k->bounds[place + step - 1] ? step : 0;
        codes[i] = (uint8_t)(t[i] == t[i] ? order[place] : k->zero_code);
    }
}

static inline void qc_lookup_codes(const qc_codec *k, const float *t, int64_t n, uint8_t *codes) {
    int64_t done = k->bits == 4 ? qc_search_table(k, t, n, codes) : 0;
    if (k->bits > 4)
        qc_many_codes(k, t, n, codes);
    else
        qc_few_codes(k, t + done, n - done, codes + done);
}

/* Fields, one per byte, of n scaled floats. Integers keep their sign bits above the field. */
static inline void qc_codes(const qc_codec *k, const float *t, int64_t n, uint8_t *codes) {
    if (k->kind == QC_INTEGER)
        qc_integer_codes(k, t, n, codes);
    else if (k->kind == QC_MINIFLOAT)
        qc_minifloat_codes(k, t, n, codes);
    else
        qc_lookup_codes(k, t, n, codes);
}

/* Fields of n elements under their blocks' effective scales; `maxima` are the largest magnitudes of each block.
 * Numbers are clamped only where a block's largest needs it. */
static inline void qc_quantize(const qc_codec *k, const float *x, int64_t n, int64_t block, int64_t phase,
                               const float *effective, const uint32_t *maxima, uint8_t *codes) {
    float t[QC_ROOM];
    float worst = k->kind == QC_LOOKUP ? 0.0f : qc_worst(maxima, effective, (phase + n - 1) / block + 1);
    int clamp = !(worst <= k->top), even = k->half_even;
    if (k->kind == QC_MINIFLOAT && clamp)
        qc_divided_codes(k, x, n, block, phase, effective, QC_TO_MINIFLOAT | QC_CLAMPED, codes);
    else if (k->kind == QC_MINIFLOAT)
        qc_divided_codes(k, x, n, block, phase, effective, QC_TO_MINIFLOAT, codes);
    else if (k->kind == QC_LOOKUP || !(worst < 4194304.0f))
        qc_divide(x, n, block, phase, effective, t), qc_codes(k, t, n, codes);
    else if (even && clamp)
        qc_divided_codes(k, x, n, block, phase, effective, QC_TO_EVEN | QC_CLAMPED, codes);
    else if (even)
        qc_divided_codes(k, x, n, block, phase, effective, QC_TO_EVEN, codes);
    else if (clamp)
        qc_divided_codes(k, x, n, block, phase, effective, QC_CLAMPED, codes);
    else
        qc_divided_codes(k, x, n, block, phase, effective, 0, codes);
}

/* The value of each code of a minifloat: its bits moved to where float32 has them. A subnormal is lent an implicit one
 * that a subtraction takes away. Returns the largest magnitude met: beyond that of `top` the numbers are not finite. */
static inline uint32_t qc_minifloat_values(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n,
                                           float *QC_RESTRICT values) {
    uint32_t magnitude = (1u << (k->bits - 1)) - 1u, up = 23u - (uint32_t)k->mbits, most = 0;
    uint32_t least = (uint32_t)(k->emin + 127) << 23, one = 1u << 23, to_sign = 32u - (uint32_t)k->bits;
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = (fields[i] & magnitude) << up, sign = (uint32_t)fields[i] << to_sign & ~QC_MAGNITUDE;
        uint32_t small = qc_bits(qc_float(a + least) - qc_float(least));
        values[i] = qc_float((a < one ? small : a + least - one) | sign);
        most = a > most ? a : most;
    }
    return most >> up;
}

/* A field with its sign, `sign` being the bit that carries it; bits above that one do not count. */
QC_INLINE int32_t qc_signed(uint8_t field, int32_t sign) {
    return sign == 128 ? (int8_t)field : ((field & (2 * sign - 1)) ^ sign) - sign;
}

/* The value of each field, as float32. */
static inline void qc_values(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n,
                             float *QC_RESTRICT values) {
    int64_t i = 0;
    int32_t mask = (1 << k->bits) - 1;
    if (k->kind == QC_INTEGER) {
        int32_t sign = 1 << (k->bits - 1);
        for (; i < n; i++) values[i] = (float)qc_signed(fields[i], sign);
        return;
    }
    if (k->bits <= 4) {
        i = qc_values_of_table(k->table, fields, n, mask, values);
    } else if (k->kind == QC_MINIFLOAT) {
        uint32_t largest = qc_minifloat(k->top, k->mbits, k->emin, qc_bits(k->top), k->bits);
        if (qc_minifloat_values(k, fields, n, values) <= largest) return;
    }
    for (; i < n; i++) values[i] = k->table[fields[i] & mask];
}

/* y = effective * value, for integers: widened, multiplied and written in one go. */
QC_INLINE void qc_scaled_integers(const uint8_t *QC_RESTRICT fields, int64_t n, int32_t sign, float scale,
                                  float *QC_RESTRICT y) {
    for (int64_t i = 0; i < n; i++) y[i] = scale * (float)qc_signed(fields[i], sign);
}

QC_INLINE void qc_scaled_blocks(const uint8_t *QC_RESTRICT fields, int64_t n, int64_t block, int64_t phase,
                                int32_t sign, const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        if (count == 32)
            qc_scaled_integers(fields + first, 32, sign, scale, y + first);
        else
            qc_scaled_integers(fields + first, count, sign, scale, y + first);
        first += count;
        room = block;
    }
}

/* Fields back to floats under their blocks' effective scales. */
static inline void qc_dequantize(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n, int64_t block,
                                 int64_t phase, const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
    float values[QC_ROOM];
    if (k->kind == QC_INTEGER && block >= QC_SHORT) {
        if (k->bits == 8)
            qc_scaled_blocks(fields, n, block, phase, 128, effective, y);
        else
            qc_scaled_blocks(fields, n, block, phase, 1 << (k->bits - 1), effective, y);
        return;
    }
    qc_values(k, fields, n, values);
    qc_multiply(values, n, block, phase, effective, y);
}

/* n fields as a dense little-endian bit stream; the last byte is filled with zero bits. Returns the bytes written. */
static inline int64_t qc_pack(const uint8_t *QC_RESTRICT codes, int64_t n, int64_t bits, uint8_t *QC_RESTRICT to) {
    if (bits == 8) {
        memcpy(to, codes, (size_t)n);
        return n;
    }
    int64_t whole = n * bits / 8, left = n - whole * 8 / bits;
    if (bits == 4) {
        for (int64_t i = 0; i < whole; i++) to[i] = (uint8_t)((codes[2 * i] & 15) | codes[2 * i + 1] << 4);
    } else {
        for (int64_t i = 0; i < whole; i++)
            to[i] = (uint8_t)((codes[4 * i] & 3) | (codes[4 * i + 1] & 3) << 2 | (codes[4 * i + 2] & 3) << 4 |
                              codes[4 * i + 3] << 6);
    }
    if (left) {
        uint32_t last = 0, mask = (1u << bits) - 1u;
        for (int64_t i = 0; i < left; i++) last |= (codes[n - left + i] & mask) << (i * bits);
        to[whole++] = (uint8_t)last;
    }
    return whole;
}

/* n unsigned fields of a bit stream, from field `first` on. */
static inline void qc_unpack(const uint8_t *QC_RESTRICT from, int64_t first, int64_t n, int64_t bits,
                             uint8_t *QC_RESTRICT fields) {
    int64_t each = 8 / bits, i = 0;
    from += first / each;
    if (bits == 8) {
        memcpy(fields, from, (size_t)n);
        return;
    }
    uint32_t mask = (1u << bits) - 1u;
    for (int64_t skip = first % each; skip && i < n; i++) {
        fields[i] = (uint8_t)((uint32_t)*from >> (skip * bits) & mask);
        if (++skip == each) from++, skip = 0;
    }
    int64_t whole = (n - i) / each;
    uint8_t *to = fields + i;
    if (bits == 4) {
        for (int64_t b = 0; b < whole; b++) to[2 * b] = from[b] & 15, to[2 * b + 1] = from[b] >> 4;
    } else {
        for (int64_t b = 0; b < whole; b++) {
            /* Each pair of bits moves to the byte it fills. */
            uint32_t byte = from[b], four = (byte | byte << 6 | byte << 12 | byte << 18) & 0x03030303u;
            memcpy(to + 4 * b, &four, 4);
        }
    }
    for (i += whole * each; i < n; i++) fields[i] = (uint8_t)((uint32_t)from[whole] >> ((i - (to - fields)) % each * bits) & mask);
}

/* Put the fields of one lane into a row of words, or take them out. */
static inline void qc_join_lane(const uint8_t *QC_RESTRICT codes, int64_t n, int64_t bits, int64_t lane,
                                uint32_t *QC_RESTRICT words) {
    uint32_t mask = (uint32_t)((1ull << bits) - 1ull), shift = (uint32_t)(lane * bits);
    if (lane == 0) {
        for (int64_t i = 0; i < n; i++) words[i] = codes[i] & mask;
    } else {
        for (int64_t i = 0; i < n; i++) words[i] |= (codes[i] & mask) << shift;
    }
}

static inline void qc_store_words(const uint32_t *QC_RESTRICT words, int64_t n, int64_t word_bytes,
                                  char *QC_RESTRICT to) {
    if (word_bytes == 4) {
        memcpy(to, words, (size_t)n * 4);
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = (char)words[i];
    }
}

static inline void qc_split_lane(const char *QC_RESTRICT from, int64_t n, int64_t bits, int64_t lane,
                                 int64_t word_bytes, uint8_t *QC_RESTRICT fields) {
    uint32_t mask = (uint32_t)((1ull << bits) - 1ull), shift = (uint32_t)(lane * bits);
    if (word_bytes == 4) {
        for (int64_t i = 0; i < n; i++) {
            uint32_t word;
            memcpy(&word, from + 4 * i, 4);
            fields[i] = (uint8_t)(word >> shift & mask);
        }
    } else {
        for (int64_t i = 0; i < n; i++) fields[i] = (uint8_t)((uint32_t)(uint8_t)from[i] >> shift & mask);
    }
}

#endif
