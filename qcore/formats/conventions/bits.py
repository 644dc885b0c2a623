"""Moving codes between the layouts of checkpoints: words, nibbles, bit streams, tiles; and scales along rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from qcore.formats.subbyte import unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qcore.formats.protocol import Entry

__all__ = [
    "FLOAT_SCALES",
    "MASKS",
    "Scales",
    "along_blocks",
    "along_rows",
    "deswizzle",
    "extent_of",
    "from_offset",
    "largest_divisor",
    "stream",
    "swizzled_count",
]

# flips the top bit of each field: offset binary to two's complement and back
MASKS: Mapping[int, int] = MappingProxyType({2: 0xAAAA_AAAA, 4: 0x8888_8888, 8: 0x8080_8080})
FLOAT_SCALES: Mapping[str, str] = MappingProxyType({"float32": "f32", "float16": "f16", "bfloat16": "bf16"})
_MOST = 255
_TILE_ROWS, _TILE_COLS, _TILE = 128, 4, 512


@lru_cache(maxsize=1024)
def largest_divisor(count: int) -> int:
    """The largest extent a block can have that divides a run of elements.

    Examples
    --------
    >>> largest_divisor(4096), largest_divisor(11008), largest_divisor(0)
    (128, 172, 1)
    """
    run = max(count, 1)
    return next(extent for extent in range(min(run, _MOST), 0, -1) if run % extent == 0)


def extent_of(group: int) -> tuple[int, int]:
    """The block that a group is cut into, and how often its scale is repeated."""
    extent = largest_divisor(group)
    return extent, max(group, 1) // extent


@dataclass(frozen=True, slots=True)
class Scales:
    """How stored scales become a scheme's: its levels as text, the move, and whether bits alone move."""

    levels: str
    lay: Callable[[np.ndarray], np.ndarray]
    fidelity: str = "exact"
    tied: bool = False


def along_rows(entry: Entry, shape: tuple[int, ...]) -> Scales | None:
    """Scales per tensor, per row, or per group of a row; None if the shape is none of these."""
    word = FLOAT_SCALES.get(entry.dtype)
    if word is None or not shape:
        return None
    count = 1
    for dim in entry.shape:
        count *= dim
    if count == 1:
        return Scales(f"t:{word}", lambda scales: scales.reshape(1))
    found = entry.shape if len(entry.shape) == len(shape) else (*entry.shape, 1)
    row = shape[-1]
    if found[:-1] != shape[:-1] or found[-1] == 0 or row % found[-1]:
        return None
    group = row // found[-1]
    extent, times = extent_of(group)

    def lay(scales: np.ndarray) -> np.ndarray:
        return np.repeat(scales.reshape(found), times, axis=-1)

    fidelity = "exact" if times == 1 else "lossless"
    return Scales(f"b{extent}:{word}", lay, fidelity, tied=found[-1] == 1)


def along_blocks(entry: Entry, shape: tuple[int, ...], block: tuple[int, int], word: str) -> Scales | None:
    """Scales of rectangles over the last two axes, the ones at the edges partial."""
    if len(shape) < 2 or not all(1 <= extent <= _MOST for extent in block):
        return None
    grid = (*shape[:-2], -(-shape[-2] // block[0]), -(-shape[-1] // block[1]))
    if entry.shape != grid:
        return None
    return Scales(f"b{block[0]}x{block[1]}:{word}", lambda scales: scales)


def from_offset(words: np.ndarray, bits: int, row: int) -> np.ndarray | None:
    """Words of offset binary as words of two's complement; None where rows do not fill their words."""
    if bits not in MASKS or row % (32 // bits):
        return None
    found: np.ndarray = words.view(np.uint32) ^ np.uint32(MASKS[bits])
    return found


def stream(words: np.ndarray, bits: int, row: int) -> np.ndarray:
    """Unsigned codes of rows that are bit streams in little-endian words, the first element lowest.

    Examples
    --------
    >>> stream(np.array([[0x76543210, 0x98]], np.uint32), 4, 9).tolist()
    [[0, 1, 2, 3, 4, 5, 6, 7, 8]]
    """
    rows = np.ascontiguousarray(words)
    data = rows.view(np.uint8).reshape(*rows.shape[:-1], -1)
    if bits == 8:
        return np.ascontiguousarray(data[..., :row])
    if bits == 4:
        pairs = np.stack((data & 15, data >> 4), axis=-1).reshape(*data.shape[:-1], -1)
        return np.ascontiguousarray(pairs[..., :row])
    lines = data.reshape(-1, data.shape[-1])
    codes = np.empty((len(lines), row), np.uint8)
    for at, line in enumerate(lines):  # one by one: a bit takes a byte on the way
        codes[at] = unpack(line, bits, (row,))
    return codes.reshape(*data.shape[:-1], row)


def deswizzle(scales: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """Scales in tiles of 128 rows and 4 columns, as tensor cores want them, put back into a grid.

    A tile is 512 bytes: byte ``(r % 32) * 16 + (r % 128) // 32 * 4 + c % 4``; tiles go along the rows first.

    Examples
    --------
    >>> tile = np.arange(512, dtype=np.uint16)
    >>> deswizzle(tile, 34, 2).tolist()[:2], deswizzle(tile, 34, 2).tolist()[32]
    ([[0, 1], [16, 17]], [4, 5])
    """
    down, across = -(-rows // _TILE_ROWS), -(-cols // _TILE_COLS)
    tiles = scales.reshape(down, across, 32, 4, 4)  # tile row, tile column, r % 32, r // 32, c
    grid = tiles.transpose(0, 3, 2, 1, 4).reshape(down * _TILE_ROWS, across * _TILE_COLS)
    return np.ascontiguousarray(grid[:rows, :cols])


def swizzled_count(rows: int, cols: int) -> int:
    """Bytes of a grid of scales in tiles.

    Examples
    --------
    >>> swizzled_count(129, 5)
    2048
    """
    return -(-rows // _TILE_ROWS) * -(-cols // _TILE_COLS) * _TILE
