/* Strips to fields, one per byte: divided by the scales of their blocks and converted in one go. */
#ifndef QC_QUANTIZE_H
#define QC_QUANTIZE_H

#include "qc_codes.h"
#include "qc_quotient.h"
#include "qc_scaling.h"

/* What a scaled float becomes, known when a loop is compiled. */
enum { QC_CLAMPED = 1, QC_TO_EVEN = 2, QC_TO_MINIFLOAT = 4 };

/* The scales of a strip's blocks, none of them 0, and their inverses. */
typedef struct {
    float divisors[QC_ROOM + 1], inverses[QC_ROOM + 1];
    int64_t zeros; /* blocks whose scale is 0: they are divided by 1, and their codes cleared */
    float worst;   /* the largest quotient of the strip, infinity or NaN where there is one */
    int tame;      /* whether all are within the bounds of qc_quotient */
} qc_divisors;

static inline void qc_find_divisors(const float *QC_RESTRICT effective, const uint32_t *QC_RESTRICT maxima,
                                    int64_t blocks, qc_divisors *QC_RESTRICT d) {
    uint32_t worst = 0, wild = 0, zeros = 0;
    for (int64_t i = 0; i < blocks; i++) {
        uint32_t zero = effective[i] == 0.0f;
        float scale = zero ? 1.0f : effective[i], inverse = 1.0f / scale;
        uint32_t most = qc_bits(qc_float(maxima[i]) / scale) & QC_MAGNITUDE;
        zeros += zero;
        worst = most > worst ? most : worst;
        wild |= qc_bits(scale) - qc_bits(QC_LEAST_SCALE) >
                qc_bits(QC_LARGEST_SCALE) - qc_bits(QC_LEAST_SCALE);
        d->divisors[i] = scale;
        d->inverses[i] = inverse;
    }
    d->zeros = zeros;
    d->worst = qc_float(worst);
    d->tame = !wild && d->worst < QC_LARGEST_QUOTIENT;
}

/* What all elements of a strip share. */
typedef struct {
    int32_t lo, hi, mbits, emin, bits;
    uint32_t top;
} qc_limits;

/* Code of one element in its low bits; `what` is known when a loop is compiled. */
QC_INLINE uint32_t qc_code(float x, float scale, float inverse, int what, qc_limits k) {
    float t = qc_quotient(x, scale, inverse);
    if (what & QC_TO_MINIFLOAT) {
        uint32_t a = qc_bits(t) & QC_MAGNITUDE;
        if (what & QC_CLAMPED) a = a < k.top ? a : k.top;
        /* The sign is that of x: of a negative zero, qc_quotient makes a positive one. */
        return qc_minifloat_magnitude(a, k.mbits, k.emin) | qc_sign_bit(qc_bits(x), k.bits);
    }
    int32_t code = qc_nearest(t, what & QC_TO_EVEN);
    if (what & QC_CLAMPED) {
        code = code < k.lo ? k.lo : code;
        code = code > k.hi ? k.hi : code;
    }
    return (uint32_t)code;
}

/* Elements converted at a time where no block is as long. */
#define QC_RUN 128

/* Up to QC_RUN elements, `each` apart in the scales: 0 for one scale, 1 for one per element. Minifloats are narrowed in
 * a loop of their own: a compiler that sees the bytes wanted narrows every term of the sum by itself. */
