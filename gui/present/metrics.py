"""Metrics of A and B side by side, and the one line that says it all."""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import Measured
from ..state import State
from . import text

__all__ = ["Metric", "MetricsData", "line", "present"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A row: its name, A, B and the difference."""

    name: str
    a: str
    b: str
    delta: str
    tip: str


@dataclass(frozen=True, slots=True)
class MetricsData:
    """What the metrics panel draws."""

    line: str
    title_a: str
    title_b: str
    rows: tuple[Metric, ...]
    note: str


_ROWS = (
    ("SQNR", "sqnr_db", "dB", "10\u00b7log10 of signal power over error power: higher is better"),
    ("bits/weight", "bits_per_weight", "", "values, scales and the tensor's scale over the element count"),
    ("bytes", "nbytes", "", "the whole quantized tensor"),
    ("RMSE", "rmse", "", "root of the mean squared error"),
    ("RMSE / step", "rmse_step", "", "0.289 where errors are spread evenly over a step"),
    ("max error", "max_abs", "", "largest absolute error"),
    ("p99.9 error", "p999", "", "one element in a thousand is farther off"),
    ("cosine", "cosine", "", "of the angle between the tensors"),
    ("clipped", "clipped", "%", "elements beyond the largest value that their block can hold"),
    ("flushed blocks", "flushed", "", "blocks with a non-zero element that decode to zeros"),
    ("saturated scales", "saturated", "", "at the largest value of their dtype"),
    ("blocks", "blocks", "", "one stored scale each"),
)


def line(measured: Measured) -> str:
    """Say it in one line."""
    return (
        f"SQNR {text.decibels(measured.sqnr_db)} \u00b7 {measured.bits_per_weight:.2f} bits/w \u00b7 "
        f"max err {text.number(measured.max_abs, 3)} \u00b7 clipped {100 * measured.clipped:.2g} % \u00b7 "
        f"zero-flushed {text.count(measured.flushed, 'block')}"
    )


def present(state: State) -> MetricsData:
    """Return what the metrics panel draws."""
    shown = state.measured
    if shown is not None:
        said = line(shown)
    elif state.refused is not None:
        said = f"refused: {state.refused.text}"
    elif state.selected is None:
        said = ""
    else:
        said = "measuring\u2026"
    a, b = state.measured_a, state.measured_b
    title_b = state.choice_b.scheme if state.choice_b is not None else ""
    rows = tuple(_row(a, b, *row) for row in _ROWS) if a is not None or b is not None else ()
    note = shown.note if shown is not None else ""
    if shown is not None and shown.max_at is not None:
        note = f"largest error at {text.place(shown.max_at)}" + (f" \u00b7 {note}" if note else "")
    return MetricsData(said, state.choice_a.scheme, title_b, rows, note)


def _row(a: Measured | None, b: Measured | None, name: str, field: str, unit: str, tip: str) -> Metric:
    mine, theirs = (None if m is None else getattr(m, field) for m in (a, b))
    delta = ""
    if mine is not None and theirs is not None:
        change = theirs - mine
        delta = "" if change != change else _shown(change, unit, sign=True)
    return Metric(name, _shown(mine, unit), _shown(theirs, unit), delta, tip)


def _shown(value: float | None, unit: str, *, sign: bool = False) -> str:
    if value is None:
        return ""
    if unit == "%":
        said = f"{100 * value:.3g} %"
    else:
        said = text.number(value, 4)
        said = f"{said} {unit}" if unit else said
    return f"+{said}" if sign and value > 0 else said

