"""Codes under given scales, packed: one task is a piece of a row of words.

Assumed: ``values`` and ``scales`` are C-contiguous and as large as the geometry says, which describes ``x``.
Non-finite elements saturate. Calls over disjoint tasks may run at the same time.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from qcore_ext.pool cimport share
from qcore_ext.sides cimport sides_of
from qcore_ext.strips cimport (
    QC_ROOM, QC_STRIP, QC_LOOKUP, qc_codec, qc_effective, qc_find_row, qc_geometry, qc_join_lane, qc_look_ahead,
    qc_maxima, qc_pack_strip, qc_quantize, qc_read, qc_room_for_codes, qc_row, qc_row_of_lane,
    qc_scale, qc_sides, qc_store_words, qc_stream_end, qc_streamed,
)


cdef inline void strip_codes(
    const qc_geometry *g, const qc_codec *k, const qc_scale *s, const char *x, const char *scales,
    float whole, int64_t column, int64_t n, uint8_t *codes,
) noexcept nogil:
    """Codes of n elements of a line from ``column`` on; ``scales`` are those of its row of blocks."""
    cdef float buffer[QC_ROOM]
    cdef uint32_t maxima[QC_ROOM + 1]
    cdef const float *got
    cdef float effective[QC_ROOM + 1]
    cdef int64_t at = column // g.block, phase = column % g.block, count = (phase + n - 1) // g.block + 1
    qc_effective(s, scales + at * s.nbytes, count, whole, effective)
    got = qc_read(g.dtype, g.step, x + column * g.step, n, buffer)
    if k.kind != QC_LOOKUP:
        memset(maxima, 0, count * sizeof(uint32_t))
        qc_maxima(got, n, g.block, phase, False, maxima)
    qc_quantize(k, got, n, g.block, phase, effective, maxima, qc_look_ahead(g, x, column), codes)


cdef void encode_piece(
    const qc_geometry *g, const qc_codec *k, const qc_scale *s, const char *x, const char *scales,
    float whole, qc_row row, int64_t start, int64_t stop, char *words, bint streamed,
) noexcept nogil:
    """Columns start..stop-1 of one row of words."""
    cdef uint8_t codes[QC_ROOM]
    cdef uint8_t *fields
    cdef uint32_t joined[QC_ROOM]
    cdef int64_t column = start, n, lane, pitch = g.blocks * s.nbytes
    while column < stop:
        n = min(QC_STRIP, stop - column)
        fields = qc_room_for_codes(g, streamed, words + column, codes)
        for lane in range(row.lanes):
            strip_codes(g, k, s, x + row.offset + lane * row.lane_stride,
                        scales + qc_row_of_lane(&row, lane) * pitch, whole, column, n, fields)
            if g.lane_axis >= 0:
                qc_join_lane(codes, n, g.bits, lane, joined)
        if g.lane_axis >= 0:
            qc_store_words(joined, n, g.word_bytes, words + column * g.word_bytes)
        else:
            qc_pack_strip(fields, n, g.bits, streamed, <uint8_t *>words + column * g.bits // 8)
        column += n
    if g.lane_axis < 0 and stop == g.cols:
        column = (g.cols * g.bits + 7) // 8
        memset(words + column, 0, g.word_row - column)


cdef void encode_tasks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const qc_sides *w = <const qc_sides *>work
    cdef const qc_geometry *g = w.g
    cdef int64_t task, row, start
    cdef bint streamed = qc_streamed(g)
    for task in range(first, last):
        row = task // g.pieces
        start = task % g.pieces * g.piece
        encode_piece(g, w.k, w.s, w.x, w.scales, w.whole, qc_find_row(g, row), start,
                     min(start + g.piece, g.cols), <char *>w.values + row * g.word_row, streamed)
    qc_stream_end()


def encode(
    cnp.ndarray x, cnp.ndarray scales, float whole, cnp.ndarray values, bytes geometry, bytes codec,
    bytes scale, int64_t first, int64_t last, int64_t step=0, int threads=1,
):
    """Tasks first..last-1. ``whole`` is the global scale, or 1."""
    cdef qc_sides w = sides_of(x, values, scales, whole, geometry, codec, scale)
    with nogil:
        share(encode_tasks, &w, first, last, step, threads)
