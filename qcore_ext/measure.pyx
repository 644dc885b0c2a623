"""What a tensor looks like, block by block: peaks, non-finite elements, sums of magnitudes.

Assumed: outputs are C-contiguous and as large as the geometry says. Calls over disjoint tasks may run at the
same time.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from qcore_ext.strips cimport (
    QC_CHUNK, QC_INFINITY, QC_MAGNITUDE, QC_ROOM, qc_bits, qc_box, qc_find_box, qc_gather, qc_geometry,
    qc_keep_finite, qc_line, qc_line_of_box, qc_maxima, qc_read, qc_sum_magnitudes,
)


cdef void tile_peaks(
    const qc_geometry *g, const qc_box *box, const char *x, int64_t start, int64_t stop, bint finite,
    uint32_t *peaks,
) noexcept nogil:
    """Raise the peaks of the blocks in columns start..stop-1 of one row of blocks."""
    cdef float buffer[QC_ROOM]
    cdef const float *got
    cdef int64_t i, column, n
    cdef qc_line line
    for i in range(box.lines):
        line = qc_line_of_box(g, box, i)
        column = start
        while column < stop:
            n = min(g.strip, stop - column)
            got = qc_read(g.dtype, g.step, x + line.offset + column * g.step, n, buffer)
            qc_maxima(got, n, g.block, 0, finite, peaks + column // g.block)
            column += n


def peaks(cnp.ndarray x, cnp.ndarray grid, bint finite, bytes geometry, int64_t first, int64_t last):
    """Largest |x| of every block in tiles first..last-1, as float32 bits; only of finite elements if asked.

    Otherwise a NaN or an infinity makes its block's peak one.
    """
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef uint32_t *to = <uint32_t *>cnp.PyArray_DATA(grid)
    cdef uint32_t *row_peaks
    cdef int64_t task, row, start, stop
    cdef qc_box box
    assert cnp.PyArray_NBYTES(grid) >= g.rows * g.blocks * 4
    with nogil:
        for task in range(first, last):
            row = task // g.tiles
            start = task % g.tiles * g.tile
            stop = min(start + g.tile, g.cols)
            row_peaks = to + row * g.blocks
            memset(row_peaks + start // g.block, 0, ((stop - start + g.block - 1) // g.block) * 4)
            qc_find_box(g, row, &box)
            tile_peaks(g, &box, source, start, stop, finite, row_peaks)


def nonfinite(cnp.ndarray x, bytes geometry, int64_t first, int64_t last):
    """Count of non-finite elements in tiles first..last-1, and the flat C index of the first (-1: none)."""
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef const float *got
    cdef float buffer[QC_ROOM]
    cdef int64_t task, start, stop, i, j, column, n, at, count = 0, index = -1
    cdef qc_box box
    cdef qc_line line
    with nogil:
        for task in range(first, last):
            start = task % g.tiles * g.tile
            stop = min(start + g.tile, g.cols)
            qc_find_box(g, task // g.tiles, &box)
            for i in range(box.lines):
                line = qc_line_of_box(g, &box, i)
                column = start
                while column < stop:
                    n = min(g.strip, stop - column)
                    got = qc_read(g.dtype, g.step, source + line.offset + column * g.step, n, buffer)
                    for j in range(n):
                        if qc_bits(got[j]) & QC_MAGNITUDE >= QC_INFINITY:
                            count += 1
                            at = line.line * g.cols + column + j
                            index = at if index < 0 or at < index else index
                    column += n
    return count, index


def sums(
    cnp.ndarray x, cnp.ndarray totals, cnp.ndarray counts, int64_t chunks, bytes geometry,
    int64_t first, int64_t last,
):
    """Sum of finite |x| and their count for chunks first..last-1; a block has ``chunks`` of them.

    float64 and int64, one per block and chunk. A chunk that a short block lacks sums to 0.
    """
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef double *to = <double *>cnp.PyArray_DATA(totals)
    cdef int64_t *count = <int64_t *>cnp.PyArray_DATA(counts)
    cdef float buffer[QC_CHUNK]
    cdef float kept[QC_CHUNK]
    cdef int64_t task, block, column, width, at, n
    cdef qc_box box
    assert cnp.PyArray_NBYTES(totals) >= g.rows * g.blocks * chunks * 8
    assert cnp.PyArray_NBYTES(counts) >= g.rows * g.blocks * chunks * 8
    with nogil:
        for task in range(first, last):
            block = task // chunks
            at = task % chunks * QC_CHUNK
            qc_find_box(g, block // g.blocks, &box)
            column = block % g.blocks * g.block
            width = min(g.block, g.cols - column)
            n = max(0, min(QC_CHUNK, box.lines * width - at))
            count[task] = qc_keep_finite(qc_gather(g, &box, source, column, width, at, n, buffer), n, kept)
            to[task] = qc_sum_magnitudes(kept, n)
