/* A comparison, chunk by chunk: in strips where blocks are small and of one line, else as qc_pairs.h reads them. */
#ifndef QC_COMPARE_H
#define QC_COMPARE_H

#include "qc_atomics.h"
#include "qc_runs.h"
#include "qc_top.h"

/* What the threads share; below, what they say together. */
typedef struct {
    qc_sides f;
    qc_ends_of_range ends;
    double *totals;
    int64_t *counts;
    int64_t chunks;
    qc_top *tops;
    int64_t clipped, index;
    int32_t most;
    int door;
} qc_comparing;

/* What one of them has found. */
typedef struct {
    qc_top *top;
    int64_t clipped, index;
    int32_t most;
} qc_found;

static inline void qc_note(qc_found *found, const int32_t *distances, int64_t n, int32_t largest, int64_t at) {
    if (found->top->wanted) qc_top_take(found->top, distances, n);
    if (largest > found->most || (largest == found->most && at < found->index)) found->most = largest, found->index = at;
}

static inline void qc_compare_chunk(const qc_comparing *w, int64_t task, qc_found *found) {
    qc_pairs p;
    qc_read_pairs(&w->f, task / w->chunks, task % w->chunks * QC_CHUNK, &p);
    qc_sums_of_block(p.a, p.b, p.c.n, w->totals + 4 * task);
    w->counts[task] = p.count;
    found->clipped += p.clipped;
    int32_t largest = qc_largest(p.distances, p.c.n);
    if (largest >= 0) qc_note(found, p.distances, p.c.n, largest, qc_place_of(&w->f, &p, largest));
}

/* As many chunks of one line, before `last`, as a strip holds. Returns how many were done: 0 where this way is closed. */
static inline int64_t qc_compare_strip(const qc_comparing *w, int64_t task, int64_t last, qc_found *found) {
    const qc_geometry *g = w->f.g;
    int32_t distances[QC_CHUNK];
    int64_t row = task / w->chunks / g->blocks, block = task / w->chunks % g->blocks, number = 1;
    int64_t column = block * g->block + task % w->chunks * QC_CHUNK, unit = w->chunks == 1 ? g->block : QC_CHUNK;
    if (w->chunks == 1) {
        number = QC_STRIP / g->block < last - task ? QC_STRIP / g->block : last - task;
        number = number < g->blocks - block ? number : g->blocks - block;
        number = number > 1 ? number : 1;
    }
    int64_t end = (block + number) * g->block < g->cols ? (block + number) * g->block : g->cols, n = end - column;
    n = w->chunks > 1 && n > QC_CHUNK ? QC_CHUNK : n;
    if (n <= 0) return 0;
    qc_box box;
    qc_find_box(g, row, &box);
    qc_line line = qc_line_of_box(g, &box, 0);
    int32_t largest = qc_compare_run(&w->f, line, w->f.scales + row * g->blocks * w->f.s->nbytes, column, n, unit, w->ends,
                                     w->totals + 4 * task, w->counts + task, distances, &found->clipped);
    if (largest < 0) return 0;
    int64_t i = 0;
    while (largest >= found->most && distances[i] != largest) i++;
    qc_note(found, distances, n, largest, line.line * g->cols + column + i);
    return number;
}

static inline void qc_compare_chunks(void *work, int64_t first, int64_t last) {
    qc_comparing *w = (qc_comparing *)work;
    const int in_strips = w->f.g->rows == w->f.g->lines && w->f.g->lane_axis < 0;
    qc_found found = {qc_top_hold(w->tops), 0, -1, -1};
    for (int64_t task = first; task < last;) {
        int64_t done = in_strips ? qc_compare_strip(w, task, last, &found) : 0;
        if (!done) qc_compare_chunk(w, task, &found), done = 1;
        task += done;
    }
    qc_top_drop(found.top);
    qc_enter(&w->door);
    if (found.most > w->most || (found.most == w->most && found.index < w->index))
        w->most = found.most, w->index = found.index;
    w->clipped += found.clipped;
    qc_leave(&w->door);
}

#endif
