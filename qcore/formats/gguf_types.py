"""Tensor types of GGUF: one row each, with the size of its blocks and what qcore makes of them.

A row with a ``scheme`` is read as a quantized tensor, only its bits move. One with ``minima`` or ``vectors`` is
foreign: Burn's schemes have no minimum and no codebook of vectors, so it is looked at and dequantized.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcore.scheme import QuantScheme

__all__ = ["BY_DTYPE", "BY_ID", "BY_NAME", "NEVER_STORED", "BlockType", "scheme_of"]

NVFP4_TWO_LEVELS = "e2m1/packed/b16:ue4m3/t:f32"


@dataclass(frozen=True, slots=True)
class BlockType:
    """One row: its number in files, elements and bytes of a block, and how it is read.

    ``words`` are the block's fields of several bytes, (offset, width, count): what a big-endian file has swapped;
    None where nobody wrote down how such a file stores them. ``file_type`` is llama.cpp's number of a file that is
    mostly this.
    """

    id: int
    name: str
    block: int
    nbytes: int
    words: tuple[tuple[int, int, int], ...] | None = ()
    dtype: str | None = None
    scheme: str | None = None
    fidelity: str = "exact"
    file_type: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether elements are numbers of a NumPy type."""
        return self.dtype is not None

    @property
    def is_foreign(self) -> bool:
        """Whether no scheme of ours means the same."""
        return self.dtype is None and self.scheme is None

    def nbytes_of(self, count: int) -> int:
        """Bytes of a number of elements that is a whole number of blocks."""
        return count // self.block * self.nbytes


def _plain(id: int, name: str, dtype: str, nbytes: int, file_type: int | None = None) -> BlockType:
    return BlockType(id, name, 1, nbytes, ((0, nbytes, 1),), dtype, file_type=file_type)


_D = ((0, 2, 1),)
_D_M = ((0, 2, 2),)
_LOOKUP = "q4f/u32/lookup:iq4-nl/"
_FOREIGN = "requantized"

_ROWS = (
    _plain(0, "F32", "float32", 4, 0),
    _plain(1, "F16", "float16", 2, 1),
    BlockType(2, "Q4_0", 32, 18, _D, scheme="q4f/u32/b32:f16", file_type=2),
    BlockType(3, "Q4_1", 32, 20, _D_M, fidelity=_FOREIGN, file_type=3),
    BlockType(6, "Q5_0", 32, 22, (*_D, (2, 4, 1)), None, "q8s/native/b32:f16", "lossless", 8),
    BlockType(7, "Q5_1", 32, 24, (*_D_M, (4, 4, 1)), fidelity=_FOREIGN, file_type=9),
    BlockType(8, "Q8_0", 32, 34, _D, scheme="q8s/native/b32:f16", file_type=7),
    BlockType(10, "Q2_K", 256, 84, ((80, 2, 2),), fidelity=_FOREIGN, file_type=10),
    BlockType(11, "Q3_K", 256, 110, ((108, 2, 1),), None, "q4s/u32/b16:f32", "lossless", 12),
    BlockType(12, "Q4_K", 256, 144, _D_M, fidelity=_FOREIGN, file_type=15),
    BlockType(13, "Q5_K", 256, 176, _D_M, fidelity=_FOREIGN, file_type=17),
    BlockType(14, "Q6_K", 256, 210, ((208, 2, 1),), None, "q8s/native/b16:f32", "lossless", 18),
    BlockType(16, "IQ2_XXS", 256, 66, None, fidelity=_FOREIGN, file_type=19),
    BlockType(17, "IQ2_XS", 256, 74, None, fidelity=_FOREIGN, file_type=20),
    BlockType(18, "IQ3_XXS", 256, 98, None, fidelity=_FOREIGN, file_type=23),
    BlockType(19, "IQ1_S", 256, 50, None, fidelity=_FOREIGN, file_type=24),
    BlockType(20, "IQ4_NL", 32, 18, _D, scheme=_LOOKUP + "b32:f16", file_type=25),
    BlockType(21, "IQ3_S", 256, 110, None, fidelity=_FOREIGN, file_type=26),
    BlockType(22, "IQ2_S", 256, 82, None, fidelity=_FOREIGN, file_type=28),
    BlockType(23, "IQ4_XS", 256, 136, _D_M, None, _LOOKUP + "b32:f32", "lossless", 30),
    _plain(24, "I8", "int8", 1),
    _plain(25, "I16", "int16", 2),
    _plain(26, "I32", "int32", 4),
    _plain(27, "I64", "int64", 8),
    _plain(28, "F64", "float64", 8),
    BlockType(29, "IQ1_M", 256, 56, None, fidelity=_FOREIGN, file_type=31),
    _plain(30, "BF16", "bfloat16", 2, 32),
    BlockType(34, "TQ1_0", 256, 54, ((52, 2, 1),), None, "q2s/u32/b128:f16", "lossless", 36),
    BlockType(35, "TQ2_0", 256, 66, ((64, 2, 1),), None, "q2s/u32/b128:f16", "lossless", 37),
    BlockType(39, "MXFP4", 32, 17, scheme="e2m1/packed/b32:ue8m0", file_type=38),
    BlockType(40, "NVFP4", 64, 36, scheme="e2m1/packed/b16:ue4m3", file_type=39),
    BlockType(41, "Q1_0", 128, 18, _D, None, "q2s/u32/b128:f16", "lossless", 40),
    BlockType(42, "Q2_0", 64, 18, _D, None, "q2f/u32/b64:f16", "lossless"),
)

BY_ID: Mapping[int, BlockType] = MappingProxyType({row.id: row for row in _ROWS})
BY_NAME: Mapping[str, BlockType] = MappingProxyType({row.name: row for row in _ROWS})
BY_DTYPE: Mapping[str, BlockType] = MappingProxyType(
    {row.dtype: row for row in _ROWS if row.dtype is not None}
)
NEVER_STORED: Mapping[int, str] = MappingProxyType(
    {
        4: "Q4_2, which ggml dropped",
        5: "Q4_3, which ggml dropped",
        9: "Q8_1, which exists in memory only",
        15: "Q8_K, which exists in memory only",
        31: "Q4_0_4_4, which ggml dropped",
        32: "Q4_0_4_8, which ggml dropped",
        33: "Q4_0_8_8, which ggml dropped",
        36: "IQ4_NL_4_4, which ggml dropped",
        37: "IQ4_NL_4_8, which ggml dropped",
        38: "IQ4_NL_8_8, which ggml dropped",
    }
)
"""Numbers that mean something in ggml and that no file holds."""


@cache
def scheme_of(text: str) -> QuantScheme:
    """Return the scheme of a row's text; a hint of a table is no part of it."""
    from qcore.scheme import QuantScheme

    return QuantScheme.parse(text)
