/* The numbers that cross into kernels. Packed once per plan (numbers.pyx), read by every kernel; no names, no pointers. */
#ifndef QC_NUMBERS_H
#define QC_NUMBERS_H

#include <stdint.h>
#include <string.h>

/* More axes of two or more elements than memory can hold. */
#define QC_AXES 48
/* Room of a strip buffer in elements, and the strip length that keeps the prefetcher going. */
#define QC_ROOM 4096
#define QC_STRIP 1024
/* Elements of one partial sum: the fixed order of every float64 sum. */
#define QC_CHUNK 4096

enum { QC_INTEGER = 0, QC_MINIFLOAT = 1, QC_LOOKUP = 2 };
enum { QC_F32 = 0, QC_F64 = 1, QC_F16 = 2, QC_BF16 = 3, QC_BYTE = 4 };
enum { QC_UP = 0, QC_NEAREST = 1, QC_FLOOR = 2, QC_EVEN = 3 };

/* How a scaled float becomes a field of `bits` bits and back. Lookup: `first` plus the `delta` of every bound exceeded. */
typedef struct {
    int32_t kind, bits, lo, hi, half_even, mbits, emin, first;
    int32_t zero_code;
    float top;
    double under, over; /* lookup: what lies outside counts as clipped */
    float table[256];
    float bounds[256];
    int32_t delta[256];
    float order[16]; /* lookup of four bits: the index at every place, as the bits of a float */
} qc_codec;

/* How a scale is rounded, stored and read: multiples of `smallest` below 2^emin, then `mbits` of mantissa, up to `top`. */
typedef struct {
    int32_t kind, nbytes, mbits, emin, rule, elem_emax, elem_mbits;
    float top, smallest, half_range, zero_substitute;
    float table[256];
} qc_scale;

/* A strided float array as lines along its last axis, under a grid of blocks, beside a dense array of packed words. */
typedef struct {
    int64_t axes;    /* outer axes: all but the last */
    int64_t cols;    /* elements of a line */
    int64_t step;    /* bytes from one element of a line to the next */
    int64_t dtype;   /* QC_F32 .. QC_BF16 */
    int64_t block;   /* block extent along the line, at most cols */
    int64_t blocks;  /* blocks of a line */
    int64_t rows;    /* rows of blocks: the product of grid[] */
    int64_t lines;   /* the product of dim[] */
    int64_t bits, per_word, word_bytes;
    int64_t lane_axis;  /* outer axis whose neighbours share a word; -1: neighbours along the line do */
    int64_t words;      /* rows of words: lines, or fewer under a lane axis */
    int64_t word_row;   /* bytes of a row of words */
    int64_t piece;      /* columns of one task of a kernel that walks rows of words */
    int64_t pieces;     /* tasks of one such row */
    int64_t tile;       /* columns of one task of a kernel that walks rows of blocks: whole blocks */
    int64_t tiles;      /* tasks of one such row */
    int64_t strip;      /* columns handled at a time inside a tile: whole blocks and whole words */
    int64_t dim[QC_AXES], stride[QC_AXES], extent[QC_AXES], grid[QC_AXES];
} qc_geometry;

#endif
