"""How often each sixteen bits of a magnitude occur: of one large block, or of the distances of a comparison.

Magnitudes are compared as bits; those of finite floats lie in order below infinity. The tasks are parts of the chunks,
each with a table of its own, so that threads do not meet.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint32_t

from qcore_ext.pool cimport share
from qcore_ext.sides cimport sides_of
from qcore_ext.strips cimport (
    QC_CHUNK, QC_INFINITY, QC_MAGNITUDE, qc_bits, qc_chunk, qc_find_chunk, qc_gather_chunk, qc_geometry, qc_pairs,
    qc_read_pairs, qc_sides,
)

cdef enum:
    BINS = 65536


cdef struct counting:
    qc_sides f
    int64_t *bins
    int64_t block
    int64_t shift
    int64_t prefix
    int64_t chunks
    int64_t tasks
    int64_t parts


cdef void count_magnitudes(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const counting *w = <const counting *>work
    cdef const qc_geometry *g = w.f.g
    cdef float buffer[QC_CHUNK]
    cdef const float *got
    cdef int64_t *bins
    cdef int64_t part, task, i
    cdef uint32_t a
    cdef qc_chunk chunk
    for part in range(first, last):
        bins = w.bins + part * BINS
        for task in range(part * w.tasks // w.parts, (part + 1) * w.tasks // w.parts):
            qc_find_chunk(g, w.block, task * QC_CHUNK, &chunk)
            got = qc_gather_chunk(g, &chunk, w.f.x, buffer)
            for i in range(chunk.n):
                a = qc_bits(got[i]) & QC_MAGNITUDE
                if a < QC_INFINITY and (<int64_t>a >> (w.shift + 16)) == w.prefix:
                    bins[(a >> w.shift) & 65535] += 1


def magnitudes(
    cnp.ndarray x, cnp.ndarray bins, int64_t block, int64_t shift, int64_t prefix, int64_t chunks,
    bytes geometry, int64_t first, int64_t last, int64_t step=0, int threads=1,
):
    """Count finite magnitudes of a block of ``chunks`` whose bits above ``shift + 16`` are ``prefix``.

    By the sixteen bits from ``shift`` on, into 65536 int64 for every part that the caller set to 0.
    """
    cdef counting w
    w.f.g = <const qc_geometry *><const char *>geometry
    w.f.x = <const char *>cnp.PyArray_DATA(x)
    w.bins = <int64_t *>cnp.PyArray_DATA(bins)
    w.block, w.shift, w.prefix, w.tasks = block, shift, prefix, chunks
    w.parts = cnp.PyArray_NBYTES(bins) // (BINS * 8)
    assert last <= w.parts
    with nogil:
        share(count_magnitudes, &w, first, last, step, threads)


cdef void count_distances(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef counting *w = <counting *>work
    cdef int64_t *bins
    cdef int64_t part, task, i, bits
    cdef qc_pairs p
    for part in range(first, last):
        bins = w.bins + part * BINS
        for task in range(part * w.tasks // w.parts, (part + 1) * w.tasks // w.parts):
            qc_read_pairs(&w.f, task // w.chunks, task % w.chunks * QC_CHUNK, &p)
            for i in range(p.c.n):
                bits = p.distances[i]
                if bits >= 0 and (bits >> (w.shift + 16)) == w.prefix:
                    bins[(bits >> w.shift) & 65535] += 1


def distances(
    cnp.ndarray x, cnp.ndarray values, cnp.ndarray scales, float whole, cnp.ndarray bins, int64_t shift,
    int64_t prefix, int64_t chunks, bytes geometry, bytes codec, bytes scale, int64_t first, int64_t last,
    int64_t step=0, int threads=1,
):
    """Count the distances |x - y| whose bits above ``shift + 16`` are ``prefix``, as ``magnitudes`` does."""
    cdef counting w
    w.f = sides_of(x, values, scales, whole, geometry, codec, scale)
    w.bins = <int64_t *>cnp.PyArray_DATA(bins)
    w.chunks, w.shift, w.prefix = chunks, shift, prefix
    w.tasks = w.f.g.rows * w.f.g.blocks * chunks
    w.parts = cnp.PyArray_NBYTES(bins) // (BINS * 8)
    assert last <= w.parts
    with nogil:
        share(count_distances, &w, first, last, step, threads)
