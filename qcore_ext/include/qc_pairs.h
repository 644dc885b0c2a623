/* A tensor beside its quantized form, one chunk of one block at a time. */
#ifndef QC_PAIRS_H
#define QC_PAIRS_H

#include "qc_lines.h"
#include "qc_scales.h"
#include "qc_sums.h"

/* A tensor of floats and its stored form: what is compared, or one made from the other. */
typedef struct {
    const qc_geometry *g;
    const qc_codec *k;
    const qc_scale *s;
    const char *x, *values, *scales;
    float whole;
} qc_sides;

/* A chunk of a block: the pairs that count (0, 0 for the others), their distances, how many are clipped. */
typedef struct {
    qc_chunk c;
    int64_t count, clipped;
    float a[QC_CHUNK], b[QC_CHUNK];
    int32_t distances[QC_CHUNK];
} qc_pairs;

static inline void qc_read_pairs(const qc_sides *f, int64_t block, int64_t at, qc_pairs *p) {
    const qc_geometry *g = f->g;
    float buffer[QC_CHUNK], t[QC_CHUNK], y[QC_CHUNK], effective;
    uint8_t fields[QC_CHUNK];
    qc_find_chunk(g, block, at, &p->c);
    const int64_t n = p->c.n;
    p->clipped = 0;
    qc_effective(f->s, f->scales + block * f->s->nbytes, 1, f->whole, &effective);
    const float *x = qc_gather_chunk(g, &p->c, f->x, buffer);
    qc_gather_fields(g, &p->c.box, f->values, p->c.column, p->c.width, at, n, fields);
    qc_values(f->k, fields, n, t);
    qc_multiply(t, n, QC_CHUNK, 0, &effective, y);
    p->count = qc_keep_pairs(x, y, n, p->a, p->b);
    qc_distances(x, y, n, p->distances);
    if (effective != 0.0f) {
        qc_divide(x, n, QC_CHUNK, 0, &effective, t);
        p->clipped = qc_count_clipped(f->k, t, x, y, n);
    }
}

/* Flat C index of the first element at this distance. */
static inline int64_t qc_place_of(const qc_sides *f, const qc_pairs *p, int32_t distance) {
    int64_t i = 0;
    while (p->distances[i] != distance) i++;
    i += p->c.at;
    return qc_line_of_box(f->g, &p->c.box, i / p->c.width).line * f->g->cols + p->c.column + i % p->c.width;
}

#endif
