"""A tensor beside its quantized form: sums per block, the largest distance, and one rank of all distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore.backends.cpu import numbers, ranks, sums, threads
from qcore.backends.protocol import ErrorSums
from qcore.calibration.methods import percentile_rank
from qcore_ext import compare, histograms

if TYPE_CHECKING:
    from qcore.backends.protocol import Parts
    from qcore.plan import Plan

TERMS: Final = 4
FEW: Final = 64
"""Of how many distances one may lie above the rank for them to be kept."""


def errors(x: np.ndarray, parts: Parts, plan: Plan, rank_percent: float, count: int | None) -> ErrorSums:
    """Sums of every block in the fixed order, and what all pairs say together."""
    n, g = numbers.of_plan(plan), numbers.geometry_of(plan, x)
    whole = numbers.whole(parts.global_scale)
    source = (x, np.ascontiguousarray(parts.values), np.ascontiguousarray(parts.scales), whole)
    layout = (g.chunks, g.packed, n.codec, n.scale)
    totals = np.empty((g.blocks, g.chunks, TERMS))
    pairs = np.empty((g.blocks, g.chunks), np.int64)
    tasks = g.blocks * g.chunks
    largest = _room_for_largest(rank_percent, g.elements, threads.resolve(count))
    clipped, most, index = threads.run(
        compare.errors, (*source, totals, pairs, largest, *layout), tasks, g.elements, count
    )
    error, signal, decoded, cross = (
        sums.add_chunks(totals[..., term]).reshape(plan.grid) for term in range(TERMS)
    )
    counted = pairs.sum(axis=-1).reshape(plan.grid)
    finite = int(counted.sum())

    def arguments(bins: np.ndarray, shift: int, prefix: int) -> tuple[Any, ...]:
        return (*source, bins, shift, prefix, *layout)

    ranked = 0.0
    if finite:
        rank = percentile_rank(rank_percent, finite)
        ranked = _from_the_top(largest, finite - rank + 1)
        if ranked < 0:
            ranked = float(ranks.from_histograms(histograms.distances, arguments, rank, g.elements, count))
    return ErrorSums(
        error=error, signal=signal, decoded=decoded, cross=cross, pairs=counted,
        clipped=clipped,
        max_abs=float(np.uint32(most).view(np.float32)) if finite else 0.0,
        max_index=index if finite else -1,
        ranked=ranked,
    )  # fmt: skip


def _room_for_largest(percent: float, elements: int, threads: int) -> np.ndarray:
    """A row a thread for twice the distances from the rank up; none where those are many and histograms are quicker."""
    wanted = elements - percentile_rank(percent, elements) + 1
    return np.empty((min(threads, compare.PLACES), 2 * wanted if wanted <= elements // FEW else 0), np.int32)


def _from_the_top(largest: np.ndarray, place: int) -> float:
    """The number at a place counted from the largest (1); -1 where they were not kept."""
    kept = largest[largest >= 0]
    if kept.size < place:
        return -1.0
    return float(np.partition(kept, kept.size - place)[kept.size - place].view(np.float32))
