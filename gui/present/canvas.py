"""The heatmap: cells, block grid, marginals, and what the colours mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..findings import Picture
from ..source import WHOLE
from ..state import Axes, Region, State, place_of
from . import text
from .colours import EXPLAINED

__all__ = ["CanvasData", "Marginal", "grid_lines", "present", "present_b"]

LEAST = 6
"""Pixels from which on a block is outlined."""
LINES = 400


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Numbers along an axis, drawn beside it."""

    places: np.ndarray
    values: np.ndarray
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class CanvasData:
    """What a canvas draws."""

    title: str
    picture: Picture | None
    matrix: tuple[int, int]
    region: Region | None
    epoch: int
    rows_at: tuple[float, ...]
    columns_at: tuple[float, ...]
    padding: tuple[tuple[float, float, float, float], ...]
    box: tuple[float, float, float, float] | None
    pulse: int
    cursor: tuple[int, int] | None
    across: Marginal | None
    down: Marginal | None
    legend: str
    scale_note: str
    message: str
    axes_note: str
    shape: tuple[int, ...] = ()
    axes: Axes | None = None
    fixed: str = ""
    """Why the axes cannot be chosen, if so."""


def grid_lines(
    extent: int, period: int, start: int, stop: int, limit: int, pixels: int
) -> tuple[float, ...]:
    """Places of block edges along an axis; blocks start afresh at every ``period``.

    Examples
    --------
    >>> grid_lines(2, 5, 0, 10, 10, 600)
    (0.0, 2.0, 4.0, 5.0, 7.0, 9.0, 10.0)
    >>> grid_lines(1, 1000, 0, 1000, 1000, 600)
    ()
    """
    span = max(stop - start, 1)
    if extent <= 0 or extent * pixels / span < LEAST or span / extent > LINES:
        return ()
    found: list[float] = []
    first = start // period * period if period else 0
    while first <= min(stop, limit):
        end = min(first + period, limit)
        at = first + max(start - first, 0) // extent * extent
        found.extend(float(x) for x in range(at, min(end, stop + extent), extent))
        first += period
    found.append(float(min(limit, stop)))
    return tuple(sorted(set(found)))


def present(state: State) -> CanvasData:
    """Return what the first canvas draws: A, B, or in a comparison A."""
    letter = "A" if state.compare else state.showing
    return _present(state, _level(state.picture, state.picture_b if state.compare else None), letter)


def present_b(state: State) -> CanvasData:
    """Return what the second canvas draws: B."""
    return _present(state, _level(state.picture_b, state.picture) if state.compare else None, "B")


@lru_cache(maxsize=4)
def _level(picture: Picture | None, other: Picture | None) -> Picture | None:
    """The picture with colours that end where those of the other one beside it do."""
    if picture is None or other is None or picture.kind != other.kind:
        return picture
    return replace(picture, low=min(picture.low, other.low), high=max(picture.high, other.high))


def _present(state: State, picture: Picture | None, letter: str) -> CanvasData:
    row, region = state.selected, state.region
    measured = state.measured_b if letter == "B" else state.measured_a
    refused = state.refused_b if letter == "B" else state.refused_a
    choice = state.choice_b if letter == "B" else state.choice_a
    matrix = state.matrix
    message = ""
    if row is not None and not row.size:
        message = "This tensor has no elements."
    elif picture is None and refused is not None and state.view != "values":
        message = f"{refused.text}\nThe scheme builder says what to do."
    rows_at: tuple[float, ...] = ()
    columns_at: tuple[float, ...] = ()
    padding: list[tuple[float, float, float, float]] = []
    box = None
    if row is not None and measured is not None and region is not None and row.size:
        down, across, period = _extents(state, measured.extents)
        if state.grid:
            args = (region.top, region.bottom, matrix[0], state.pixels[1])
            rows_at = grid_lines(down, period, *args)
            columns_at = grid_lines(across, matrix[1], region.left, region.right, matrix[1], state.pixels[0])
            padding = _padding(down, across, matrix)
        one = all(e >= d for e, d in zip(measured.extents, row.shape or (1,), strict=True))
        if state.block is not None and len(state.block) == len(measured.extents) and not one:
            box = _box(state, measured.extents, state.block)
    title = "" if row is None else f"{row.name}  {text.shape(row.shape)} {row.kind}"
    shown = state.view if not state.difference else "difference A \u2212 B"
    if choice is not None and row is not None and state.view != "values":
        title += f"   {letter}: {choice.scheme}"
    return CanvasData(
        title=f"{title}   {shown}" if row is not None else "",
        picture=picture, matrix=matrix, region=region, epoch=state.epoch, rows_at=rows_at, columns_at=columns_at,
        padding=tuple(padding), box=box, pulse=state.pulse, cursor=state.cursor,
        across=_marginal(state, "columns"), down=_marginal(state, "rows"),
        legend="" if picture is None else legend(picture), scale_note="" if picture is None else scale_note(picture),
        message=message, axes_note=axes_note(state), shape=() if row is None else row.shape, axes=state.axes,
        fixed="" if row is None or row.size <= WHOLE else "a tensor this large is read in the order of the file",
    )  # fmt: skip


