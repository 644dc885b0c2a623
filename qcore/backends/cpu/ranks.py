"""Exact order statistics of magnitudes: small blocks one by one, large ones by histograms that threads add up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore.backends.cpu import threads
from qcore.calibration.methods import percentile_rank
from qcore_ext import ranks

if TYPE_CHECKING:
    from qcore.backends.cpu.geometry import Geometry

BINS: Final = 1 << 16
LARGE: Final = 1 << 20
"""Elements from which on a block is worth two passes of all threads."""

Histogram = Callable[..., Any]
"""A kernel called as (bins, shift, prefix, first, last)."""


def rank_of(percent: float, counts: np.ndarray) -> np.ndarray:
    """Which element is the percentile, for every count; 0 where there is none."""
    distinct, where = np.unique(counts, return_inverse=True)
    ranks_of_distinct = [percentile_rank(percent, int(count)) if count else 0 for count in distinct]
    return np.asarray(ranks_of_distinct, np.int64)[where.reshape(counts.shape)]


def smallest(x: np.ndarray, g: Geometry, wanted: np.ndarray, count: int | None) -> np.ndarray:
    """The ``wanted``-th smallest finite magnitude of every block, 0 where 0 is wanted."""
    grid = np.zeros(g.blocks, np.float32)
    if g.block_elements < LARGE:
        kernel = partial(ranks.kth, x, wanted, grid, g.packed)
        threads.run(kernel, g.blocks, g.elements, count)
        return grid
    for block in np.flatnonzero(wanted):
        histogram = partial(_of_block, x, int(block), g.packed)
        grid[block] = from_histograms(histogram, int(wanted[block]), g.chunks, g.block_elements, count)
    return grid


def from_histograms(
    histogram: Histogram, rank: int, tasks: int, elements: int, count: int | None
) -> np.float32:
    """The number of this rank (from 1): its upper sixteen bits, then its lower ones."""
    prefix = 0
    for shift in (16, 0):
        tables: list[np.ndarray] = threads.run(
            partial(_counted, histogram, shift, prefix), tasks, elements, count
        )
        below = np.cumsum(np.sum(tables, axis=0))
        bin_ = int(np.searchsorted(below, rank))
        rank -= int(below[bin_ - 1]) if bin_ else 0
        prefix = prefix << 16 | bin_
    return np.uint32(prefix).view(np.float32)


def _counted(histogram: Histogram, shift: int, prefix: int, first: int, last: int) -> np.ndarray:
    bins = np.zeros(BINS, np.int64)
    histogram(bins, shift, prefix, first, last)
    return bins


def _of_block(
    x: np.ndarray, block: int, packed: bytes, bins: np.ndarray, shift: int, prefix: int, first: int, last: int
) -> None:
    ranks.histogram(x, bins, block, shift, prefix, packed, first, last)
