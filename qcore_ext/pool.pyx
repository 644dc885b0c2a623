"""The threads that kernels run in: see include/qc_pool.h.

A kernel's entry point takes ``first, last, step, threads``: tasks first..last-1, drawn in steps by at most so many
threads; a step of 0 leaves them all to the caller.
"""

from libc.stdint cimport int64_t


cdef extern from "qc_pool.h" nogil:
    void qc_share(qc_body body, void *work, int64_t first, int64_t last, int64_t step, int threads)


cdef void share(
    qc_body body, void *work, int64_t first, int64_t last, int64_t step, int threads,
) noexcept nogil:
    qc_share(body, work, first, last, step, threads)
