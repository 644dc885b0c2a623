"""A tensor beside its quantized form: sums per block, the largest distance, and the ranks of all distances.

One task is a chunk of a block, the unit of a fixed-order sum. Assumed: values and scales are C-contiguous; the geometry
describes ``x``. A pair with a non-finite side adds 0 and is not counted.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t

from qcore_ext.strips cimport (
    QC_CHUNK, qc_box, qc_codec, qc_count_clipped, qc_distances, qc_divide, qc_effective, qc_find_box, qc_gather,
    qc_gather_fields, qc_geometry, qc_keep_pairs, qc_largest, qc_line_of_box, qc_multiply, qc_scale, qc_sum_errors,
    qc_sum_products, qc_values,
)

ctypedef struct Source:
    const qc_geometry *g
    const qc_codec *k
    const qc_scale *s
    const char *x
    const char *values
    const char *scales
    float whole


ctypedef struct Chunk:
    int64_t n, width, column, at, count, clipped
    float a[QC_CHUNK]
    float b[QC_CHUNK]
    int32_t distances[QC_CHUNK]


cdef Source source_of(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, bytes geometry, bytes codec, bytes scale,
):
    cdef Source source
    source.g = <const qc_geometry *><const char *>geometry
    source.k = <const qc_codec *><const char *>codec
    source.s = <const qc_scale *><const char *>scale
    source.x = <const char *>cnp.PyArray_DATA(x)
    source.values = <const char *>cnp.PyArray_DATA(values)
    source.scales = <const char *>cnp.PyArray_DATA(scales)
    source.whole = whole
    assert cnp.PyArray_NBYTES(values) >= source.g.words * source.g.word_row
    assert cnp.PyArray_NBYTES(scales) >= source.g.rows * source.g.blocks * source.s.nbytes
    return source


cdef void read_chunk(const Source *f, int64_t block, int64_t at, qc_box *box, Chunk *c) noexcept nogil:
    """Finite pairs (a, b) of one chunk, zeros for the others; their distances; how many are clipped."""
    cdef float buffer[QC_CHUNK]
    cdef float t[QC_CHUNK]
    cdef float y[QC_CHUNK]
    cdef uint8_t fields[QC_CHUNK]
    cdef float effective
    cdef const float *got
    qc_find_box(f.g, block // f.g.blocks, box)
    c.at = at
    c.column = block % f.g.blocks * f.g.block
    c.width = min(f.g.block, f.g.cols - c.column)
    c.n = max(0, min(QC_CHUNK, box.lines * c.width - at))
    qc_effective(f.s, f.scales + block * f.s.nbytes, 1, f.whole, &effective)
    got = qc_gather(f.g, box, f.x, c.column, c.width, at, c.n, buffer)
    qc_gather_fields(f.g, box, f.values, c.column, c.width, at, c.n, fields)
    qc_values(f.k, fields, c.n, t)
    qc_multiply(t, c.n, QC_CHUNK, 0, &effective, y)
    c.count = qc_keep_pairs(got, y, c.n, c.a, c.b)
    qc_distances(got, y, c.n, c.distances)
    c.clipped = 0
    if effective != 0.0:
        qc_divide(got, c.n, QC_CHUNK, 0, &effective, t)
        c.clipped = qc_count_clipped(f.k, t, got, y, c.n)


def errors(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray totals, cnp.ndarray counts,
    int64_t chunks, bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last,
):
    """Chunks first..last-1; a block has ``chunks`` of them.

    Into ``totals`` (float64, 4 per chunk) sums of (x-y)^2, x^2, y^2, x*y, into ``counts`` (int64) the finite pairs. Returns
    how many elements are clipped, the largest |x-y| as float32 bits and the first flat C index where it stands.
    """
    cdef Source source = source_of(x, values, scales, whole, geometry, codec, scale)
    cdef double *to = <double *>cnp.PyArray_DATA(totals)
    cdef int64_t *count = <int64_t *>cnp.PyArray_DATA(counts)
    cdef int64_t task, i, clipped = 0, index = -1
    cdef int32_t most = -1, largest
    cdef qc_box box
    cdef Chunk c
    assert cnp.PyArray_NBYTES(totals) >= last * 32 and cnp.PyArray_NBYTES(counts) >= last * 8
    with nogil:
        for task in range(first, last):
            read_chunk(&source, task // chunks, task % chunks * QC_CHUNK, &box, &c)
            to[4 * task] = qc_sum_errors(c.a, c.b, c.n)
            to[4 * task + 1] = qc_sum_products(c.a, c.a, c.n)
            to[4 * task + 2] = qc_sum_products(c.b, c.b, c.n)
            to[4 * task + 3] = qc_sum_products(c.a, c.b, c.n)
            count[task] = c.count
            clipped += c.clipped
            largest = qc_largest(c.distances, c.n)
            if largest < 0 or largest < most:
                continue
            i = c.at
            while c.distances[i - c.at] != largest:
                i += 1
            i = qc_line_of_box(source.g, &box, i // c.width).line * source.g.cols + c.column + i % c.width
            index = i if largest > most or i < index else index
            most = largest
    return clipped, most, index


def histogram(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray bins, int64_t shift, int64_t prefix,
    int64_t chunks, bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last,
):
    """Count the distances of chunks first..last-1 whose bits above ``shift + 16`` are ``prefix``.

    By the sixteen bits from ``shift`` on, into 65536 int64 that the caller set to 0.
    """
    cdef Source source = source_of(x, values, scales, whole, geometry, codec, scale)
    cdef int64_t *to = <int64_t *>cnp.PyArray_DATA(bins)
    cdef int64_t task, i, bits
    cdef qc_box box
    cdef Chunk c
    assert cnp.PyArray_NBYTES(bins) >= 65536 * 8
    with nogil:
        for task in range(first, last):
            read_chunk(&source, task // chunks, task % chunks * QC_CHUNK, &box, &c)
            for i in range(c.n):
                bits = c.distances[i]
                if bits >= 0 and (bits >> (shift + 16)) == prefix:
                    to[(bits >> shift) & 65535] += 1
