/* Any scaled floats to fields, one per byte. The usual ones take the faster way of qc_quantize.h. */
#ifndef QC_CODES_H
#define QC_CODES_H

#include "qc_floats.h"
#include "qc_numbers.h"
#include "qc_search.h"

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

static inline void qc_minifloat_codes(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                      uint8_t *QC_RESTRICT codes) {
    int32_t mbits = k->mbits, emin = k->emin, bits = k->bits;
    uint32_t top = qc_bits(k->top);
    for (int64_t i = 0; i < n; i++) codes[i] = (uint8_t)qc_minifloat(t[i], mbits, emin, top, bits);
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
    const float one = 1.0f;
    const qc_ahead here = {(const char *)t, 4};
    int64_t done = k->bits == 4 ? qc_search_blocks(k, t, n, n, 0, &one, here, codes) : 0;
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

#endif
