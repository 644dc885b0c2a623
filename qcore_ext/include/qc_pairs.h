/* A tensor beside its quantized form, one chunk of one block at a time. */
#ifndef QC_PAIRS_H
#define QC_PAIRS_H

#include "qc_lines.h"
#include "qc_scales.h"
#include "qc_sums.h"

/* What is compared. */
typedef struct {
    const qc_geometry *g;
    const qc_codec *k;
    const qc_scale *s;
    const char *x, *values, *scales;
    float whole;
} qc_sides;

/* Elements at .. at+n-1 of a block: the pairs that count (0, 0 for the others), their distances, how many are clipped. */
typedef struct {
    int64_t n, width, column, at, count, clipped;
    qc_box box;
    float a[QC_CHUNK], b[QC_CHUNK];
    int32_t distances[QC_CHUNK];
} qc_pairs;

static inline void qc_read_pairs(const qc_sides *f, int64_t block, int64_t at, qc_pairs *p) {
    const qc_geometry *g = f->g;
    float buffer[QC_CHUNK], t[QC_CHUNK], y[QC_CHUNK], effective;
    uint8_t fields[QC_CHUNK];
    int64_t left;
    qc_find_box(g, block / g->blocks, &p->box);
    p->at = at;
    p->column = block % g->blocks * g->block;
    p->width = g->cols - p->column < g->block ? g->cols - p->column : g->block;
    left = p->box.lines * p->width - at;
    p->n = left < 0 ? 0 : left < QC_CHUNK ? left : QC_CHUNK;
    p->count = p->clipped = 0;
    if (p->n == 0) return;
    qc_effective(f->s, f->scales + block * f->s->nbytes, 1, f->whole, &effective);
    const float *x = qc_gather(g, &p->box, f->x, p->column, p->width, at, p->n, buffer);
    qc_gather_fields(g, &p->box, f->values, p->column, p->width, at, p->n, fields);
    qc_values(f->k, fields, p->n, t);
    qc_multiply(t, p->n, QC_CHUNK, 0, &effective, y);
    p->count = qc_keep_pairs(x, y, p->n, p->a, p->b);
    qc_distances(x, y, p->n, p->distances);
    if (effective != 0.0f) {
        qc_divide(x, p->n, QC_CHUNK, 0, &effective, t);
        p->clipped = qc_count_clipped(f->k, t, x, y, p->n);
    }
}

/* Flat C index of the first element at this distance. */
static inline int64_t qc_place_of(const qc_sides *f, const qc_pairs *p, int32_t distance) {
    int64_t i = 0;
    while (p->distances[i] != distance) i++;
    i += p->at;
    return qc_line_of_box(f->g, &p->box, i / p->width).line * f->g->cols + p->column + i % p->width;
}

#endif
