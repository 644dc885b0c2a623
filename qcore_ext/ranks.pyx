"""The k-th smallest magnitude, exactly: blocks one at a time, or the histogram of a slice of one large block.

Magnitudes are compared as bits; those of finite floats lie in order below infinity.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from qcore_ext.strips cimport (
    QC_CHUNK, QC_INFINITY, QC_MAGNITUDE, qc_bits, qc_box, qc_find_box, qc_gather, qc_geometry,
)


cdef uint32_t kth_of_block(
    const qc_geometry *g, const qc_box *box, const char *x, int64_t column, int64_t width, int64_t k,
) noexcept nogil:
    """Bits of the k-th smallest finite magnitude, k from 1; one byte of them a pass, the highest first."""
    cdef float buffer[QC_CHUNK]
    cdef int64_t histogram[256]
    cdef const float *got
    cdef int64_t at, n, i, total = box.lines * width
    cdef int shift
    cdef uint32_t a, prefix = 0
    for shift in range(24, -1, -8):
        memset(histogram, 0, sizeof(histogram))
        at = 0
        while at < total:
            n = min(QC_CHUNK, total - at)
            got = qc_gather(g, box, x, column, width, at, n, buffer)
            for i in range(n):
                a = qc_bits(got[i]) & QC_MAGNITUDE
                if a < QC_INFINITY and (<int64_t>a >> (shift + 8)) == (<int64_t>prefix >> (shift + 8)):
                    histogram[(a >> shift) & 255] += 1
            at += n
        for i in range(256):
            if k <= histogram[i]:
                prefix |= <uint32_t>(i << shift)
                break
            k -= histogram[i]
    return prefix


def kth(cnp.ndarray x, cnp.ndarray ranks, cnp.ndarray grid, bytes geometry, int64_t first, int64_t last):
    """For blocks first..last-1 the ``ranks[block]``-th smallest finite magnitude, float32; rank 0 gives 0."""
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef const int64_t *rank = <const int64_t *>cnp.PyArray_DATA(ranks)
    cdef uint32_t *to = <uint32_t *>cnp.PyArray_DATA(grid)
    cdef int64_t block, column
    cdef qc_box box
    assert cnp.PyArray_NBYTES(ranks) >= g.rows * g.blocks * 8
    assert cnp.PyArray_NBYTES(grid) >= g.rows * g.blocks * 4
    with nogil:
        for block in range(first, last):
            qc_find_box(g, block // g.blocks, &box)
            column = block % g.blocks * g.block
            to[block] = 0
            if rank[block]:
                to[block] = kth_of_block(g, &box, source, column, min(g.block, g.cols - column), rank[block])


def histogram(
    cnp.ndarray x, cnp.ndarray counts, int64_t block, int64_t shift, int64_t prefix, bytes geometry,
    int64_t first, int64_t last,
):
    """Count finite magnitudes of a block's chunks first..last-1 with bits ``prefix`` above ``shift + 16``.

    By the sixteen bits from ``shift`` on, into 65536 int64 that the caller set to 0.
    """
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    cdef const char *source = <const char *>cnp.PyArray_DATA(x)
    cdef int64_t *to = <int64_t *>cnp.PyArray_DATA(counts)
    cdef float buffer[QC_CHUNK]
    cdef const float *got
    cdef int64_t chunk, column, width, n, i
    cdef uint32_t a
    cdef qc_box box
    assert cnp.PyArray_NBYTES(counts) >= 65536 * 8
    with nogil:
        qc_find_box(g, block // g.blocks, &box)
        column = block % g.blocks * g.block
        width = min(g.block, g.cols - column)
        for chunk in range(first, last):
            n = max(0, min(QC_CHUNK, box.lines * width - chunk * QC_CHUNK))
            got = qc_gather(g, &box, source, column, width, chunk * QC_CHUNK, n, buffer)
            for i in range(n):
                a = qc_bits(got[i]) & QC_MAGNITUDE
                if a < QC_INFINITY and (<int64_t>a >> (shift + 16)) == prefix:
                    to[(a >> shift) & 65535] += 1