QC_INLINE void qc_codes_of_run(const float *QC_RESTRICT x, int64_t n, const float *QC_RESTRICT scales,
                               const float *QC_RESTRICT inverses, int each, int what, qc_limits k,
                               uint8_t *QC_RESTRICT codes) {
    uint32_t wide[QC_RUN];
    if (what & QC_TO_MINIFLOAT) {
        for (int64_t i = 0; i < n; i++) wide[i] = qc_code(x[i], scales[i * each], inverses[i * each], what, k);
        for (int64_t i = 0; i < n; i++) codes[i] = (uint8_t)wide[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            codes[i] = (uint8_t)qc_code(x[i], scales[i * each], inverses[i * each], what, k);
    }
}

/* Blocks shorter than a few vectors: their scales are spread over their elements first. */
QC_INLINE void qc_codes_of_short_blocks(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase,
                                        const qc_divisors *d, int what, qc_limits k, qc_ahead ahead,
                                        uint8_t *QC_RESTRICT codes) {
    float scales[QC_ROOM + QC_SHORT], inverses[QC_ROOM + QC_SHORT];
    qc_spread(d->divisors, n, block, phase, scales);
    qc_spread(d->inverses, n, block, phase, inverses);
    for (int64_t first = 0; first < n; first += QC_RUN) {
        int64_t count = n - first;
        qc_fetch(ahead, first, QC_RUN);
        if (count >= QC_RUN)
            qc_codes_of_run(x + first, QC_RUN, scales + first, inverses + first, 1, what, k, codes + first);
        else
            qc_codes_of_run(x + first, count, scales + first, inverses + first, 1, what, k, codes + first);
    }
}

QC_INLINE void qc_codes_of_long_blocks(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase,
                                       const qc_divisors *d, int what, qc_limits k, qc_ahead ahead,
                                       uint8_t *QC_RESTRICT codes) {
    int64_t room = block - phase, first = 0;
    for (int64_t b = 0; first < n; b++, room = block) {
        int64_t stop = n - first < room ? n : first + room;
        const float scale = d->divisors[b], inverse = d->inverses[b];
        for (; first + 32 <= stop; first += 32) {
            qc_fetch(ahead, first, 32);
            qc_codes_of_run(x + first, 32, &scale, &inverse, 0, what, k, codes + first);
        }
        qc_codes_of_run(x + first, stop - first, &scale, &inverse, 0, what, k, codes + first);
        first = stop;
    }
}

QC_INLINE void qc_codes_of_blocks(const qc_codec *k, const float *QC_RESTRICT x, int64_t n, int64_t block,
                                  int64_t phase, const qc_divisors *d, int what, qc_ahead ahead,
                                  uint8_t *QC_RESTRICT codes) {
    const qc_limits limits = {k->lo, k->hi, k->mbits, k->emin, k->bits, qc_bits(k->top)};
    if (block < QC_SHORT)
        qc_codes_of_short_blocks(x, n, block, phase, d, what, limits, ahead, codes);
    else
        qc_codes_of_long_blocks(x, n, block, phase, d, what, limits, ahead, codes);
}

/* Fields of n elements under their blocks' effective scales; `maxima` are the largest magnitudes of each block. Numbers
 * are clamped only where a strip's largest needs it. */
static inline void qc_quantize(const qc_codec *k, const float *x, int64_t n, int64_t block, int64_t phase,
                               const float *effective, const uint32_t *maxima, qc_ahead ahead, uint8_t *codes) {
    qc_divisors d;
    float t[QC_ROOM];
    if (k->kind != QC_LOOKUP) {
        qc_find_divisors(effective, maxima, (phase + n - 1) / block + 1, &d);
        const int clamp = !(d.worst <= k->top);
#define QC_CALL(what) qc_codes_of_blocks(k, x, n, block, phase, &d, what, ahead, codes)
        if (d.tame) {
            switch ((k->kind == QC_MINIFLOAT ? QC_TO_MINIFLOAT : k->half_even ? QC_TO_EVEN : 0) | clamp) {
                case QC_TO_MINIFLOAT: QC_CALL(QC_TO_MINIFLOAT); break;
                case QC_TO_MINIFLOAT | QC_CLAMPED: QC_CALL(QC_TO_MINIFLOAT | QC_CLAMPED); break;
                case QC_TO_EVEN: QC_CALL(QC_TO_EVEN); break;
                case QC_TO_EVEN | QC_CLAMPED: QC_CALL(QC_TO_EVEN | QC_CLAMPED); break;
                case QC_CLAMPED: QC_CALL(QC_CLAMPED); break;
                default: QC_CALL(0); break;
            }
#undef QC_CALL
            if (d.zeros) qc_clear_zero_blocks(n, block, phase, effective, 1, codes);
            return;
        }
    }
    int64_t done = 0;
    if (k->kind == QC_LOOKUP && k->bits == 4)
        done = qc_search_blocks(k, x, n, block, phase, effective, ahead, codes);
    if (done == n) return;
    effective += (phase + done) / block;
    qc_divide(x + done, n - done, block, (phase + done) % block, effective, t);
    qc_codes(k, t, n - done, codes + done);
}

#endif
