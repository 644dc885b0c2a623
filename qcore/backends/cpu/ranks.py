"""Exact order statistics of magnitudes: small blocks one by one, large ones by histograms that threads add up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore.backends.cpu import threads
from qcore.calibration.methods import percentile_rank
from qcore_ext import histograms, ranks

if TYPE_CHECKING:
    from qcore.backends.cpu.geometry import Geometry

BINS: Final = 1 << 16
LARGE: Final = 1 << 20
"""Elements from which on a block is worth two passes of all threads."""

Arguments = Callable[[np.ndarray, int, int], tuple[Any, ...]]
"""What a histogram kernel is given for its tables, a shift and a prefix."""


def rank_of(percent: float, counts: np.ndarray) -> np.ndarray:
    """Which element is the percentile, for every count; 0 where there is none."""
    distinct, where = np.unique(counts, return_inverse=True)
    ranks_of_distinct = [percentile_rank(percent, int(count)) if count else 0 for count in distinct]
    return np.asarray(ranks_of_distinct, np.int64)[where.reshape(counts.shape)]


def smallest(x: np.ndarray, g: Geometry, wanted: np.ndarray, count: int | None) -> np.ndarray:
    """The ``wanted``-th smallest finite magnitude of every block, 0 where 0 is wanted."""
    grid = np.zeros(g.blocks, np.float32)
    if g.block_elements < LARGE:
        threads.run(ranks.kth, (x, wanted, grid, g.packed), g.blocks, g.elements, count)
        return grid
    for block in np.flatnonzero(wanted):

        def arguments(bins: np.ndarray, shift: int, prefix: int, block: int = int(block)) -> tuple[Any, ...]:
            return x, bins, block, shift, prefix, g.chunks, g.packed

        grid[block] = from_histograms(
            histograms.magnitudes, arguments, int(wanted[block]), g.block_elements, count
        )
    return grid


def from_histograms(
    kernel: Callable[..., None], arguments: Arguments, rank: int, elements: int, count: int | None
) -> np.float32:
    """The number of this rank (from 1): its upper sixteen bits, then its lower ones."""
    parts = threads.resolve(count)
    prefix = 0
    for shift in (16, 0):
        tables = np.zeros((parts, BINS), np.int64)
        threads.run(kernel, arguments(tables, shift, prefix), parts, elements, count)
        below = np.cumsum(tables.sum(axis=0))
        bin_ = int(np.searchsorted(below, rank))
        rank -= int(below[bin_ - 1]) if bin_ else 0
        prefix = prefix << 16 | bin_
    return np.uint32(prefix).view(np.float32)
