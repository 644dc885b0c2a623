"""A tensor beside its quantized form: sums per block, the largest distance, and the ranks of all distances.

One task is a chunk of a block, the unit of a fixed-order sum. Assumed: values and scales are C-contiguous,
and the geometry describes ``x``. A pair with a non-finite side adds 0 and is not counted.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

from qcore_ext.strips cimport (
    QC_CHUNK, qc_codec, qc_geometry, qc_largest, qc_pairs, qc_place_of, qc_read_pairs, qc_scale, qc_sides,
    qc_sum_errors, qc_sum_products,
)


cdef qc_sides sides_of(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, bytes geometry, bytes codec,
    bytes scale,
):
    cdef qc_sides f
    f.g = <const qc_geometry *><const char *>geometry
    f.k = <const qc_codec *><const char *>codec
    f.s = <const qc_scale *><const char *>scale
    f.x = <const char *>cnp.PyArray_DATA(x)
    f.values = <const char *>cnp.PyArray_DATA(values)
    f.scales = <const char *>cnp.PyArray_DATA(scales)
    f.whole = whole
    assert cnp.PyArray_NBYTES(values) >= f.g.words * f.g.word_row
    assert cnp.PyArray_NBYTES(scales) >= f.g.rows * f.g.blocks * f.s.nbytes
    return f


def errors(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray totals,
    cnp.ndarray counts, int64_t chunks, bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last,
):
    """Chunks first..last-1; a block has ``chunks`` of them.

    Into ``totals`` (float64, 4 a chunk) sums of (x-y)^2, x^2, y^2, x*y, into ``counts`` (int64) the finite
    pairs. Returns how many elements are clipped, the largest |x-y| as float32 bits (-1: none), and the first
    flat C index where it stands.
    """
    cdef qc_sides f = sides_of(x, values, scales, whole, geometry, codec, scale)
    cdef double *to = <double *>cnp.PyArray_DATA(totals)
    cdef int64_t *count = <int64_t *>cnp.PyArray_DATA(counts)
    cdef int64_t task, at, clipped = 0, index = -1
    cdef int32_t most = -1, largest
    cdef qc_pairs p
    assert cnp.PyArray_NBYTES(totals) >= last * 32 and cnp.PyArray_NBYTES(counts) >= last * 8
    with nogil:
        for task in range(first, last):
            qc_read_pairs(&f, task // chunks, task % chunks * QC_CHUNK, &p)
            to[4 * task] = qc_sum_errors(p.a, p.b, p.n)
            to[4 * task + 1] = qc_sum_products(p.a, p.a, p.n)
            to[4 * task + 2] = qc_sum_products(p.b, p.b, p.n)
            to[4 * task + 3] = qc_sum_products(p.a, p.b, p.n)
            count[task] = p.count
            clipped += p.clipped
            largest = qc_largest(p.distances, p.n)
            if largest < 0 or largest < most:
                continue
            at = qc_place_of(&f, &p, largest)
            index = at if largest > most or at < index else index
            most = largest
    return clipped, most, index


def histogram(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray bins, int64_t shift,
    int64_t prefix, int64_t chunks, bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last,
):
    """Count the distances of chunks first..last-1 whose bits above ``shift + 16`` are ``prefix``.

    By the sixteen bits from ``shift`` on, into 65536 int64 that the caller set to 0.
    """
    cdef qc_sides f = sides_of(x, values, scales, whole, geometry, codec, scale)
    cdef int64_t *to = <int64_t *>cnp.PyArray_DATA(bins)
    cdef int64_t task, i, bits
    cdef qc_pairs p
    assert cnp.PyArray_NBYTES(bins) >= 65536 * 8
    with nogil:
        for task in range(first, last):
            qc_read_pairs(&f, task // chunks, task % chunks * QC_CHUNK, &p)
            for i in range(p.n):
                bits = p.distances[i]
                if bits >= 0 and (bits >> (shift + 16)) == prefix:
                    to[(bits >> shift) & 65535] += 1
