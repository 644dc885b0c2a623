/* Where things stand: lines of a strided array, their blocks, their words; reading and writing them as float32 strips. */
#ifndef QC_LINES_H
#define QC_LINES_H

#include "qc_floats.h"
#include "qc_halves.h"
#include "qc_numbers.h"
#include "qc_stream.h"
#include "qc_strips.h"

/* A line, or the `lanes` lines that share a row of words; lane k lies k * lane_stride bytes further. */
typedef struct {
    int64_t offset;      /* bytes of the first line in the strided array */
    int64_t line;        /* number of the first line in C order */
    int64_t row;         /* its row of blocks, but for the lane axis */
    int64_t lanes;       /* lines in this row of words */
    int64_t lane_stride, lane_lines; /* from one lane to the next: bytes, line numbers */
    int64_t lane_at, lane_extent, lane_rows; /* coordinate of lane 0; block extent; rows of blocks per block */
} qc_row;

static inline qc_row qc_find_row(const qc_geometry *g, int64_t word_row) {
    qc_row r = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    int64_t rows = 1, lines = 1;
    for (int64_t axis = g->axes - 1; axis >= 0; axis--) {
        int64_t dim = g->dim[axis], extent = g->extent[axis], at, count = dim;
        if (axis == g->lane_axis) count = (dim + g->per_word - 1) / g->per_word;
        at = word_row % count;
        word_row /= count;
        if (axis == g->lane_axis) {
            at *= g->per_word;
            r.lanes = dim - at < g->per_word ? dim - at : g->per_word;
            r.lane_stride = g->stride[axis];
            r.lane_lines = lines;
            r.lane_at = at;
            r.lane_extent = extent;
            r.lane_rows = rows;
        } else {
            r.row += at / extent * rows;
        }
        r.offset += at * g->stride[axis];
        r.line += at * lines;
        rows *= g->grid[axis];
        lines *= dim;
    }
    return r;
}

static inline int64_t qc_row_of_lane(const qc_row *r, int64_t lane) {
    return r->row + (r->lane_at + lane) / r->lane_extent * r->lane_rows;
}

/* A row of blocks: the lines it spans form a box in the outer axes. */
typedef struct {
    int64_t lines;
    int64_t at[QC_AXES], count[QC_AXES];
} qc_box;

static inline void qc_find_box(const qc_geometry *g, int64_t block_row, qc_box *box) {
    box->lines = 1;
    for (int64_t axis = g->axes - 1; axis >= 0; axis--) {
        int64_t at = block_row % g->grid[axis] * g->extent[axis], left = g->dim[axis] - at;
        block_row /= g->grid[axis];
        box->at[axis] = at;
        box->count[axis] = left < g->extent[axis] ? left : g->extent[axis];
        box->lines *= box->count[axis];
    }
}

/* Line k of a box: its bytes in the strided array, its number in C order, its place among the words. */
typedef struct {
    int64_t offset, line, word_row, lane;
} qc_line;

static inline qc_line qc_line_of_box(const qc_geometry *g, const qc_box *box, int64_t k) {
    qc_line l = {0, 0, 0, 0};
    int64_t lines = 1, words = 1;
    for (int64_t axis = g->axes - 1; axis >= 0; axis--) {
        int64_t at = box->at[axis] + k % box->count[axis];
        k /= box->count[axis];
        l.offset += at * g->stride[axis];
        l.line += at * lines;
        lines *= g->dim[axis];
        if (axis == g->lane_axis) {
            l.lane = at % g->per_word;
            l.word_row += at / g->per_word * words;
            words *= (g->dim[axis] + g->per_word - 1) / g->per_word;
        } else {
            l.word_row += at * words;
            words *= g->dim[axis];
        }
    }
    return l;
}

#define QC_EACH(size, type, expression)                                   \
    if (step == (size)) {                                                 \
        for (int64_t i = 0; i < n; i++) {                                 \
            type v;                                                       \
            memcpy(&v, from + i * (size), (size));                        \
            buffer[i] = expression;                                       \
        }                                                                 \
    } else {                                                              \
        for (int64_t i = 0; i < n; i++) {                                 \
            type v;                                                       \
            memcpy(&v, from + i * step, (size));                          \
            buffer[i] = expression;                                       \
        }                                                                 \
    }

/* n elements from `from` on as float32: in place where they lie so already, else in `buffer`. */
static inline const float *qc_read(int64_t dtype, int64_t step, const char *QC_RESTRICT from, int64_t n,
                                   float *QC_RESTRICT buffer) {
    if (dtype == QC_F32) {
        if (step == 4 && ((uintptr_t)from & 3) == 0) return (const float *)from;
        QC_EACH(4, float, v)
    } else if (dtype == QC_F64) {
        QC_EACH(8, double, (float)v)
    } else if (dtype == QC_F16) {
        if (step == 2)
            qc_read_halves(from, n, buffer);
        else
            QC_EACH(2, uint16_t, qc_from_half(v))
    } else {
        QC_EACH(2, uint16_t, qc_from_bfloat(v))
    }
    return buffer;
}

#undef QC_EACH

#define QC_EACH(size, type, expression)                                   \
    if (step == (size)) {                                                 \
        for (int64_t i = 0; i < n; i++) {                                 \
            type v = expression;                                          \
            memcpy(to + i * (size), &v, (size));                          \
        }                                                                 \
    } else {                                                              \
        for (int64_t i = 0; i < n; i++) {                                 \
            type v = expression;                                          \
            memcpy(to + i * step, &v, (size));                            \
        }                                                                 \
    }

