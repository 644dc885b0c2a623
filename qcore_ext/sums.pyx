"""Sums of magnitudes in the fixed order: one task is a chunk of a block.

Assumed: outputs are C-contiguous and as large as the geometry says. Calls over disjoint tasks may run at the
same time.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

from qcore_ext.pool cimport share
from qcore_ext.strips cimport (
    QC_CHUNK, qc_chunk, qc_find_chunk, qc_gather_chunk, qc_geometry, qc_keep_finite, qc_sum_magnitudes,
)


cdef struct summing:
    const qc_geometry *g
    const char *x
    double *totals
    int64_t *counts
    int64_t chunks


cdef void sum_chunks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const summing *w = <const summing *>work
    cdef float buffer[QC_CHUNK]
    cdef float kept[QC_CHUNK]
    cdef const float *got
    cdef int64_t task
    cdef qc_chunk chunk
    for task in range(first, last):
        qc_find_chunk(w.g, task // w.chunks, task % w.chunks * QC_CHUNK, &chunk)
        got = qc_gather_chunk(w.g, &chunk, w.x, buffer)
        w.counts[task] = qc_keep_finite(got, chunk.n, kept)
        w.totals[task] = qc_sum_magnitudes(kept, chunk.n)


def magnitudes(
    cnp.ndarray x, cnp.ndarray totals, cnp.ndarray counts, int64_t chunks, bytes geometry, int64_t first,
    int64_t last, int64_t step=0, int threads=1,
):
    """Sum of finite |x| and their count for chunks first..last-1; a block has ``chunks`` of them.

    float64 and int64, one per block and chunk. A chunk that a short block lacks sums to 0.
    """
    cdef summing w
    w.g = <const qc_geometry *><const char *>geometry
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.totals = <double *>cnp.PyArray_DATA(totals)
    w.counts = <int64_t *>cnp.PyArray_DATA(counts)
    w.chunks = chunks
    assert cnp.PyArray_NBYTES(totals) >= w.g.rows * w.g.blocks * chunks * 8
    assert cnp.PyArray_NBYTES(counts) >= w.g.rows * w.g.blocks * chunks * 8
    with nogil:
        share(sum_chunks, &w, first, last, step, threads)
