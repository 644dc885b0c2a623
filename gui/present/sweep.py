"""The sweep: a table, and the chart of error against size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import intents as i
from ..state import Choice, State
from .text import Table

__all__ = ["Point", "SweepData", "present"]

HEADERS = ("", "scheme", "bits/w", "SQNR [dB]", "bytes", "RMSE", "max error", "clipped [%]", "flushed", "loads on")


@dataclass(frozen=True, slots=True)
class Point:
    """A scheme in the chart."""

    bits: float
    sqnr_db: float
    label: str
    front: bool
    intent: i.Intent


@dataclass(frozen=True, slots=True)
class SweepData:
    """What the sweep panel draws."""

    table: Table
    points: tuple[Point, ...]
    front: tuple[tuple[float, float], ...]
    guide: tuple[tuple[float, float], ...]
    note: str
    running: bool
    sampled: bool


def present(state: State) -> SweepData:
    """Return what the sweep panel draws."""
    rows, intents, points, tips = [], [], [], []
    for row in state.sweep or ():
        choice = Choice(row.label)
        intent = i.ApplyAsB(choice)
        intents.append(intent)
        r = row.report
        if r is None:
            tips.append(f"{row.refusal} [{row.refusal.code}]")
            rows.append(("refused", row.label, row.bits_per_weight, None, row.nbytes, None, None, None, None, ""))
            continue
        tips.append(row.scheme)
        rows.append(
            ("\u25c6" if row.pareto else "", row.label, row.bits_per_weight, r.sqnr_db, row.nbytes, r.rmse,
             r.max_abs, 100 * r.clipped, r.flushed, " ".join(row.loads))
        )  # fmt: skip
        if math.isfinite(r.sqnr_db):
            points.append(Point(row.bits_per_weight, r.sqnr_db, row.label, row.pareto, intent))
    front = tuple(sorted((p.bits, p.sqnr_db) for p in points if p.front))
    guide: tuple[tuple[float, float], ...] = ()
    if front:
        low, high = min(p.bits for p in points), max(p.bits for p in points)
        bits, best = max(front)
        guide = tuple((b, best + 6.02 * (b - bits)) for b in (low, high))
    running = any(r.slot == "sweep" for r in state.running)
    note = state.sweep_note
    if note and not running and state.sweep is not None:
        note = f"{note} \u00b7 \u25c6 nothing is smaller and better \u00b7 double click applies a scheme as B"
    table = Table(HEADERS, tuple(rows), tuple(intents), "Sweep", note, tips=tuple(tips))
    return SweepData(table, tuple(points), front, guide, note, running, "sampled" in state.sweep_note)

