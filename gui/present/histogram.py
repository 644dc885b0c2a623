"""Histograms: of the tensor, of x over its block's scale with the levels, of the residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..state import State
from . import text

__all__ = ["HistogramData", "present"]


@dataclass(frozen=True, slots=True, eq=False)
class HistogramData:
    """What the histogram panel draws."""

    edges: np.ndarray
    counts: np.ndarray
    x_edges: np.ndarray
    x_counts: np.ndarray
    levels: np.ndarray
    clip: tuple[float, float]
    clipped: str
    residual_edges: np.ndarray
    residual_counts: np.ndarray
    block_levels: np.ndarray
    log: bool
    facts: str
    note: str


_NONE = np.zeros(0)


def present(state: State) -> HistogramData:
    """Return what the histogram panel draws."""
    facts, measured, detail = state.facts, state.measured, state.detail
    edges, counts = (_NONE, _NONE) if facts is None else (facts.edges, facts.counts)
    said = "" if facts is None else describe(state)
    block = _NONE
    if detail is not None and measured is not None:
        block = measured.levels * detail.effective
    if measured is None:
        return HistogramData(
            edges, counts, _NONE, _NONE, _NONE, (0, 0), "", _NONE, _NONE, block, state.log_counts, said, ""
        )
    levels = measured.levels
    gap = (levels[1] - levels[0], levels[-1] - levels[-2]) if len(levels) > 1 else (0.0, 0.0)
    clip = (float(levels[0] - gap[0] / 2), float(levels[-1] + gap[1] / 2))
    return HistogramData(
        edges, counts, *measured.normalised[::1], levels, clip, f"clipped {100 * measured.clipped:.3g} %",
        *measured.residual, block, state.log_counts, said,
        f"RMSE / step {text.number(measured.rmse_step, 3)}; spread evenly over a step it is 0.289",
    )  # fmt: skip


def describe(state: State) -> str:
    """Extremes and counts in one line: all of the tensor, never a sample."""
    facts = state.facts
    assert facts is not None
    said = (
        f"{facts.count:,} elements \u00b7 min {text.number(facts.low)} \u00b7 max {text.number(facts.high)} \u00b7 "
        f"\u03c3 {text.number(facts.std)} \u00b7 zeros {facts.zeros:,}"
    )
    if facts.nan or facts.infinite:
        said += f" \u00b7 NaN {facts.nan:,} \u00b7 infinite {facts.infinite:,}"
    return said