/* n float32 results to their place, rounded once to its dtype. */
static inline void qc_write(int64_t dtype, int64_t step, char *QC_RESTRICT to, int64_t n,
                            const float *QC_RESTRICT from) {
    if (dtype == QC_F32) {
        QC_EACH(4, float, from[i])
    } else if (dtype == QC_F64) {
        QC_EACH(8, double, (double)from[i])
    } else if (dtype == QC_F16) {
        if (step == 2)
            qc_write_halves(to, n, from);
        else
            QC_EACH(2, uint16_t, qc_to_half(from[i]))
    } else {
        QC_EACH(2, uint16_t, qc_to_bfloat(from[i]))
    }
}

#undef QC_EACH

/* Whether outputs of this size are streamed. */
static inline int qc_streamed(const qc_geometry *g) { return g->lines * g->cols >= QC_STREAMED; }

/* Floats are only streamed without gaps between neighbours of a line. */
static inline int qc_streamed_floats(const qc_geometry *g) {
    static const int64_t sizes[] = {4, 8, 2, 2};
    return g->lines * g->cols >= qc_streamed_from() && g->step == sizes[g->dtype];
}

/* What to fetch while the strip from `column` on is converted: the line two strips further on. */
static inline qc_ahead qc_look_ahead(const qc_geometry *g, const char *line, int64_t column) {
    qc_ahead ahead = {line + (column + 2 * QC_STRIP) * g->step, g->step};
    return ahead;
}

/* Where n results may be formed: in place where the output is plain float32 and not streamed, else in `buffer` (then
 * call qc_put). */
static inline float *qc_target(const qc_geometry *g, char *to, int streamed, float *buffer) {
    return !streamed && g->dtype == QC_F32 && g->step == 4 && ((uintptr_t)to & 3) == 0 ? (float *)to : buffer;
}

/* Where the codes of a strip may be formed: in place where they are whole bytes and not streamed, else in `codes` (then
 * call qc_pack_strip, which has nothing to do where they are in place). */
static inline uint8_t *qc_room_for_codes(const qc_geometry *g, int streamed, char *to, uint8_t *codes) {
    return !streamed && g->bits == 8 && g->lane_axis < 0 ? (uint8_t *)to : codes;
}

/* n results from their buffer to their place. */
static inline void qc_put(const qc_geometry *g, char *to, int64_t n, int streamed, const float *from) {
    char narrow[QC_BURST * 8];
    if (!streamed) {
        qc_write(g->dtype, g->step, to, n, from);
    } else if (g->dtype == QC_F32) {
        qc_stream(to, (const char *)from, n * 4);
    } else {
        qc_write(g->dtype, g->step, narrow, n, from);
        qc_stream(to, narrow, n * g->step);
    }
}

/* Elements first .. first+n-1 (C order) of the block that spans `width` columns from `column` on in the lines of a box. */
static inline const float *qc_gather(const qc_geometry *g, const qc_box *box, const char *base, int64_t column,
                                     int64_t width, int64_t first, int64_t n, float *buffer) {
    int64_t k = first / width, skip = first % width, done = 0;
    const char *from = base + column * g->step;
    if (skip + n <= width)
        return qc_read(g->dtype, g->step, from + qc_line_of_box(g, box, k).offset + skip * g->step, n, buffer);
    while (done < n) {
        int64_t take = width - skip < n - done ? width - skip : n - done;
        const char *at = from + qc_line_of_box(g, box, k).offset + skip * g->step;
        const float *got = qc_read(g->dtype, g->step, at, take, buffer + done);
        if (got != buffer + done) memcpy(buffer + done, got, (size_t)take * 4);
        done += take;
        skip = 0;
        k++;
    }
    return buffer;
}

/* Up to QC_CHUNK elements of a block, from its element `at` on: the unit of a fixed-order sum. A short block lacks its last
 * chunks: they have n = 0. */
typedef struct {
    int64_t n, at, width, column;
    qc_box box;
} qc_chunk;

static inline void qc_find_chunk(const qc_geometry *g, int64_t block, int64_t at, qc_chunk *c) {
    qc_find_box(g, block / g->blocks, &c->box);
    c->at = at;
    c->column = block % g->blocks * g->block;
    c->width = g->cols - c->column < g->block ? g->cols - c->column : g->block;
    int64_t left = c->box.lines * c->width - at;
    c->n = left < 0 ? 0 : left < QC_CHUNK ? left : QC_CHUNK;
}

static inline const float *qc_gather_chunk(const qc_geometry *g, const qc_chunk *c, const char *base, float *buffer) {
    return qc_gather(g, &c->box, base, c->column, c->width, c->at, c->n, buffer);
}

/* The unsigned fields of n elements of one line, from `column` on. */
static inline void qc_line_fields(const qc_geometry *g, const char *words, qc_line l, int64_t column, int64_t n,
                                  uint8_t *fields) {
    const char *from = words + l.word_row * g->word_row;
    if (g->lane_axis >= 0)
        qc_split_lane(from + column * g->word_bytes, n, g->bits, l.lane, g->word_bytes, fields);
    else
        qc_unpack((const uint8_t *)from, column, n, g->bits, fields);
}

/* As qc_gather, but the stored fields of the same elements. */
static inline void qc_gather_fields(const qc_geometry *g, const qc_box *box, const char *words, int64_t column,
                                    int64_t width, int64_t first, int64_t n, uint8_t *fields) {
    int64_t k = first / width, skip = first % width, done = 0;
    while (done < n) {
        int64_t take = width - skip < n - done ? width - skip : n - done;
        qc_line_fields(g, words, qc_line_of_box(g, box, k), column + skip, take, fields + done);
        done += take;
        skip = 0;
        k++;
    }
}

#endif
