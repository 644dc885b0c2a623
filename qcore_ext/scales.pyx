"""Peaks to stored scales, for a grid already measured."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from qcore_ext.pool cimport share
from qcore_ext.strips cimport QC_STRIP, qc_scale, qc_solve, qc_store_scales


cdef struct solving:
    const qc_scale *s
    const float *peaks
    float whole
    char *stored


cdef void solve_peaks(void *work, int64_t first, int64_t last) noexcept nogil:
    cdef const solving *w = <const solving *>work
    cdef float scales[QC_STRIP]
    cdef int64_t at = first, n
    while at < last:
        n = min(QC_STRIP, last - at)
        qc_solve(w.s, w.peaks + at, n, 1.0, w.whole, scales)
        qc_store_scales(w.s, scales, n, w.stored + at * w.s.nbytes)
        at += n


def solve(
    cnp.ndarray peaks, float whole, cnp.ndarray stored, bytes scale, int64_t first, int64_t last,
    int64_t step=0, int threads=1,
):
    """Stored scales of peaks first..last-1 (float32, not negative); ``whole`` is the global scale, or 1."""
    cdef solving w
    w.s = <const qc_scale *><const char *>scale
    w.peaks = <const float *>cnp.PyArray_DATA(peaks)
    w.whole = whole
    w.stored = <char *>cnp.PyArray_DATA(stored)
    assert cnp.PyArray_NBYTES(peaks) >= last * 4 and cnp.PyArray_NBYTES(stored) >= last * w.s.nbytes
    with nogil:
        share(solve_peaks, &w, first, last, step, threads)
