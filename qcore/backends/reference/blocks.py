"""Blocks as slices: rectangles aligned with the axes, cut short at the far edges."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from qcore.calibration.sums import pairwise_sum

Index = tuple[int, ...]
Measure = Callable[[np.ndarray], np.ndarray]


def grid_of(shape: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...]:
    """How many blocks there are along every axis."""
    return tuple(-(-dim // extent) for dim, extent in zip(shape, extents, strict=True))


def blocks(shape: tuple[int, ...], extents: tuple[int, ...]) -> Iterator[tuple[Index, tuple[slice, ...]]]:
    """Every block: its place in the grid, and where it lies."""
    for index in np.ndindex(grid_of(shape, extents)):
        yield (
            index,
            tuple(slice(i * extent, (i + 1) * extent) for i, extent in zip(index, extents, strict=True)),
        )


def per_block(values: np.ndarray, extents: tuple[int, ...], measure: Measure, dtype: type) -> np.ndarray:
    """Measure every block: ``measure`` gets those of one size as rows, in C order, and answers one number a row."""
    grid: np.ndarray = np.zeros(grid_of(values.shape, extents), dtype)
    sized = sorted(
        (
            (values[where].shape, index, values[where].reshape(-1))
            for index, where in blocks(values.shape, extents)
        ),
        key=lambda block: block[0],
    )
    for _, alike in itertools.groupby(sized, key=lambda block: block[0]):
        _, places, rows = zip(*alike, strict=True)
        grid[tuple(np.transpose(places))] = measure(np.stack(rows))
    return grid


def block_sums(values: np.ndarray, extents: tuple[int, ...]) -> np.ndarray:
    """float64 sum of every block in the fixed order."""
    return per_block(values, extents, pairwise_sum, np.float64)


def spread(grid: np.ndarray, shape: tuple[int, ...], extents: tuple[int, ...]) -> np.ndarray:
    """The number of its block at every element."""
    spread_out = grid.reshape(grid_of(shape, extents))
    for axis, (dim, extent) in enumerate(zip(shape, extents, strict=True)):
        spread_out = np.repeat(spread_out, extent, axis=axis).take(np.arange(dim), axis=axis)
    return spread_out
