"""Tables as they are exported: plain columns, raw numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..findings import Measured
from ..state import State
from . import sweep as sweep_panel
from . import tables

__all__ = ["TABLES", "metrics"]

Rows = tuple[tuple[str, ...], list[tuple[Any, ...]]]

_FIELDS: Final = (
    "scheme", "bits_per_weight", "nbytes", "sqnr_db", "rmse", "rmse_step", "max_abs", "p999", "cosine", "clipped",
    "clipped_count", "flushed", "blocks", "zero_blocks", "saturated",
)  # fmt: skip


def metrics(measured: Measured) -> Rows:
    """One row of a scheme's numbers."""
    return _FIELDS, [tuple(getattr(measured, name) for name in _FIELDS)]


def _metrics(state: State) -> Rows:
    found = [m for m in (state.measured_a, state.measured_b) if m is not None]
    return _FIELDS, [metrics(m)[1][0] for m in found]


def _of(panel: Callable[[State], Any]) -> Callable[[State], Rows]:
    def rows(state: State) -> Rows:
        data = panel(state)
        table = getattr(data, "table", data)
        return table.headers, list(table.rows)

    return rows


def _sweep(state: State) -> Rows:
    if state.sweep is None:
        return (), []
    from qcore.analysis.table import COLUMNS

    return COLUMNS, [tuple(row.values()) for row in state.sweep.to_dicts()]


def _tensors(state: State) -> Rows:
    headers = ("name", "shape", "type", "params", "bytes")
    if state.file is None:
        return headers, []
    return headers, [(r.name, "x".join(map(str, r.shape)), r.kind, r.size, r.nbytes) for r in state.file.rows]


def _histogram(state: State) -> Rows:
    headers = ("from", "to", "count")
    if state.facts is None:
        return headers, []
    edges, counts = state.facts.edges, state.facts.counts
    return headers, [(float(a), float(b), int(c)) for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True)]


TABLES: Final[dict[str, Callable[[State], Rows]]] = {
    "metrics": _metrics,
    "worst blocks": _of(tables.worst),
    "outliers": _of(tables.marginals),
    "block": _of(tables.block),
    "sweep": _sweep,
    "sweep as shown": _of(sweep_panel.present),
    "tensors": _tensors,
    "histogram": _histogram,
    "log": _of(tables.log),
}
"""Tables that can be exported, by name."""
