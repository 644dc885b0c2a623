"""Min-max in one pass: peaks, scales and codes of a strip of blocks while it is in cache.

Assumed: one scale level, blocks of at most a strip, words along the line; ``values`` and ``scales`` are
C-contiguous and as large as the geometry says. One task is a tile: whole blocks and whole words of one row of
blocks.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from qcore_ext.pool cimport qc_add, share
from qcore_ext.strips cimport (
    QC_ROOM, qc_box, qc_codec, qc_find_box, qc_geometry, qc_line, qc_line_of_box, qc_look_ahead, qc_maxima,
    qc_pack_strip, qc_quantize, qc_read, qc_room_for_codes, qc_scale, qc_scale_strip, qc_stream_end, qc_streamed,
)


cdef bint quantize_strip(
    const qc_geometry *g, const qc_codec *k, const qc_scale *s, const qc_box *box, const char *x,
    int64_t column, int64_t n, char *words, char *stored, bint streamed,
) noexcept nogil:
    """Columns column..column+n-1 of one row of blocks."""
    cdef float buffer[QC_ROOM]
    cdef float effective[QC_ROOM]
    cdef uint32_t maxima[QC_ROOM]
    cdef uint8_t codes[QC_ROOM]
    cdef uint8_t *fields
    cdef int64_t count = (n + g.block - 1) // g.block, i, used, at = column * g.bits // 8
    cdef const float *got = NULL
    cdef qc_line line = qc_line_of_box(g, box, 0)
    cdef char *to
    memset(maxima, 0, count * sizeof(uint32_t))
    for i in range(box.lines):
        line = qc_line_of_box(g, box, i) if i else line
        got = qc_read(g.dtype, g.step, x + line.offset + column * g.step, n, buffer)
        qc_maxima(got, n, g.block, 0, False, maxima)
    if not qc_scale_strip(s, maxima, count, stored + column // g.block * s.nbytes, effective):
        return False
    for i in range(box.lines):
        if box.lines > 1:
            line = qc_line_of_box(g, box, i)
            got = qc_read(g.dtype, g.step, x + line.offset + column * g.step, n, buffer)
        to = words + line.word_row * g.word_row
        fields = qc_room_for_codes(g, streamed, to + at, codes)
        qc_quantize(k, got, n, g.block, 0, effective, maxima, qc_look_ahead(g, x + line.offset, column), fields)
        used = at + qc_pack_strip(fields, n, g.bits, streamed, <uint8_t *>to + at)
        if column + n == g.cols:
            memset(to + used, 0, g.word_row - used)
    return True


cdef struct quantizing:
    const qc_geometry *g
    const qc_codec *k
    const qc_scale *s
    const char *x
    char *scales
    char *words
    int64_t nonfinite


cdef void quantize_tasks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef quantizing *w = <quantizing *>work
    cdef const qc_geometry *g = w.g
    cdef int64_t task, row, column, stop
    cdef bint streamed = qc_streamed(g)
    cdef qc_box box
    for task in range(first, last):
        row = task // g.tiles
        column = task % g.tiles * g.tile
        stop = min(column + g.tile, g.cols)
        qc_find_box(g, row, &box)
        while column < stop:
            if not quantize_strip(g, w.k, w.s, &box, w.x, column, min(g.strip, stop - column), w.words,
                                  w.scales + row * g.blocks * w.s.nbytes, streamed):
                qc_add(&w.nonfinite, 1)
                return
            column += g.strip
    qc_stream_end()


def minmax(
    cnp.ndarray x, cnp.ndarray scales, cnp.ndarray values, bytes geometry, bytes codec, bytes scale,
    int64_t first, int64_t last, int64_t step=0, int threads=1,
):
    """Tasks first..last-1; False, with the outputs half done, once a non-finite element is met."""
    cdef quantizing w
    w.g = <const qc_geometry *><const char *>geometry
    w.k = <const qc_codec *><const char *>codec
    w.s = <const qc_scale *><const char *>scale
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.scales = <char *>cnp.PyArray_DATA(scales)
    w.words = <char *>cnp.PyArray_DATA(values)
    w.nonfinite = 0
    assert cnp.PyArray_NBYTES(values) >= w.g.words * w.g.word_row
    assert cnp.PyArray_NBYTES(scales) >= w.g.rows * w.g.blocks * w.s.nbytes
    with nogil:
        share(quantize_tasks, &w, first, last, step, threads)
    return w.nonfinite == 0
