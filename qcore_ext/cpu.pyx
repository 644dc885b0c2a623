"""What this processor offers, asked once at import."""


cdef extern from "qc_cpu.h" nogil:
    int qc_cpu_level()


def level():
    """The x86-64 level: 2, 3 or 4; 1 where it is below all of them, 0 on other machines."""
    return qc_cpu_level()