def legend(picture: Picture) -> str:
    """Say what the colours mean."""
    unit = f" [{picture.unit}]" if picture.unit else ""
    return f"{picture.what}{unit}: {EXPLAINED[picture.kind]}"


def scale_note(picture: Picture) -> str:
    """Say what a cell stands for.

    Examples
    --------
    >>> scale_note(Picture(np.zeros((1, 1)), 0, 0, 16, 32, (16, 32), "x", "", "diverging", -1.0, 1.0))
    'cell = 16\u00d732, farthest from 0'
    """
    down, across = picture.factor
    said = "cell = 1 element" if (down, across) == (1, 1) else f"cell = {down}\u00d7{across}, farthest from 0"
    return f"{said} \u00b7 {picture.note}" if picture.note else said


def axes_note(state: State) -> str:
    """Say which axes are rows and columns."""
    if state.selected is None or len(state.selected.shape) < 3:
        return ""
    if state.axes is None:
        return "rows: leading axes flattened"
    return f"rows: axis {state.axes.row}, columns: axis {state.axes.column}"


def _extents(state: State, extents: tuple[int, ...]) -> tuple[int, int, int]:
    """Block's rows and columns as drawn, and after how many rows blocks start afresh."""
    assert state.selected is not None
    shape = state.selected.shape
    if state.axes is not None:
        return extents[state.axes.row], extents[state.axes.column], state.matrix[0]
    if len(shape) < 2:
        return 1, extents[-1], 1
    return extents[-2], extents[-1], shape[-2]


def _padding(down: int, across: int, matrix: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    rows, columns = matrix
    found = []
    if columns % across:
        found.append((0.0, float(columns), float(rows), float(-(-columns // across) * across)))
    if rows % down and down < rows:
        found.append((float(rows), 0.0, float(-(-rows // down) * down), float(columns)))
    return found


def _box(
    state: State, extents: tuple[int, ...], block: tuple[int, ...]
) -> tuple[float, float, float, float] | None:
    """Rectangle of a block as drawn; None where another slice is shown."""
    assert state.selected is not None
    shape = state.selected.shape or (1,)
    start = tuple(b * e for b, e in zip(block, extents, strict=True))
    if any(s >= d for s, d in zip(start, shape, strict=True)):
        return None
    stop = tuple(min(s + e, d) for s, e, d in zip(start, extents, shape, strict=True))
    if state.axes is not None:
        others = set(range(len(shape))) - {state.axes.row, state.axes.column}
        if any(not start[a] <= state.axes.index[a] < stop[a] for a in others):
            return None
        r, c = state.axes.row, state.axes.column
        return float(start[r]), float(start[c]), float(stop[r]), float(stop[c])
    top, left = place_of(state.selected.shape, None, start)
    last = place_of(state.selected.shape, None, tuple(s - 1 for s in stop))
    return float(top), float(left), float(last[0] + 1), float(last[1] + 1)


def _marginal(state: State, of: str) -> Marginal | None:
    facts, measured = state.facts, state.measured
    if not state.marginal_lines or facts is None or state.axes is not None or state.compare:
        return None
    if state.view in ("error", "codes", "dequantized") and measured is not None:
        values = measured.row_rms if of == "rows" else measured.column_rms
        group, label = 1, "RMS error"
    else:
        values = facts.row_peak if of == "rows" else facts.column_peak
        group, label = (facts.row_group if of == "rows" else facts.column_group), "max |x|"
    if len(values) < 2:
        return None
    if len(values) > 4096:
        step = -(-len(values) // 4096)
        values = np.maximum.reduceat(values, np.arange(0, len(values), step))
        group *= step
    return Marginal((np.arange(len(values)) + 0.5) * group, values, f"{label} of {of}")
