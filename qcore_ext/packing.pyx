"""Codes into words and back, whatever they mean. One task is a piece of a row of words.

Assumed: ``codes`` holds one byte per element and ``values`` the words, both C-contiguous and as large as the
geometry says.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from qcore_ext.strips cimport (
    QC_ROOM, QC_STRIP, qc_find_row, qc_geometry, qc_join_lane, qc_pack, qc_row, qc_split_lane, qc_store_words,
    qc_unpack,
)


cdef void pack_piece(
    const qc_geometry *g, const uint8_t *codes, qc_row row, int64_t start, int64_t stop, char *words,
) noexcept nogil:
    cdef uint32_t joined[QC_ROOM]
    cdef int64_t column = start, n = stop - start, lane, line
    if g.lane_axis < 0:
        column = start * g.bits // 8
        column += qc_pack(codes + row.line * g.cols + start, n, g.bits, <uint8_t *>words + column)
        if stop == g.cols:
            memset(words + column, 0, g.word_row - column)
        return
    while column < stop:
        n = min(QC_STRIP, stop - column)
        for lane in range(row.lanes):
            line = row.line + lane * row.lane_lines
            qc_join_lane(codes + line * g.cols + column, n, g.bits, lane, joined)
        qc_store_words(joined, n, g.word_bytes, words + column * g.word_bytes)
        column += n


cdef void unpack_piece(
    const qc_geometry *g, uint8_t *codes, qc_row row, int64_t start, int64_t stop, int64_t sign,
    const char *words,
) noexcept nogil:
    cdef int64_t n = stop - start, lane, i
    cdef uint8_t *to
    for lane in range(row.lanes):
        to = codes + (row.line + lane * row.lane_lines) * g.cols + start
        if g.lane_axis < 0:
            qc_unpack(<const uint8_t *>words, start, n, g.bits, to)
        else:
            qc_split_lane(words + start * g.word_bytes, n, g.bits, lane, g.word_bytes, to)
        if sign and g.bits < 8:
            for i in range(n):
                to[i] = <uint8_t>((to[i] ^ <uint8_t>sign) - <uint8_t>sign)


def pack(cnp.ndarray codes, cnp.ndarray values, bytes geometry, int64_t first, int64_t last):
    """Tasks first..last-1 of ``codes`` into ``values``; bits beyond a field's are dropped, padding is 0."""
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const uint8_t *source = <const uint8_t *>cnp.PyArray_DATA(codes)
    cdef char *to = <char *>cnp.PyArray_DATA(values)
    cdef int64_t task, row, start
    assert cnp.PyArray_NBYTES(values) >= g.words * g.word_row
    assert cnp.PyArray_NBYTES(codes) >= g.lines * g.cols
    with nogil:
        for task in range(first, last):
            row = task // g.pieces
            start = task % g.pieces * g.piece
            pack_piece(g, source, qc_find_row(g, row), start, min(start + g.piece, g.cols),
                       to + row * g.word_row)


def unpack(cnp.ndarray values, cnp.ndarray codes, int64_t sign, bytes geometry, int64_t first, int64_t last):
    """Tasks first..last-1 of ``values`` into ``codes``; ``sign`` is the sign bit of a field, or 0."""
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const char *source = <const char *>cnp.PyArray_DATA(values)
    cdef uint8_t *to = <uint8_t *>cnp.PyArray_DATA(codes)
    cdef int64_t task, row, start
    assert cnp.PyArray_NBYTES(values) >= g.words * g.word_row
    assert cnp.PyArray_NBYTES(codes) >= g.lines * g.cols
    with nogil:
        for task in range(first, last):
            row = task // g.pieces
            start = task % g.pieces * g.piece
            unpack_piece(g, to, qc_find_row(g, row), start, min(start + g.piece, g.cols), sign,
                         source + row * g.word_row)
