from typing import Final

AXES: Final[int]
ROOM: Final[int]
STRIP: Final[int]
CHUNK: Final[int]
BYTE: Final[int]

def pack_codec(
    kind: int,
    bits: int,
    lo: int,
    hi: int,
    half_even: bool,
    mbits: int,
    emin: int,
    top: float,
    zero_code: int,
    under: float,
    over: float,
    table: bytes,
    bounds: bytes,
    order: bytes,
) -> bytes: ...
def pack_scale(
    kind: int,
    nbytes: int,
    mbits: int,
    emin: int,
    rule: int,
    elem_emax: int,
    elem_mbits: int,
    top: float,
    smallest: float,
    half_range: float,
    zero_substitute: float,
    table: bytes,
) -> bytes: ...
def pack_geometry(
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    extents: tuple[int, ...],
    cols: int,
    step: int,
    dtype: int,
    block: int,
    bits: int,
    per_word: int,
    word_bytes: int,
    lane_axis: int,
    piece: int,
    tile: int,
    strip: int,
) -> bytes: ...
def sizes(geometry: bytes) -> tuple[int, int, int, int]: ...
