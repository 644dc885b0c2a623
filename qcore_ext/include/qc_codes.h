/* Scaled floats to fields, one per byte. */
#ifndef QC_CODES_H
#define QC_CODES_H

#include "qc_maxima.h"
#include "qc_scaling.h"
#include "qc_tables.h"

/* What a scaled float becomes, known when a loop is compiled. */
enum { QC_CLAMPED = 1, QC_TO_EVEN = 2, QC_TO_MINIFLOAT = 4 };

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

#endif
