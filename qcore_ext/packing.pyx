"""Codes into words and back, whatever they mean. One task is a piece of a row of words.

Assumed: ``codes`` holds one byte per element and ``values`` the words, both C-contiguous and as large as the
geometry says.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from qcore_ext.pool cimport share
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
    cdef int64_t column = start, n, lane, i
    cdef uint8_t *to
    while column < stop:
        n = min(QC_STRIP, stop - column)
        for lane in range(row.lanes):
            to = codes + (row.line + lane * row.lane_lines) * g.cols + column
            if g.lane_axis < 0:
                qc_unpack(<const uint8_t *>words, column, n, g.bits, to)
            else:
                qc_split_lane(words + column * g.word_bytes, n, g.bits, lane, g.word_bytes, to)
            if sign and g.bits < 8:
                for i in range(n):
                    to[i] = <uint8_t>((to[i] ^ <uint8_t>sign) - <uint8_t>sign)
        column += n


cdef struct packing:
    const qc_geometry *g
    uint8_t *codes
    char *words
    int64_t sign


cdef void pack_tasks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const packing *w = <const packing *>work
    cdef const qc_geometry *g = w.g
    cdef int64_t task, row, start
    for task in range(first, last):
        row = task // g.pieces
        start = task % g.pieces * g.piece
        pack_piece(g, w.codes, qc_find_row(g, row), start, min(start + g.piece, g.cols),
                   w.words + row * g.word_row)


cdef void unpack_tasks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const packing *w = <const packing *>work
    cdef const qc_geometry *g = w.g
    cdef int64_t task, row, start
    for task in range(first, last):
        row = task // g.pieces
        start = task % g.pieces * g.piece
        unpack_piece(g, w.codes, qc_find_row(g, row), start, min(start + g.piece, g.cols), w.sign,
                     w.words + row * g.word_row)


cdef packing packing_of(cnp.ndarray codes, cnp.ndarray values, int64_t sign, bytes geometry):
    cdef packing w
    w.g = <const qc_geometry *><const char *>geometry
    w.codes = <uint8_t *>cnp.PyArray_DATA(codes)
    w.words = <char *>cnp.PyArray_DATA(values)
    w.sign = sign
    assert cnp.PyArray_NBYTES(values) >= w.g.words * w.g.word_row
    assert cnp.PyArray_NBYTES(codes) >= w.g.lines * w.g.cols
    return w


def pack(
    cnp.ndarray codes, cnp.ndarray values, bytes geometry, int64_t first, int64_t last, int64_t step=0,
    int threads=1,
):
    """Tasks first..last-1 of ``codes`` into ``values``; bits beyond a field's are dropped, padding is 0."""
    cdef packing w = packing_of(codes, values, 0, geometry)
    with nogil:
        share(pack_tasks, &w, first, last, step, threads)


def unpack(
    cnp.ndarray values, cnp.ndarray codes, int64_t sign, bytes geometry, int64_t first, int64_t last,
    int64_t step=0, int threads=1,
):
    """Tasks first..last-1 of ``values`` into ``codes``; ``sign`` is the sign bit of a field, or 0."""
    cdef packing w = packing_of(codes, values, sign, geometry)
    with nogil:
        share(unpack_tasks, &w, first, last, step, threads)
