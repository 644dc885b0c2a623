"""Squared errors of the 32 candidate scales of every block.

One task is a chunk of a block, the unit of a fixed-order sum. Candidate j is (64 - j) / 64 of the scale that
the block's peak needs.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t

from qcore_ext.pool cimport share
from qcore_ext.strips cimport (
    QC_CHUNK, qc_chunk, qc_codec, qc_codes, qc_divide, qc_drop_nonfinite, qc_effective, qc_find_chunk,
    qc_gather_chunk, qc_geometry, qc_keep_finite, qc_multiply, qc_scale, qc_solve, qc_store_scales,
    qc_sum_errors, qc_values,
)

cdef enum:
    CANDIDATES = 32
    STEPS = 64


cdef void chunk_errors(
    const qc_codec *k, const qc_scale *s, const float *x, int64_t n, const float *peak, float whole,
    double *errors,
) noexcept nogil:
    """Sum of (x - decoded)^2 over the finite x of one chunk, for every candidate."""
    cdef float kept[QC_CHUNK]
    cdef float t[QC_CHUNK]
    cdef float y[QC_CHUNK]
    cdef uint8_t codes[QC_CHUNK]
    cdef char stored[4]
    cdef float scale, effective
    cdef int64_t j
    cdef bint whole_chunk = qc_keep_finite(x, n, kept) == n
    for j in range(CANDIDATES):
        qc_solve(s, peak, 1, <float>(STEPS - j) / <float>STEPS, whole, &scale)
        qc_store_scales(s, &scale, 1, stored)
        qc_effective(s, stored, 1, whole, &effective)
        qc_divide(kept, n, n, 0, &effective, t)
        qc_codes(k, t, n, codes)
        qc_values(k, codes, n, t)
        qc_multiply(t, n, n, 0, &effective, y)
        if not whole_chunk:
            qc_drop_nonfinite(x, n, y)
        errors[j] = qc_sum_errors(kept, y, n)


cdef struct searching:
    const qc_geometry *g
    const qc_codec *k
    const qc_scale *s
    const char *x
    const float *peaks
    float whole
    double *errors
    uint8_t *winners
    int64_t chunks


cdef void search_chunks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const searching *w = <const searching *>work
    cdef const qc_geometry *g = w.g
    cdef float buffer[QC_CHUNK]
    cdef double local[CANDIDATES]
    cdef const float *got
    cdef int64_t task, block, j, best
    cdef qc_chunk chunk
    for task in range(first, last):
        block = task // w.chunks
        qc_find_chunk(g, block, task % w.chunks * QC_CHUNK, &chunk)
        got = qc_gather_chunk(g, &chunk, w.x, buffer)
        chunk_errors(w.k, w.s, got, chunk.n, w.peaks + block, w.whole,
                     &local[0] if w.chunks == 1 else w.errors + task * CANDIDATES)
        if w.chunks == 1:
            best = 0
            for j in range(1, CANDIDATES):
                best = j if local[j] < local[best] else best
            w.winners[block] = <uint8_t>best


def search(
    cnp.ndarray x, cnp.ndarray peaks, float whole, cnp.ndarray errors, cnp.ndarray winners, int64_t chunks,
    bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last, int64_t step=0, int threads=1,
):
    """Chunks first..last-1; a block has ``chunks`` of them.

    With one chunk per block the candidate of least error, the first of equals, goes to ``winners`` (uint8),
    else the 32 sums of every chunk go to ``errors`` (float64), to be added up.
    """
    cdef searching w
    w.g = <const qc_geometry *><const char *>geometry
    w.k = <const qc_codec *><const char *>codec
    w.s = <const qc_scale *><const char *>scale
    w.x = <const char *>cnp.PyArray_DATA(x)
    w.peaks = <const float *>cnp.PyArray_DATA(peaks)
    w.whole = whole
    w.errors = <double *>cnp.PyArray_DATA(errors)
    w.winners = <uint8_t *>cnp.PyArray_DATA(winners)
    w.chunks = chunks
    blocks = w.g.rows * w.g.blocks
    assert cnp.PyArray_NBYTES(peaks) >= blocks * 4
    assert cnp.PyArray_NBYTES(winners) >= (blocks if chunks == 1 else 0)
    assert cnp.PyArray_NBYTES(errors) >= (0 if chunks == 1 else blocks * chunks * CANDIDATES * 8)
    with nogil:
        share(search_chunks, &w, first, last, step, threads)
