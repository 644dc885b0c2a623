"""A tensor beside its quantized form: sums per block, and the largest distances.

One task is a chunk of a block, the unit of a fixed-order sum. Assumed: values and scales are C-contiguous, and
the geometry describes ``x``. A pair with a non-finite side adds 0 and is not counted.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

from qcore_ext.pool cimport share
from qcore_ext.sides cimport sides_of
from qcore_ext.strips cimport qc_sides

cdef enum:
    MOST_THREADS = 64

PLACES = MOST_THREADS


cdef extern from "qc_compare.h" nogil:
    ctypedef struct qc_ends_of_range:
        pass

    ctypedef struct qc_top:
        int32_t *kept
        int64_t count, room, wanted
        int32_t least
        int busy

    ctypedef struct qc_comparing:
        qc_sides f
        qc_ends_of_range ends
        double *totals
        int64_t *counts
        int64_t chunks
        qc_top *tops
        int64_t clipped, index
        int32_t most
        int door

    qc_ends_of_range qc_clipping_ends(const void *k)
    void qc_compare_chunks(void *work, int64_t first, int64_t last)


def errors(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray totals,
    cnp.ndarray counts, cnp.ndarray largest, int64_t chunks, bytes geometry, bytes codec, bytes scale,
    int64_t first, int64_t last, int64_t step=0, int threads=1,
):
    """Chunks first..last-1; a block has ``chunks`` of them.

    Into ``totals`` (float64, 4 a chunk) sums of (x-y)^2, x^2, y^2, x*y, into ``counts`` (int64) the finite
    pairs, into ``largest`` (int32, one row a thread) the largest |x-y| that each thread met, half a row of them or
    more, as float32 bits; -1 stands for none. Returns how many elements are clipped, the largest |x-y| as such bits
    (-1: none), and the first flat C index where it stands.
    """
    cdef qc_comparing w
    cdef qc_top tops[MOST_THREADS]
    cdef int32_t *kept = <int32_t *>cnp.PyArray_DATA(largest)
    cdef int64_t slots = min(cnp.PyArray_DIM(largest, 0), MOST_THREADS), room = cnp.PyArray_DIM(largest, 1), i
    w.f = sides_of(x, values, scales, whole, geometry, codec, scale)
    w.ends = qc_clipping_ends(w.f.k)
    w.totals = <double *>cnp.PyArray_DATA(totals)
    w.counts = <int64_t *>cnp.PyArray_DATA(counts)
    w.chunks = chunks
    w.tops = tops
    w.clipped, w.index, w.most, w.door = 0, -1, -1, 0
    for i in range(slots):
        tops[i].kept = kept + i * room
        tops[i].count, tops[i].room, tops[i].wanted, tops[i].least, tops[i].busy = 0, room, room // 2, -1, 0
    assert slots > 0 and room != 1
    assert cnp.PyArray_NBYTES(totals) >= last * 32 and cnp.PyArray_NBYTES(counts) >= last * 8
    with nogil:
        share(qc_compare_chunks, &w, first, last, step, min(threads, <int>slots))
    for i in range(slots):
        largest[i, tops[i].count:] = -1
    return w.clipped, w.most, w.index
