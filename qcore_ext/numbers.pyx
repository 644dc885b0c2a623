"""Numbers into the C structs that kernels read: packed once, handed around as bytes.

Tables come as the bytes of float32 arrays. Nothing is checked here but room.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from qcore_ext.strips cimport (
    QC_AXES, QC_BYTE, QC_CHUNK, QC_ROOM, QC_STRIP, qc_codec, qc_float, qc_geometry, qc_scale,
)

AXES = QC_AXES
ROOM = QC_ROOM
STRIP = QC_STRIP
CHUNK = QC_CHUNK
BYTE = QC_BYTE


def pack_codec(
    int kind, int bits, int lo, int hi, bint half_even, int mbits, int emin, float top, int zero_code,
    double under, double over, bytes table, bytes bounds, bytes order,
):
    """One element type. ``table`` has a value per field; lookup also has ``bounds``, ``order``, its ends."""
    cdef qc_codec k
    cdef const unsigned char *steps = order
    cdef Py_ssize_t i
    assert <size_t>len(table) <= sizeof(k.table) and <size_t>len(bounds) < sizeof(k.bounds)
    assert len(order) <= 256
    memset(&k, 0, sizeof(k))
    k.kind, k.bits, k.lo, k.hi, k.half_even = kind, bits, lo, hi, half_even
    k.mbits, k.emin, k.top, k.zero_code = mbits, emin, top, zero_code
    k.under, k.over = under, over
    memcpy(k.table, <const char *>table, len(table))
    memcpy(k.bounds, <const char *>bounds, len(bounds))
    for i in range(len(order)):
        if i == 0:
            k.first = steps[0]
        else:
            k.delta[i - 1] = <int>steps[i] - <int>steps[i - 1]
        if i < 16:
            k.order[i] = qc_float(steps[i])
    return (<char *>&k)[:sizeof(k)]


def pack_scale(
    int kind, int nbytes, int mbits, int emin, int rule, int elem_emax, int elem_mbits, float top,
    float smallest, float half_range, float zero_substitute, bytes table,
):
    """One scale dtype and its rounding rule. ``table`` has the value of every byte, or is empty."""
    cdef qc_scale s
    assert <size_t>len(table) <= sizeof(s.table)
    memset(&s, 0, sizeof(s))
    s.kind, s.nbytes, s.mbits, s.emin, s.rule = kind, nbytes, mbits, emin, rule
    s.elem_emax, s.elem_mbits, s.top, s.smallest = elem_emax, elem_mbits, top, smallest
    s.half_range, s.zero_substitute = half_range, zero_substitute
    memcpy(s.table, <const char *>table, len(table))
    return (<char *>&s)[:sizeof(s)]


def pack_geometry(
    tuple dims, tuple strides, tuple extents, int64_t cols, int64_t step, int64_t dtype, int64_t block,
    int64_t bits, int64_t per_word, int64_t word_bytes, int64_t lane_axis, int64_t piece, int64_t tile,
    int64_t strip,
):
    """Lines of ``cols`` elements under outer axes ``dims``, their blocks and words (see qc_geometry)."""
    cdef qc_geometry g
    cdef Py_ssize_t i
    assert len(dims) <= QC_AXES and 0 < block <= cols and strip <= QC_ROOM
    memset(&g, 0, sizeof(g))
    g.axes, g.cols, g.step, g.dtype, g.block = len(dims), cols, step, dtype, block
    g.blocks = (cols + block - 1) // block
    g.bits, g.per_word, g.word_bytes, g.lane_axis = bits, per_word, word_bytes, lane_axis
    g.rows = g.lines = g.words = 1
    for i in range(len(dims)):
        g.dim[i], g.stride[i], g.extent[i] = dims[i], strides[i], extents[i]
        g.grid[i] = (g.dim[i] + g.extent[i] - 1) // g.extent[i]
        g.rows *= g.grid[i]
        g.lines *= g.dim[i]
        g.words *= (g.dim[i] + per_word - 1) // per_word if i == lane_axis else g.dim[i]
    g.word_row = (cols if lane_axis >= 0 else (cols + per_word - 1) // per_word) * word_bytes
    g.piece, g.pieces = piece, (cols + piece - 1) // piece
    g.tile, g.tiles = tile, (cols + tile - 1) // tile
    g.strip = strip
    return (<char *>&g)[:sizeof(g)]


def sizes(bytes geometry):
    """Tasks that rows of words give, and tasks that rows of blocks give; blocks; bytes of values."""
    cdef const qc_geometry *g = <const qc_geometry *><const char *>geometry
    return g.words * g.pieces, g.rows * g.tiles, g.rows * g.blocks, g.words * g.word_row
