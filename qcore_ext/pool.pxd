"""Sharing out a kernel's tasks between threads; one pool for the kernels of every level."""

from libc.stdint cimport int64_t

ctypedef void (*qc_body)(void *work, int64_t first, int64_t last) noexcept nogil

cdef void share(
    qc_body body, void *work, int64_t first, int64_t last, int64_t step, int threads,
) noexcept nogil


cdef extern from "qc_atomics.h" nogil:
    void qc_add(int64_t *to, int64_t amount)
    void qc_lower(int64_t *place, int64_t value)
    void qc_enter(int *door)
    void qc_leave(int *door)
