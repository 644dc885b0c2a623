"""A tensor beside its quantized form: sums per block, and the largest distance.

One task is a chunk of a block, the unit of a fixed-order sum. Assumed: values and scales are C-contiguous,
and the geometry describes ``x``. A pair with a non-finite side adds 0 and is not counted.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

from qcore_ext.pool cimport qc_enter, qc_leave, share
from qcore_ext.sides cimport sides_of
from qcore_ext.strips cimport (
    QC_CHUNK, qc_largest, qc_pairs, qc_place_of, qc_read_pairs, qc_sides,
    qc_sum_errors, qc_sum_products,
)


cdef struct comparing:
    qc_sides f
    double *totals
    int64_t *counts
    int64_t chunks
    int64_t clipped
    int64_t index
    int32_t most
    int door


cdef void raise_most(comparing *w, int32_t most, int64_t index, int64_t clipped) noexcept nogil:
    """Put what one thread found beside what the others did."""
    qc_enter(&w.door)
    if most > w.most or (most == w.most and index < w.index):
        w.most, w.index = most, index
    w.clipped += clipped
    qc_leave(&w.door)


cdef void compare_chunks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef comparing *w = <comparing *>work
    cdef double *to = w.totals
    cdef int64_t task, at, clipped = 0, index = -1
    cdef int32_t most = -1, largest
    cdef qc_pairs p
    for task in range(first, last):
        qc_read_pairs(&w.f, task // w.chunks, task % w.chunks * QC_CHUNK, &p)
        to[4 * task] = qc_sum_errors(p.a, p.b, p.n)
        to[4 * task + 1] = qc_sum_products(p.a, p.a, p.n)
        to[4 * task + 2] = qc_sum_products(p.b, p.b, p.n)
        to[4 * task + 3] = qc_sum_products(p.a, p.b, p.n)
        w.counts[task] = p.count
        clipped += p.clipped
        largest = qc_largest(p.distances, p.n)
        if largest < 0 or largest < most:
            continue
        at = qc_place_of(&w.f, &p, largest)
        index = at if largest > most or at < index else index
        most = largest
    raise_most(w, most, index, clipped)


def errors(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray totals,
    cnp.ndarray counts, int64_t chunks, bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last,
    int64_t step=0, int threads=1,
):
    """Chunks first..last-1; a block has ``chunks`` of them.

    Into ``totals`` (float64, 4 a chunk) sums of (x-y)^2, x^2, y^2, x*y, into ``counts`` (int64) the finite
    pairs. Returns how many elements are clipped, the largest |x-y| as float32 bits (-1: none), and the first
    flat C index where it stands.
    """
    cdef comparing w
    w.f = sides_of(x, values, scales, whole, geometry, codec, scale)
    w.totals = <double *>cnp.PyArray_DATA(totals)
    w.counts = <int64_t *>cnp.PyArray_DATA(counts)
    w.chunks = chunks
    w.clipped, w.index, w.most, w.door = 0, -1, -1, 0
    assert cnp.PyArray_NBYTES(totals) >= last * 32 and cnp.PyArray_NBYTES(counts) >= last * 8
    with nogil:
        share(compare_chunks, &w, first, last, step, threads)
    return w.clipped, w.most, w.index
