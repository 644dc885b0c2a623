"""Stored values to floats: effective scale times the value of each field.

One task is a piece of a row of words. Assumed: ``values`` and ``scales`` are C-contiguous and as large as the
geometry says, which describes ``out``.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t

from qcore_ext.pool cimport share
from qcore_ext.sides cimport sides_of
from qcore_ext.strips cimport (
    QC_BURST, qc_codec, qc_dequantize, qc_dequantize_packed, qc_effective, qc_find_row, qc_geometry, qc_put,
    qc_row, qc_row_of_lane, qc_scale, qc_sides, qc_split_lane, qc_stream_end, qc_streamed_floats, qc_target,
)


cdef inline void strip_floats(
    const qc_geometry *g, const qc_codec *k, const qc_scale *s, const char *words, const char *scales,
    float whole, int64_t lane, int64_t column, int64_t n, char *line, bint streamed,
) noexcept nogil:
    """n results of a line from ``column`` on; ``scales`` are those of its row of blocks."""
    cdef float buffer[QC_BURST]
    cdef float effective[QC_BURST + 1]
    cdef uint8_t fields[QC_BURST]
    cdef int64_t at = column // g.block, phase = column % g.block
    cdef char *place = line + column * g.step
    cdef float *target = qc_target(g, place, streamed, buffer)
    qc_effective(s, scales + at * s.nbytes, (phase + n - 1) // g.block + 1, whole, effective)
    if g.lane_axis < 0:
        qc_dequantize_packed(k, <const uint8_t *>words, column, n, g.bits, g.block, phase, effective, target)
    else:
        qc_split_lane(words + column * g.word_bytes, n, g.bits, lane, g.word_bytes, fields)
        qc_dequantize(k, fields, n, g.block, phase, effective, target)
    if target == buffer:
        qc_put(g, place, n, streamed, buffer)


cdef void decode_piece(
    const qc_geometry *g, const qc_codec *k, const qc_scale *s, const char *words, const char *scales,
    float whole, qc_row row, int64_t start, int64_t stop, char *out, bint streamed,
) noexcept nogil:
    """Columns start..stop-1 of one row of words."""
    cdef int64_t column = start, n, lane, pitch = g.blocks * s.nbytes
    while column < stop:
        n = min(QC_BURST, stop - column)
        for lane in range(row.lanes):
            strip_floats(g, k, s, words, scales + qc_row_of_lane(&row, lane) * pitch, whole, lane, column, n,
                         out + row.offset + lane * row.lane_stride, streamed)
        column += n


cdef void decode_tasks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const qc_sides *w = <const qc_sides *>work
    cdef const qc_geometry *g = w.g
    cdef int64_t task, row, start
    cdef bint streamed = qc_streamed_floats(g)
    for task in range(first, last):
        row = task // g.pieces
        start = task % g.pieces * g.piece
        decode_piece(g, w.k, w.s, w.values + row * g.word_row, w.scales, w.whole, qc_find_row(g, row), start,
                     min(start + g.piece, g.cols), <char *>w.x, streamed)
    qc_stream_end()


def decode(
    cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray out, bytes geometry, bytes codec,
    bytes scale, int64_t first, int64_t last, int64_t step=0, int threads=1,
):
    """Tasks first..last-1. ``whole`` is the global scale, or 1."""
    cdef qc_sides w = sides_of(out, values, scales, whole, geometry, codec, scale)
    with nogil:
        share(decode_tasks, &w, first, last, step, threads)
