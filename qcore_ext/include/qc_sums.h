/* float64 sums in the one fixed order: eight lanes per chunk (index mod 8), each in order, then the lanes 0 to 7.
 * A term that does not count adds 0 and keeps its place. */
#ifndef QC_SUMS_H
#define QC_SUMS_H

#include "qc_floats.h"
#include "qc_numbers.h"

#define QC_LANES 8

/* The finite numbers among x keep their bits, the others become 0. Returns how many are finite. */
static inline int64_t qc_keep_finite(const float *QC_RESTRICT x, int64_t n, float *QC_RESTRICT kept) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = qc_bits(x[i]);
        int32_t finite = (bits & QC_MAGNITUDE) < QC_INFINITY;
        kept[i] = qc_float(finite ? bits : 0u);
        count += finite;
    }
    return count;
}

/* y becomes 0 where x is not finite. */
static inline void qc_drop_nonfinite(const float *QC_RESTRICT x, int64_t n, float *QC_RESTRICT y) {
    for (int64_t i = 0; i < n; i++) y[i] = (qc_bits(x[i]) & QC_MAGNITUDE) < QC_INFINITY ? y[i] : 0.0f;
}

/* Both numbers of a pair, or zeros when either is not finite. Returns how many pairs count. */
static inline int64_t qc_keep_pairs(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n,
                                    float *QC_RESTRICT a, float *QC_RESTRICT b) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t p = qc_bits(x[i]), q = qc_bits(y[i]);
        int32_t finite = (p & QC_MAGNITUDE) < QC_INFINITY && (q & QC_MAGNITUDE) < QC_INFINITY;
        a[i] = qc_float(finite ? p : 0u);
        b[i] = qc_float(finite ? q : 0u);
        count += finite;
    }
    return count;
}

#define QC_SUM(term)                                                                             \
    double lanes[QC_LANES] = {0}, total;                                                         \
    int64_t whole = n - n % QC_LANES;                                                            \
    for (int64_t first = 0; first < whole; first += QC_LANES)                                    \
        for (int64_t lane = 0; lane < QC_LANES; lane++) {                                        \
            const int64_t i = first + lane;                                                      \
            lanes[lane] += (term);                                                               \
        }                                                                                        \
    for (int64_t i = whole; i < n; i++) lanes[i - whole] += (term);                              \
    total = lanes[0];                                                                            \
    for (int64_t lane = 1; lane < QC_LANES; lane++) total += lanes[lane];                        \
    return total;

static inline double qc_sum_magnitudes(const float *QC_RESTRICT x, int64_t n) {
    QC_SUM((double)qc_float(qc_bits(x[i]) & QC_MAGNITUDE))
}

static inline double qc_sum_products(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n) {
    QC_SUM((double)x[i] * (double)y[i])
}

static inline double qc_sum_errors(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n) {
    QC_SUM(((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]))
}

#undef QC_SUM

/* |x - y| rounded to float32, as bits; -1 for a pair that does not count. */
static inline void qc_distances(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n,
                                int32_t *QC_RESTRICT distances) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t p = qc_bits(x[i]) & QC_MAGNITUDE, q = qc_bits(y[i]) & QC_MAGNITUDE;
        int32_t bits = (int32_t)(qc_bits((float)((double)x[i] - (double)y[i])) & QC_MAGNITUDE);
        distances[i] = p < QC_INFINITY && q < QC_INFINITY ? bits : -1;
    }
}

static inline int32_t qc_largest(const int32_t *distances, int64_t n) {
    int32_t most = -1;
    for (int64_t i = 0; i < n; i++) most = distances[i] > most ? distances[i] : most;
    return most;
}

/* Whether the grid of the format, continued without end, would round t beyond the largest code. */
static inline int32_t qc_is_clipped(const qc_codec *k, float t) {
    if (k->kind == QC_LOOKUP) return (double)t < k->under || (double)t > k->over;
    if (k->kind == QC_MINIFLOAT) {
        uint32_t top = qc_bits(k->top), a = qc_bits(t) & QC_MAGNITUDE, magic;
        a = a < top + (1u << 23) ? a : top + (1u << 23); /* twice the largest */
        magic = (a & QC_INFINITY) + ((uint32_t)(23 - k->mbits) << 23);
        return a >= top && qc_float(a) + qc_float(magic) - qc_float(magic) > k->top;
    }
    {
        /* Half a step beyond the ends; to even, where the end itself is even a tie stays inside. */
        double up = (double)k->hi + 0.5, down = (double)k->lo - 0.5;
        int32_t beyond = (double)t > up || (double)t < down;
        if ((double)t == up) beyond = !(k->half_even && k->hi % 2 == 0);
        if ((double)t == down) beyond = !(k->half_even && k->lo % 2 == 0);
        return beyond;
    }
}

/* How many of n scaled floats t = x / scale are clipped, among the pairs (x, y) that count. */
static inline int64_t qc_count_clipped(const qc_codec *k, const float *QC_RESTRICT t, const float *QC_RESTRICT x,
                                       const float *QC_RESTRICT y, int64_t n) {
    int64_t clipped = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t p = qc_bits(x[i]) & QC_MAGNITUDE, q = qc_bits(y[i]) & QC_MAGNITUDE;
        clipped += p < QC_INFINITY && q < QC_INFINITY && qc_is_clipped(k, t[i]);
    }
    return clipped;
}

#endif
