"""A tensor of floats and its stored form, one beside the other, as kernels take them."""

cimport numpy as cnp

from qcore_ext.strips cimport qc_codec, qc_geometry, qc_scale, qc_sides


cdef inline qc_sides sides_of(
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
