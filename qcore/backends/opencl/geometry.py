"""A dense tensor as lines, runs and units: few axes, and the whole numbers that kernels read.

Neighbouring axes are merged where neither blocks nor words are disturbed, so that the common cases are one long line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from qcore.plan import Packing

VECTOR: Final = 8
"""Elements that a kernel handles at a time."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Merged axes of a dense tensor, the extents of its blocks along them, and how fields share words.

    ``axis`` is the packed axis among ``dims``, or -1 where every value has a byte of its own.
    """

    dims: tuple[int, ...]
    extents: tuple[int, ...]
    axis: int
    bits: int
    per_word: int

    @property
    def cols(self) -> int:
        """Elements of a line."""
        return self.dims[-1]

    @property
    def lines(self) -> int:
        """Lines of the tensor."""
        return prod(self.dims[:-1])

    @property
    def grid(self) -> tuple[int, ...]:
        """Blocks along every merged axis; in C order they are the blocks of the tensor."""
        return tuple(-(-dim // extent) for dim, extent in zip(self.dims, self.extents, strict=True))

    @property
    def blocks(self) -> int:
        """Blocks of the tensor."""
        return prod(self.grid)

    @property
    def packs_lines(self) -> bool:
        """Whether neighbours along a line share a word, or every value has its own."""
        return self.axis in (-1, len(self.dims) - 1)

    @property
    def has_whole_groups(self) -> bool:
        """Whether blocks are whole groups of eight inside a line, so that a run can be packed on its own."""
        return self.packs_lines and (self.grid[-1] == 1 or self.extents[-1] % VECTOR == 0)

    @property
    def is_padded(self) -> bool:
        """Whether words have fields that belong to no element."""
        return self.axis >= 0 and self.dims[self.axis] % self.per_word != 0

    @property
    def units(self) -> int:
        """Items of the general kernels: words, or groups of eight values."""
        return self._word_rows * self._units_per_row

    @property
    def values_nbytes(self) -> int:
        """Bytes of the values region."""
        return self._word_rows * self._word_row

    def piece(self, most: int) -> int:
        """Elements of a run: a block's share of a line, cut where it is longer than ``most``."""
        return min(self.extents[-1], most)

    def pieces(self, most: int) -> int:
        """Runs of a block in one line."""
        return -(-self.extents[-1] // self.piece(most))

    def runs(self, most: int) -> int:
        """Runs of the tensor."""
        return self.lines * self.grid[-1] * self.pieces(most)

    def numbers(self, most: int) -> np.ndarray:
        """What lines.cl reads."""
        outer = zip(self.dims[:-1], self.extents[:-1], self.grid[:-1], strict=True)
        head = (
            self.cols, self.extents[-1], self.grid[-1], self.piece(most), self.pieces(most), self._word_row,
            self._units_per_row, self._unit, -1 if self.packs_lines else self.axis, len(self.dims) - 1,
        )  # fmt: skip
        return np.array([*head, *(number for axis in outer for number in axis)], np.int64)

    @property
    def _unit(self) -> int:
        return self.per_word if self.axis >= 0 else VECTOR

    @property
    def _units_per_row(self) -> int:
        return -(-self.cols // self._unit) if self.packs_lines else self.cols

    @property
    def _word_rows(self) -> int:
        outer = [-(-dim // self.per_word) if k == self.axis else dim for k, dim in enumerate(self.dims[:-1])]
        return prod(outer)

    @property
    def _word_row(self) -> int:
        words = -(-self.cols // self.per_word) if self.packs_lines else self.cols
        return words * self.per_word * self.bits // 8


def merged(shape: tuple[int, ...], extents: tuple[int, ...], packing: Packing) -> Geometry:
    """Merge the axes of a dense tensor as far as blocks and words allow.

    Examples
    --------
    >>> from qcore.plan import make_plan
    >>> from qcore.scheme import QuantScheme
    >>> plan = make_plan(QuantScheme.parse("q4s/u32/b32:f16"), (6, 5, 64))
    >>> merged(plan.shape, plan.extents, plan.packing).dims
    (1920,)
    """
    axes: list[tuple[int, int, bool]] = []
    for k, (dim, extent) in enumerate(zip(shape, extents, strict=True)):
        packed = k == packing.axis
        if dim == 1 and not packed:
            continue
        axis = (dim, min(dim, extent), packed)
        if axes:
            one = _one_axis(axes[-1], axis, packing.per_word)
            if one is not None:
                axes[-1] = one
                continue
        axes.append(axis)
    axes = axes or [(1, 1, False)]
    packed_axis = next((k for k, axis in enumerate(axes) if axis[2]), -1)
    return Geometry(tuple(a[0] for a in axes), tuple(a[1] for a in axes), packed_axis, packing.bits, packing.per_word)


def _one_axis(a: tuple[int, int, bool], b: tuple[int, int, bool], per_word: int) -> tuple[int, int, bool] | None:
    """Two neighbouring axes as one, if every word and every block stays what it is."""
    (dim_a, extent_a, packed_a), (dim_b, extent_b, packed_b) = a, b
    if packed_a or (packed_b and dim_b % per_word):
        return None
    if extent_b == dim_b:
        return dim_a * dim_b, extent_a * dim_b, packed_b
    if extent_a == 1 and dim_b % extent_b == 0:
        return dim_a * dim_b, extent_b, packed_b
    return None
