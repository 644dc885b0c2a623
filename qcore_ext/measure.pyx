"""What a tensor looks like, block by block: peaks, and non-finite elements.

Assumed: outputs are C-contiguous and as large as the geometry says. Calls over disjoint tasks may run at the
same time.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from qcore_ext.pool cimport qc_add, qc_lower, share
from qcore_ext.strips cimport (
    QC_INFINITY, QC_MAGNITUDE, QC_ROOM, qc_bits, qc_box, qc_find_box, qc_geometry, qc_line, qc_line_of_box,
    qc_maxima, qc_read,
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


cdef struct measuring:
    const qc_geometry *g
    const char *x
    uint32_t *peaks
    bint finite
    int64_t count
    int64_t index


cdef void measure_peaks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const measuring *w = <const measuring *>work
    cdef const qc_geometry *g = w.g
    cdef uint32_t *row_peaks
    cdef int64_t task, row, start, stop
    cdef qc_box box
    for task in range(first, last):
        row = task // g.tiles
        start = task % g.tiles * g.tile
        stop = min(start + g.tile, g.cols)
        row_peaks = w.peaks + row * g.blocks
        memset(row_peaks + start // g.block, 0, ((stop - start + g.block - 1) // g.block) * 4)
        qc_find_box(g, row, &box)
        tile_peaks(g, &box, w.x, start, stop, w.finite, row_peaks)


def peaks(
    cnp.ndarray x, cnp.ndarray grid, bint finite, bytes geometry, int64_t first, int64_t last, int64_t step=0,
    int threads=1,
):
    """Largest |x| of every block in tiles first..last-1, as float32 bits; only of finite elements if asked.

    Otherwise a NaN or an infinity makes its block's peak one.
    """
    cdef measuring w
    w.g = <const qc_geometry *><const char *>geometry
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.peaks = <uint32_t *>cnp.PyArray_DATA(grid)
    w.finite = finite
    assert cnp.PyArray_NBYTES(grid) >= w.g.rows * w.g.blocks * 4
    with nogil:
        share(measure_peaks, &w, first, last, step, threads)


cdef void count_nonfinite(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef measuring *w = <measuring *>work
    cdef const qc_geometry *g = w.g
    cdef const float *got
    cdef float buffer[QC_ROOM]
    cdef int64_t task, start, stop, i, j, column, n
    cdef uint32_t most
    cdef qc_box box
    cdef qc_line line
    for task in range(first, last):
        start = task % g.tiles * g.tile
        stop = min(start + g.tile, g.cols)
        qc_find_box(g, task // g.tiles, &box)
        for i in range(box.lines):
            line = qc_line_of_box(g, &box, i)
            column = start
            while column < stop:
                n = min(g.strip, stop - column)
                got = qc_read(g.dtype, g.step, w.x + line.offset + column * g.step, n, buffer)
                most = 0
                qc_maxima(got, n, n, 0, False, &most)
                # Most strips have none: one look at their maximum, many elements at a time, tells.
                for j in range(n if most >= QC_INFINITY else 0):
                    if qc_bits(got[j]) & QC_MAGNITUDE >= QC_INFINITY:
                        qc_add(&w.count, 1)
                        qc_lower(&w.index, line.line * g.cols + column + j)
                column += n


def nonfinite(cnp.ndarray x, bytes geometry, int64_t first, int64_t last, int64_t step=0, int threads=1):
    """Count of non-finite elements in tiles first..last-1, and the flat C index of the first (-1: none)."""
    cdef measuring w
    w.g = <const qc_geometry *><const char *>geometry
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.count = 0
    w.index = w.g.lines * w.g.cols
    with nogil:
        share(count_nonfinite, &w, first, last, step, threads)
    return w.count, w.index if w.count else -1
