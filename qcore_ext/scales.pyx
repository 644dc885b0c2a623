"""Peaks to stored scales, for a grid already measured."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from qcore_ext.strips cimport QC_STRIP, qc_scale, qc_solve, qc_store_scales


def solve(cnp.ndarray peaks, float whole, cnp.ndarray stored, bytes scale, int64_t first, int64_t last):
    """Stored scales of peaks first..last-1 (float32, not negative); ``whole`` is the global scale, or 1."""
    cdef const qc_scale *s = <const qc_scale *><const char *>scale
    cdef const float *source = <const float *>cnp.PyArray_DATA(peaks)
    cdef char *to = <char *>cnp.PyArray_DATA(stored)
    cdef float scales[QC_STRIP]
    cdef int64_t at = first, n
    assert cnp.PyArray_NBYTES(stored) >= last * s.nbytes
    with nogil:
        while at < last:
            n = min(QC_STRIP, last - at)
            qc_solve(s, source + at, n, 1.0, whole, scales)
            qc_store_scales(s, scales, n, to + at * s.nbytes)
            at += n
