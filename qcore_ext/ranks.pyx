"""The k-th smallest magnitude of every block, exactly.

Magnitudes are compared as bits; those of finite floats lie in order below infinity.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from qcore_ext.pool cimport share
from qcore_ext.strips cimport (
    QC_CHUNK, QC_INFINITY, QC_MAGNITUDE, qc_bits, qc_chunk, qc_find_chunk, qc_gather_chunk, qc_geometry,
)


cdef uint32_t kth_of_block(
    const qc_geometry *g, int64_t block, const char *x, int64_t k,
) noexcept nogil:
    """Bits of the k-th smallest finite magnitude, k from 1; one byte of them a pass, the highest first."""
    cdef float buffer[QC_CHUNK]
    cdef int64_t histogram[256]
    cdef const float *got
    cdef int64_t at, i
    cdef int shift
    cdef qc_chunk head, chunk
    cdef uint32_t a, prefix = 0
    qc_find_chunk(g, block, 0, &head)
    for shift in range(24, -1, -8):
        memset(histogram, 0, sizeof(histogram))
        at = 0
        chunk = head
        while chunk.n:
            got = qc_gather_chunk(g, &chunk, x, buffer)
            for i in range(chunk.n):
                a = qc_bits(got[i]) & QC_MAGNITUDE
                if a < QC_INFINITY and (<int64_t>a >> (shift + 8)) == (<int64_t>prefix >> (shift + 8)):
                    histogram[(a >> shift) & 255] += 1
            if chunk.n < QC_CHUNK:
                break
            at += QC_CHUNK
            qc_find_chunk(g, block, at, &chunk)
        for i in range(256):
            if k <= histogram[i]:
                prefix |= <uint32_t>(i << shift)
                break
            k -= histogram[i]
    return prefix


cdef struct ranking:
    const qc_geometry *g
    const char *x
    const int64_t *ranks
    uint32_t *grid


cdef void kth_of_blocks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const ranking *w = <const ranking *>work
    cdef int64_t block
    for block in range(first, last):
        w.grid[block] = kth_of_block(w.g, block, w.x, w.ranks[block]) if w.ranks[block] else 0


def kth(
    cnp.ndarray x, cnp.ndarray ranks, cnp.ndarray grid, bytes geometry, int64_t first, int64_t last,
    int64_t step=0, int threads=1,
):
    """For blocks first..last-1 the ``ranks[block]``-th smallest finite magnitude, float32; rank 0 gives 0."""
    cdef ranking w
    w.g = <const qc_geometry *><const char *>geometry
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.ranks = <const int64_t *>cnp.PyArray_DATA(ranks)
    w.grid = <uint32_t *>cnp.PyArray_DATA(grid)
    assert cnp.PyArray_NBYTES(ranks) >= w.g.rows * w.g.blocks * 8
    assert cnp.PyArray_NBYTES(grid) >= w.g.rows * w.g.blocks * 4
    with nogil:
        share(kth_of_blocks, &w, first, last, step, threads)
