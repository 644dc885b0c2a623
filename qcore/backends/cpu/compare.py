"""A tensor beside its quantized form: sums per block, the largest distance, and one rank of all distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qcore.backends.cpu import numbers, ranks, sums, threads
from qcore.backends.protocol import ErrorSums
from qcore.calibration.methods import percentile_rank
from qcore_ext import compare, histograms

if TYPE_CHECKING:
    from qcore.backends.protocol import Parts
    from qcore.plan import Plan

TERMS = 4


def errors(x: np.ndarray, parts: Parts, plan: Plan, rank_percent: float, count: int | None) -> ErrorSums:
    """Sums of every block in the fixed order, and what all pairs say together."""
    n, g = numbers.of_plan(plan), numbers.geometry_of(plan, x)
    whole = 1.0 if parts.global_scale is None else float(parts.global_scale)
    source = (x, np.ascontiguousarray(parts.values), np.ascontiguousarray(parts.scales), whole)
    layout = (g.chunks, g.packed, n.codec, n.scale)
    totals = np.empty((g.blocks, g.chunks, TERMS))
    pairs = np.empty((g.blocks, g.chunks), np.int64)
    tasks = g.blocks * g.chunks
    clipped, most, index = threads.run(
        compare.errors, (*source, totals, pairs, *layout), tasks, g.elements, count
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
        ranked = float(ranks.from_histograms(histograms.distances, arguments, rank, g.elements, count))
    return ErrorSums(
        error=error, signal=signal, decoded=decoded, cross=cross, pairs=counted,
        clipped=clipped,
        max_abs=float(np.uint32(most).view(np.float32)) if finite else 0.0,
        max_index=index if finite else -1,
        ranked=ranked,
    )  # fmt: skip
