/* A tensor beside its quantized form, a strip of whole blocks of one line at a time: the quick way of qc_pairs.h, for
 * strips in which everything is finite. The same numbers in the same order. */
#ifndef QC_RUNS_H
#define QC_RUNS_H

#include "qc_pairs.h"
#include "qc_strips.h"

/* Scaled floats from `over` up and from `under` down are clipped. */
typedef struct {
    float over, under;
} qc_ends_of_range;

/* The smallest number above what is not clipped. Magnitudes are searched by halves: what is clipped stays so further out. */
static inline float qc_first_clipped(const qc_codec *k, uint32_t sign) {
    uint32_t low = 0, high = QC_INFINITY;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (qc_is_clipped(k, qc_float(middle | sign)))
            high = middle;
        else
            low = middle + 1;
    }
    return qc_float(high | sign);
}

/* The neighbour of a float, away from 0 or towards it. */
static inline float qc_next(float value, int up) {
    uint32_t bits = qc_bits(value);
    if ((bits & QC_MAGNITUDE) == 0) return qc_float(up ? 1u : 0x80000001u);
    return qc_float(up == (bits <= QC_MAGNITUDE) ? bits + 1 : bits - 1);
}

static inline qc_ends_of_range qc_clipping_ends(const qc_codec *k) {
    qc_ends_of_range ends;
    if (k->kind == QC_LOOKUP) {
        float over = (float)k->over, under = (float)k->under;
        ends.over = (double)over > k->over ? over : qc_next(over, 1);
        ends.under = (double)under < k->under ? under : qc_next(under, 0);
    } else {
        ends.over = qc_first_clipped(k, 0);
        ends.under = qc_first_clipped(k, ~QC_MAGNITUDE);
    }
    return ends;
}

/* |x - y| as bits. The float64 difference of two floats rounds to the same float32 as the float32 difference. */
static inline int32_t qc_distances_of_run(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n,
                                          int32_t *QC_RESTRICT distances) {
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)(qc_bits(x[i] - y[i]) & QC_MAGNITUDE);
        distances[i] = bits;
        most = bits > most ? bits : most;
    }
    return most;
}

static inline int64_t qc_clipped_of_block(const float *QC_RESTRICT x, int64_t n, float scale, qc_ends_of_range ends) {
    int32_t clipped = 0;
    for (int64_t i = 0; i < n; i++) {
        float t = x[i] / scale;
        clipped += (t >= ends.over) | (t <= ends.under);
    }
    return clipped;
}

/* Most blocks need no look at their elements: their largest, divided, stays inside. */
static inline int64_t qc_clipped_of_run(const float *x, int64_t n, int64_t block, int64_t phase, const float *effective,
                                        const uint32_t *maxima, qc_ends_of_range ends) {
    int64_t clipped = 0, room = block - phase;
    float nearest = ends.over < -ends.under ? ends.over : -ends.under;
    for (int64_t first = 0, b = 0; first < n; b++) {
        int64_t count = n - first < room ? n - first : room;
        float scale = effective[b];
        if (scale != 0.0f && !(qc_float(maxima[b]) / qc_float(qc_bits(scale) & QC_MAGNITUDE) < nearest))
            clipped += qc_clipped_of_block(x + first, count, scale, ends);
        first += count;
        room = block;
    }
    return clipped;
}

/* Sums of (x-y)^2, x^2, y^2 and x*y, one after the other. */
static inline void qc_one_by_one(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n,
                                 double *QC_RESTRICT to) {
    to[0] = qc_sum_errors(x, y, n);
    to[1] = qc_sum_products(x, x, n);
    to[2] = qc_sum_products(y, y, n);
    to[3] = qc_sum_products(x, y, n);
}

#if defined(__GNUC__) && !defined(QC_PLAIN)
typedef double qc_double4 __attribute__((vector_size(32)));
typedef int64_t qc_long4 __attribute__((vector_size(32)));
typedef float qc_float4 __attribute__((vector_size(16)));

#if defined(__clang__)
#define QC_PICK4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define QC_PICK4(a, b, i, j, k, l) __builtin_shuffle(a, b, (qc_long4){i, j, k, l})
#endif

