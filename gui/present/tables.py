"""Panels that are tables: worst blocks, marginals, one block, jobs, log."""

from __future__ import annotations

import numpy as np

from .. import intents as i
from ..state import State
from . import text
from .text import Table

__all__ = ["block", "jobs", "log", "marginals", "worst"]

MARGINALS = 200


def worst(state: State) -> Table:
    """Worst blocks by the measure that is chosen; choosing one jumps there."""
    headers = ("#", "block", "RMS error", "SQNR [dB]", "error [steps]", "scale")
    measured = state.measured
    if measured is None:
        return Table(headers, (), title="Worst blocks", note="nothing measured yet")
    found = measured.worst[state.worst_by]
    rows = tuple(
        (n + 1, text.place(b.block), b.rmse, b.sqnr_db, b.steps, b.scale) for n, b in enumerate(found)
    )
    note = f"top {len(found)} of {measured.blocks:,} blocks, {state.worst_by} error"
    if not found:
        note = "no block has an error"
    return Table(
        headers, rows, tuple(i.PickBlock(b.block, jump=True) for b in found), "Worst blocks", note, state.worst_at
    )


def marginals(state: State) -> Table:
    """Rows or columns by their peak or their error: where the outlier channels are."""
    of = state.marginal_of
    facts, measured, weights = state.facts, state.measured, state.importance
    weighted = weights is not None and of == "columns"
    headers = (of[:-1], "max |x|", "RMS error", *(("weighted RMS",) if weighted else ()))
    if facts is None:
        return Table(headers, (), title="Outliers")
    peaks = facts.row_peak if of == "rows" else facts.column_peak
    group = facts.row_group if of == "rows" else facts.column_group
    rms = None
    if measured is not None and group == 1:
        found = measured.row_rms if of == "rows" else measured.column_rms
        rms = found if len(found) == len(peaks) else None
    heavy = None
    if weighted and rms is not None and len(weights) == len(rms):
        heavy = rms * np.sqrt(np.asarray(weights) / max(float(np.mean(weights)), 1e-300))
    by = {"peak": peaks, "error": rms, "weighted": heavy}.get(state.marginal_by)
    order = np.argsort(-(peaks if by is None else by), kind="stable")[:MARGINALS]
    rows, jumps = [], []
    for at in order:
        cells = [int(at) * group, float(peaks[at]), None if rms is None else float(rms[at])]
        if weighted:
            cells.append(None if heavy is None else float(heavy[at]))
        rows.append(tuple(cells))
        jumps.append(i.JumpTo(row=int(at) * group) if of == "rows" else i.JumpTo(column=int(at) * group))
    median = float(np.median(peaks)) if len(peaks) else 0.0
    note = f"{len(peaks):,} {of}; the median of max |x| is {text.number(median)}"
    if group > 1:
        note += f"; one entry stands for {group:,} {of}"
    return Table(headers, tuple(rows), tuple(jumps), "Outliers", note)


def block(state: State) -> Table:
    """One block, element by element."""
    headers = ("index", "x", "x / scale", "code", "hex", "bits", "decoded", "error")
    d = state.detail
    if d is None:
        return Table(headers, (), title="Block", note="click a place of the heatmap to look at its block")
    mask = (1 << d.bits) - 1
    rows = []
    for offset in np.ndindex(*d.values.shape):
        x, decoded, code = float(d.values[offset]), float(d.decoded[offset]), int(d.codes[offset])
        ratio = x / d.effective if d.effective else 0.0
        field = code & mask
        index = text.place(tuple(a + b for a, b in zip(d.start, offset, strict=True)))
        rows.append(
            (index, x, ratio, code, f"{field:0{-(-d.bits // 4)}x}", f"{field:0{d.bits}b}", decoded, decoded - x)
        )
    return Table(headers, tuple(rows), title=f"Block {text.place(d.block)}", note=block_words(state))


def block_words(state: State) -> str:
    """The arithmetic of a block's scale, in words."""
    d = state.detail
    assert d is not None
    finite = np.abs(d.values[np.isfinite(d.values)])
    peak = float(finite.max()) if finite.size else 0.0
    said = f"max |x| = {text.number(peak, 6)} \u2192 stored scale {text.number(d.scale, 6)} ({d.scale_dtype} \
0x{d.scale_word:x})"
    if d.global_scale is not None:
        said += f" \u00d7 tensor scale {text.number(d.global_scale, 6)}"
    return f"{said} = effective {text.number(d.effective, 6)}; decoded = value(code) \u00d7 effective"


def jobs(state: State) -> Table:
    """What runs."""
    rows = tuple(
        (r.label, f"{100 * r.done / r.total:.0f} %" if r.total else "running") for r in state.running
    )
    return Table(("job", "progress"), rows, title="Jobs", note="Esc cancels" if rows else "nothing runs")


def log(state: State) -> Table:
    """What was said, the latest first."""
    rows = tuple((m.level, m.title, m.text) for m in reversed(state.log))
    return Table(("", "code", "message"), rows, title="Log", tips=tuple(m.details for m in reversed(state.log)))

