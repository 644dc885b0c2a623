/* Where things stand: lines of a dense tensor, their blocks and runs, the words they are packed in. 64-bit throughout.
 * A run is a piece of one block inside one line; a unit is what one item of a general kernel packs or unpacks. */
#pragma OPENCL FP_CONTRACT OFF

/* A geometry is an array of whole numbers; three per outer axis follow. */
#define COLS(g) ((ulong)(g)[0])       /* elements of a line */
#define BLOCK(g) ((ulong)(g)[1])      /* extent of a block along the line */
#define BLOCKS(g) ((ulong)(g)[2])     /* blocks of a line */
#define PIECE(g) ((ulong)(g)[3])      /* elements of a run, at most */
#define PIECES(g) ((ulong)(g)[4])     /* runs of a block in one line */
#define WORD_ROW(g) ((ulong)(g)[5])   /* bytes of a row of words */
#define UNITS(g) ((ulong)(g)[6])      /* units of a row of words */
#define UNIT(g) ((uint)(g)[7])        /* elements of a unit, at most */
#define LANE_AXIS(g) ((int)(g)[8])    /* outer axis whose neighbours share a word, or -1 */
#define AXES(g) ((int)(g)[9])         /* outer axes */
#define DIM(g, axis) ((ulong)(g)[10 + 3 * (axis)])
#define EXTENT(g, axis) ((ulong)(g)[11 + 3 * (axis)])
#define GRID(g, axis) ((ulong)(g)[12 + 3 * (axis)])

typedef __constant const long *qc_geometry;

/* The row of blocks that a line belongs to. */
inline ulong qc_row_of_line(qc_geometry g, ulong line) {
    ulong row = 0, rows = 1;
    for (int axis = AXES(g) - 1; axis >= 0; axis--) {
        row += line % DIM(g, axis) / EXTENT(g, axis) * rows;
        line /= DIM(g, axis);
        rows *= GRID(g, axis);
    }
    return row;
}

/* Lines that a row of blocks spans; and the number of the k-th of them. */
inline ulong qc_lines_of_row(qc_geometry g, ulong row) {
    ulong lines = 1;
    for (int axis = AXES(g) - 1; axis >= 0; axis--) {
        ulong at = row % GRID(g, axis) * EXTENT(g, axis);
        row /= GRID(g, axis);
        lines *= min(EXTENT(g, axis), DIM(g, axis) - at);
    }
    return lines;
}

inline ulong qc_line_of_row(qc_geometry g, ulong row, ulong k) {
    ulong line = 0, lines = 1;
    for (int axis = AXES(g) - 1; axis >= 0; axis--) {
        ulong at = row % GRID(g, axis) * EXTENT(g, axis), count = min(EXTENT(g, axis), DIM(g, axis) - at);
        row /= GRID(g, axis);
        line += (at + k % count) * lines;
        k /= count;
        lines *= DIM(g, axis);
    }
    return line;
}

typedef struct {
    ulong line, block, start, stop; /* columns start .. stop - 1 of a line, all in one block */
} qc_run;

inline qc_run qc_find_run(qc_geometry g, ulong run) {
    qc_run r;
    ulong piece = 0, block = run;
    if (PIECES(g) > 1) {
        block = run / PIECES(g);
        piece = run - block * PIECES(g);
    }
    r.line = AXES(g) == 0 ? 0 : block / BLOCKS(g);
    r.block = block - r.line * BLOCKS(g);
    r.start = r.block * BLOCK(g) + piece * PIECE(g);
    r.stop = min(min(r.start + PIECE(g), (r.block + 1) * BLOCK(g)), COLS(g));
    r.start = min(r.start, r.stop);
    return r;
}

/* Element j < n of a unit stands at first + j * step and belongs to scale base + (at + j) / extent * stride. */
typedef struct {
    ulong first, step, word, base, at, extent, stride;
    uint n;
} qc_unit;

#define SCALE_OF(u, j) ((u).base + ((u).at + (j)) / (u).extent * (u).stride)

inline qc_unit qc_find_unit(qc_geometry g, ulong number, uint bits) {
    ulong word_row = number / UNITS(g), unit = number - word_row * UNITS(g), rest = word_row;
    ulong line = 0, lines = 1, row = 0, rows = 1;
    qc_unit u = {0, 1, 0, 0, 0, BLOCK(g), 1, 0};
    if (LANE_AXIS(g) < 0) {
        u.at = unit * UNIT(g);
        u.n = (uint)min((ulong)UNIT(g), COLS(g) - u.at);
        u.first = word_row * COLS(g) + u.at;
        u.base = qc_row_of_line(g, word_row) * BLOCKS(g);
        u.word = word_row * WORD_ROW(g) + u.at * bits / 8;
        return u;
    }
    for (int axis = AXES(g) - 1; axis >= 0; axis--) {
        ulong dim = DIM(g, axis), shared = axis == LANE_AXIS(g) ? UNIT(g) : 1, count = (dim + shared - 1) / shared;
        ulong at = rest % count * shared;
        rest /= count;
        line += at * lines;
        if (axis == LANE_AXIS(g)) {
            u.n = (uint)min(shared, dim - at);
            u.step = lines * COLS(g);
            u.at = at;
            u.extent = EXTENT(g, axis);
            u.stride = rows * BLOCKS(g);
        } else {
            row += at / EXTENT(g, axis) * rows;
        }
        lines *= dim;
        rows *= GRID(g, axis);
    }
    u.first = line * COLS(g) + unit;
    u.base = row * BLOCKS(g) + unit / BLOCK(g);
    u.word = word_row * WORD_ROW(g) + unit * UNIT(g) * bits / 8;
    return u;
}