/* Four rows of four, turned: row i becomes the elements i. */
#define QC_TURN(r)                                                                                           \
    do {                                                                                                     \
        qc_double4 p = QC_PICK4(r[0], r[1], 0, 4, 2, 6), q = QC_PICK4(r[0], r[1], 1, 5, 3, 7);               \
        qc_double4 s = QC_PICK4(r[2], r[3], 0, 4, 2, 6), t = QC_PICK4(r[2], r[3], 1, 5, 3, 7);               \
        r[0] = QC_PICK4(p, s, 0, 1, 4, 5), r[1] = QC_PICK4(q, t, 0, 1, 4, 5);                                \
        r[2] = QC_PICK4(p, s, 2, 3, 6, 7), r[3] = QC_PICK4(q, t, 2, 3, 6, 7);                                \
    } while (0)

/* The same over a multiple of eight elements at once, in the order of qc_sums.h. */
QC_INLINE void qc_four_sums(const float *QC_RESTRICT x, const float *QC_RESTRICT y, int64_t n, double *QC_RESTRICT to) {
    qc_double4 low[4] = {{0}}, high[4] = {{0}}, total;
    for (int64_t i = 0; i < n; i += 8) {
        qc_float4 f[4];
        memcpy(f, x + i, 32);
        memcpy(f + 2, y + i, 32);
        qc_double4 a = __builtin_convertvector(f[0], qc_double4), b = __builtin_convertvector(f[2], qc_double4);
        qc_double4 c = __builtin_convertvector(f[1], qc_double4), d = __builtin_convertvector(f[3], qc_double4);
        low[0] += (a - b) * (a - b), low[1] += a * a, low[2] += b * b, low[3] += a * b;
        high[0] += (c - d) * (c - d), high[1] += c * c, high[2] += d * d, high[3] += c * d;
    }
    QC_TURN(low);
    QC_TURN(high);
    total = low[0] + low[1];
    total += low[2];
    total += low[3];
    for (int i = 0; i < 4; i++) total += high[i];
    memcpy(to, &total, 32);
}
#else
#define qc_four_sums qc_one_by_one
#endif

static inline void qc_sums_of_block(const float *x, const float *y, int64_t n, double *to) {
    if (n == 32) {
        qc_four_sums(x, y, 32, to);
    } else if (n % QC_LANES == 0) {
        qc_four_sums(x, y, n, to);
    } else {
        qc_one_by_one(x, y, n, to);
    }
}

/* Columns column .. column+n-1 of a line, of which `unit` elements make up one sum. Sums, distances and how many are
 * clipped; the largest distance is returned, or -1, and nothing done, when something is not finite. */
static inline int32_t qc_compare_run(const qc_sides *f, qc_line line, const char *scales, int64_t column, int64_t n,
                                     int64_t unit, qc_ends_of_range ends, double *to, int64_t *counts,
                                     int32_t *distances, int64_t *clipped) {
    const qc_geometry *g = f->g;
    float buffer[QC_ROOM], y[QC_ROOM], effective[QC_ROOM + 1];
    uint32_t maxima[QC_ROOM + 1];
    uint8_t fields[QC_ROOM];
    int64_t at = column / g->block, phase = column % g->block, blocks = (phase + n - 1) / g->block + 1;
    const float *x = qc_read(g->dtype, g->step, f->x + line.offset + column * g->step, n, buffer);
    qc_unpack((const uint8_t *)f->values + line.word_row * g->word_row, column, n, g->bits, fields);
    qc_effective(f->s, scales + at * f->s->nbytes, blocks, f->whole, effective);
    qc_dequantize(f->k, fields, n, g->block, phase, effective, y);
    qc_fetch(qc_look_ahead(g, f->x + line.offset, column), 0, n);
    int32_t most = qc_distances_of_run(x, y, n, distances);
    if (most >= (int32_t)QC_INFINITY) return -1;
    memset(maxima, 0, (size_t)blocks * 4);
    qc_maxima(x, n, g->block, phase, 0, maxima);
    *clipped += qc_clipped_of_run(x, n, g->block, phase, effective, maxima, ends);
    for (int64_t first = 0, part = 0; first < n; first += unit, part++) {
        int64_t count = n - first < unit ? n - first : unit;
        qc_sums_of_block(x + first, y + first, count, to + 4 * part);
        counts[part] = count;
    }
    return most;
}

#endif
