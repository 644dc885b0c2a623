/* The work itself, a strip at a time: maxima, division, codes, packing, and the way back. Every loop here vectorises. */
#ifndef QC_STRIPS_H
#define QC_STRIPS_H

#include "qc_floats.h"
#include "qc_numbers.h"

/* Raise each block's maximum of |x| as bits; NaN and infinity win, or are passed over when only finite ones count. */
static inline void qc_maxima(const float *QC_RESTRICT x, int64_t n, int64_t block, int finite,
                             uint32_t *QC_RESTRICT maxima) {
    uint32_t limit = finite ? QC_INFINITY : 0xffffffffu;
    for (int64_t first = 0; first < n; first += block) {
        int64_t count = n - first < block ? n - first : block;
        uint32_t most = *maxima;
        for (int64_t i = 0; i < count; i++) {
            uint32_t a = qc_bits(x[first + i]) & QC_MAGNITUDE;
            a = a < limit ? a : 0u;
            most = a > most ? a : most;
        }
        *maxima++ = most;
    }
}

/* t = x / effective; where the effective scale is 0, t is 0. The strip begins `phase` elements into its first block. */
static inline void qc_divide(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase,
                             const float *QC_RESTRICT effective, float *QC_RESTRICT t) {
    int64_t room = block - phase;
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
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        for (int64_t i = 0; i < count; i++) y[first + i] = scale * values[first + i];
        first += count;
        room = block;
    }
}

/* Integers: NaN becomes 0, the rest is clamped as a float, so that the conversion is always defined. Adding the largest
 * float below a half and truncating rounds ties away from zero; 1.5 * 2^23 rounds them to even. */
static inline void qc_integer_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                    uint8_t *QC_RESTRICT codes) {
    float lo = (float)k->lo, hi = (float)k->hi;
    if (k->half_even) {
        for (int64_t i = 0; i < n; i++) {
            float v = t[i] == t[i] ? t[i] : 0.0f;
            v = v < lo ? lo : v;
            v = v > hi ? hi : v;
            codes[i] = (uint8_t)qc_bits(v + 12582912.0f);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            float v = t[i] == t[i] ? t[i] : 0.0f;
            v = v < lo ? lo : v;
            v = v > hi ? hi : v;
            codes[i] = (uint8_t)(int32_t)(v + qc_float(0x3effffffu | (qc_bits(v) & ~QC_MAGNITUDE)));
        }
    }
}

static inline void qc_minifloat_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                      uint8_t *QC_RESTRICT codes) {
    int32_t mbits = k->mbits, emin = k->emin, bits = k->bits;
    uint32_t top = qc_bits(k->top);
    for (int64_t i = 0; i < n; i++) codes[i] = (uint8_t)qc_minifloat(t[i], mbits, emin, top, bits);
}

/* Lookup: start at the index of the smallest entry, step along for every bound exceeded. */
static inline void qc_lookup_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                   uint8_t *QC_RESTRICT codes) {
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

/* Fields, one per byte, of n scaled floats. Integers keep their sign bits above the field. */
static inline void qc_codes(const qc_codec *k, const float *t, int64_t n, uint8_t *codes) {
    if (k->kind == QC_INTEGER)
        qc_integer_codes(k, t, n, codes);
    else if (k->kind == QC_MINIFLOAT)
        qc_minifloat_codes(k, t, n, codes);
    else
        qc_lookup_codes(k, t, n, codes);
}

/* The value of each field, as float32. */
static inline void qc_values(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n,
                             float *QC_RESTRICT values) {
    if (k->kind == QC_INTEGER) {
        int32_t sign = 1 << (k->bits - 1), mask = 2 * sign - 1;
        for (int64_t i = 0; i < n; i++) values[i] = (float)(((fields[i] & mask) ^ sign) - sign);
    } else {
        int32_t mask = (1 << k->bits) - 1;
        for (int64_t i = 0; i < n; i++) values[i] = k->table[fields[i] & mask];
    }
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
            to[4 * b] = from[b] & 3;
            to[4 * b + 1] = from[b] >> 2 & 3;
            to[4 * b + 2] = from[b] >> 4 & 3;
            to[4 * b + 3] = from[b] >> 6;
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
