"""Blocks of 32 under ggml's arithmetic, in one pass: Q8_0 where fields have eight bits, Q4_0 where they have four.

Assumed: blocks of 32 along the line, float16 scales, words along the line; ``values`` and ``scales`` are
C-contiguous and as large as the geometry says. One task is a tile, as in quantize.pyx.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from qcore_ext.pool cimport qc_add, share
from qcore_ext.strips cimport (
    QC_ROOM, qc_ahead, qc_box, qc_find_box, qc_geometry, qc_line, qc_line_of_box, qc_look_ahead, qc_pack_strip,
    qc_read, qc_room_for_codes, qc_stream_end, qc_streamed,
)


cdef extern from "qc_ggml.h" nogil:
    bint qc_ggml(int bits, const float *x, int64_t n, int64_t size, qc_ahead ahead, uint8_t *codes, char *stored)


cdef struct quantizing:
    const qc_geometry *g
    const char *x
    char *scales
    char *words
    int64_t nonfinite


cdef bint quantize_strip(
    const qc_geometry *g, const char *x, int64_t column, int64_t n, char *words, char *stored,
    bint streamed,
) noexcept nogil:
    """Columns column..column+n-1 of a line, a row of words and a row of scales."""
    cdef float buffer[QC_ROOM]
    cdef uint8_t codes[QC_ROOM]
    cdef int64_t at = column * g.bits // 8, used
    cdef const float *got = qc_read(g.dtype, g.step, x + column * g.step, n, buffer)
    cdef uint8_t *fields = qc_room_for_codes(g, streamed, words + at, codes)
    if not qc_ggml(<int>g.bits, got, n, g.block, qc_look_ahead(g, x, column), fields,
                   stored + column // g.block * 2):
        return False
    used = at + qc_pack_strip(fields, n, g.bits, streamed, <uint8_t *>words + at)
    if column + n == g.cols:
        memset(words + used, 0, g.word_row - used)
    return True


cdef void quantize_tasks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef quantizing *w = <quantizing *>work
    cdef const qc_geometry *g = w.g
    cdef int64_t task, row, column, stop
    cdef bint streamed = qc_streamed(g)
    cdef qc_box box
    cdef qc_line line
    for task in range(first, last):
        row = task // g.tiles
        column = task % g.tiles * g.tile
        stop = min(column + g.tile, g.cols)
        qc_find_box(g, row, &box)
        line = qc_line_of_box(g, &box, 0)
        while column < stop:
            if not quantize_strip(g, w.x + line.offset, column, min(g.strip, stop - column),
                                  w.words + line.word_row * g.word_row, w.scales + row * g.blocks * 2,
                                  streamed):
                qc_add(&w.nonfinite, 1)
                return
            column += g.strip
    qc_stream_end()


def minmax(
    cnp.ndarray x, cnp.ndarray scales, cnp.ndarray values, bytes geometry, int64_t first, int64_t last,
    int64_t step=0, int threads=1,
):
    """Tasks first..last-1; False, with the outputs half done, once a non-finite element is met."""
    cdef quantizing w
    w.g = <const qc_geometry *><const char *>geometry
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.scales = <char *>cnp.PyArray_DATA(scales)
    w.words = <char *>cnp.PyArray_DATA(values)
    w.nonfinite = 0
    assert w.g.strip <= QC_ROOM and w.g.lane_axis < 0
    assert cnp.PyArray_NBYTES(values) >= w.g.words * w.g.word_row
    assert cnp.PyArray_NBYTES(scales) >= w.g.rows * w.g.blocks * 2
    with nogil:
        share(quantize_tasks, &w, first, last, step, threads)
    return w.nonfinite == 0
