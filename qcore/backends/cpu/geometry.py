"""Shapes, strides, blocks and words to the one geometry kernels walk: lines under outer axes.

Axes of one element are dropped and neighbours are merged where neither source strides, blocks nor words are disturbed,
so that common tensors become one long line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from qcore_ext import numbers

if TYPE_CHECKING:
    from qcore.plan import Packing

TASK: Final = 1 << 15
"""Elements of one task: what a thread cannot be interrupted in."""

NEAR: Final = 1 << 14
"""Elements of a row of blocks handled between its two reads, so that the second comes from the cache."""


class Axis(NamedTuple):
    """One axis: its length, its stride in bytes, the extent of a block along it."""

    dim: int
    stride: int
    extent: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """A packed geometry and the counts that kernels are called over."""

    packed: bytes
    axes: tuple[Axis, ...]
    word_tasks: int
    block_tasks: int
    blocks: int
    block_elements: int
    """Elements of a whole block."""
    elements: int
    fused: bool
    """Whether blocks fit a strip that begins and ends with whole words."""

    @property
    def chunks(self) -> int:
        """Chunks of a fixed-order sum that make up a block."""
        return -(-self.block_elements // numbers.CHUNK)


def make_geometry(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: int,
    extents: tuple[int, ...],
    packing: Packing | None,
) -> Geometry:
    """Geometry of a strided array under blocks of ``extents``; without a packing, of measurements alone."""
    axis, per_word = (-1, 1) if packing is None else (packing.axis, packing.per_word)
    axes, lane = merge(shape, strides, extents, axis, per_word)
    return pack(axes, dtype, lane, packing)


def pack(axes: tuple[Axis, ...], dtype: int, lane: int = -1, packing: Packing | None = None) -> Geometry:
    """Geometry of merged axes, the last of which is the line; how far it is cut for strips, tiles and tasks."""
    bits, per_word, word_bytes = (
        (8, 1, 1) if packing is None else (packing.bits, packing.per_word, packing.word_bytes)
    )
    *outer, line = axes
    box = math.prod(axis.extent for axis in outer)
    unit = line.dim if line.extent == line.dim else math.lcm(line.extent, per_word if lane < 0 else 1)
    fused = lane < 0 and unit <= numbers.ROOM
    unit = unit if unit <= numbers.ROOM else min(line.extent, numbers.STRIP)
    strip = unit * max(1, min(numbers.STRIP, NEAR // box) // unit)
    lanes = per_word if lane >= 0 else 1
    packed = numbers.pack_geometry(
        tuple(axis.dim for axis in outer), tuple(axis.stride for axis in outer), tuple(axis.extent for axis in outer),
        line.dim, line.stride, dtype, line.extent, bits, per_word, word_bytes, lane,
        max(numbers.STRIP, TASK // lanes), strip * max(1, TASK // (strip * box)), strip,
    )  # fmt: skip
    word_tasks, block_tasks, blocks, _ = numbers.sizes(packed)
    elements = math.prod(axis.dim for axis in axes)
    return Geometry(packed, axes, word_tasks, block_tasks, blocks, box * line.extent, elements, fused)


def merge(
    shape: tuple[int, ...], strides: tuple[int, ...], extents: tuple[int, ...], packed: int, per_word: int
) -> tuple[tuple[Axis, ...], int]:
    """The fewest axes that describe the same, and which of them holds the lanes of words (-1: the last one does)."""
    kept = [
        (index == packed, Axis(dim, stride, min(extent, dim)))
        for index, (dim, stride, extent) in enumerate(zip(shape, strides, extents, strict=True))
        if dim > 1 or (index == packed and per_word > 1)
    ] or [(False, Axis(1, 0, 1))]
    merged = [kept.pop()]
    while kept:
        outer_packed, outer = kept.pop()
        inner_packed, inner = merged[-1]
        is_line = len(merged) == 1
        # Words along the line end with it, unless it is a whole number of them.
        whole_words = is_line and (not inner_packed or inner.dim % per_word == 0)
        free = not outer_packed and (whole_words if is_line else not inner_packed)
        joined = _joined(outer, inner, is_line) if free else None
        if joined is None:
            merged.append((outer_packed, outer))
        else:
            merged[-1] = (inner_packed, joined)
    merged.reverse()
    lane = next((index for index, (is_packed, _) in enumerate(merged) if is_packed), -1)
    return tuple(axis for _, axis in merged), -1 if lane == len(merged) - 1 else lane


def _joined(outer: Axis, inner: Axis, is_line: bool) -> Axis | None:
    """One axis in place of two, or None where strides or blocks forbid it."""
    if outer.stride != inner.stride * inner.dim:
        return None
    dim = outer.dim * inner.dim
    if outer.extent == 1 and inner.dim % inner.extent == 0:
        extent = inner.extent
    elif inner.extent == inner.dim:
        extent = outer.extent * inner.dim
    else:
        return None
    # A line's block either fits a strip or is the line itself: then it can be cut anywhere to be measured.
    if is_line and extent > numbers.ROOM and extent != dim:
        return None
    return Axis(dim, inner.stride, extent)


def finer(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Blocks nested in these, small enough to be shared out between threads; the same where they already are."""
    *outer, line = axes
    small = math.prod(axis.extent for axis in axes) <= TASK
    outer = outer if small else [axis._replace(extent=1) for axis in outer]
    return (*outer, line._replace(extent=min(line.extent, numbers.ROOM)))


def coarsen(peaks: np.ndarray, nested: tuple[Axis, ...], axes: tuple[Axis, ...]) -> np.ndarray:
    """Peaks of blocks from the peaks of the blocks nested in them."""
    grid = peaks.reshape([-(-axis.dim // axis.extent) for axis in nested])
    for index, (small, large) in enumerate(zip(nested, axes, strict=True)):
        if small.extent == large.extent:
            continue
        starts = np.arange(0, grid.shape[index], -(-large.extent // small.extent))
        grid = np.maximum.reduceat(grid, starts, axis=index)
    return grid.reshape(-1)
