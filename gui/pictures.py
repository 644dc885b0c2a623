"""Heatmaps: a region of a tensor, seen plain or through a scheme, reduced to no more cells than a screen has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from .findings import Picture
from .lens import Lens, reach_of
from .reduce import as_numbers, extreme
from .source import STRIPE, Matrix, project
from .state import Axes, Region, matrix_of

CELLS: Final = 1024
"""Most cells along a side: what a large window has in pixels."""
PREVIEW: Final = 1 << 22
"""Regions of more elements are drawn from some of their rows first."""

@dataclass(frozen=True, slots=True)
class View:
    """What is to be drawn."""

    view: str
    error_mode: str = "signed"
    difference: bool = False
    robust: bool = True


_WHAT: Final = {
    "values": ("x", "", "diverging"),
    "codes": ("code", "", "diverging"),
    "dequantized": ("decoded", "", "diverging"),
    "scales": ("log2 of the effective scale", "", "log2"),
    "error signed": ("decoded \u2212 x", "", "diverging"),
    "error absolute": ("|decoded \u2212 x|", "", "sequential"),
    "error in steps": ("|decoded \u2212 x| / scale", "steps", "sequential"),
    "error block SQNR": ("SQNR of the block", "dB", "sequential"),
    "difference": ("decoded A \u2212 decoded B", "", "diverging"),
}


def needs_lens(view: View) -> bool:
    """Whether a scheme is needed to draw it."""
    return view.difference or view.view != "values"


def draw(
    matrix: Matrix,
    region: Region,
    pixels: tuple[int, int],
    view: View,
    lens: Lens | None,
    other: Lens | None,
    axes: Axes | None,
    cancelled: Callable[[], bool],
    preview: bool = False,
) -> Picture | None:
    """Draw a region. A preview looks at one row in each row of cells. None when cancelled."""
    rows, columns = matrix_of(matrix.shape, axes)
    top, left = max(region.top, 0), max(region.left, 0)
    bottom, right = min(max(region.bottom, top), rows), min(max(region.right, left), columns)
    down, across = (
        max(-(-(stop - start) // max(min(CELLS, p), 16)), 1)
        for start, stop, p in ((top, bottom, pixels[1]), (left, right, pixels[0]))
    )
    top, left = top - top % down, left - left % across
    key = "difference" if view.difference else view.view + (f" {view.error_mode}" if view.view == "error" else "")
    what, unit, kind = _WHAT[key]
    pieces, clips = [], []
    step = down if preview else max(STRIPE // max(right - left, 1) // down, 1) * down
    for start in range(top, bottom, step):
        if cancelled():
            return None
        stop = min(start + (1 if preview else step), bottom)
        cells, clip = _cells(matrix, start, stop, left, right, key, lens, other, axes)
        pieces.append(extreme(as_numbers(cells), 1 if preview else down, across))
        if clip is not None:
            clips.append(extreme(clip.astype(np.float32), 1 if preview else down, across) > 0)
    cells = np.concatenate(pieces) if pieces else np.zeros((0, max(right - left, 0)), np.float32)
    if key == "codes" and lens is not None and not (lens.scheme.value.is_integer and not lens.scheme.is_lookup):
        kind = "sequential"
    low, high = limits(cells, kind, robust=view.robust)
    note = f"preview: 1/{down} of rows" if preview and down > 1 else ""
    return Picture(
        cells, top, left, bottom, right, (down, across), what, unit, kind, low, high, note,
        np.concatenate(clips) if clips else None,
    )  # fmt: skip


def _cells(
    matrix: Matrix, top: int, bottom: int, left: int, right: int, key: str, lens: Lens | None, other: Lens | None,
    axes: Axes | None,
) -> tuple[np.ndarray, np.ndarray | None]:  # fmt: skip
    if key == "values" or lens is None:
        if axes is not None and matrix.array is not None:
            return project(matrix.array, axes)[top:bottom, left:right], None
        return matrix.window(top, bottom, left, right), None
    if key == "error block SQNR":
        with np.errstate(invalid="ignore"):
            return np.minimum(lens.block_sqnr(top, bottom, left, right, axes), 150.0), None
    seen = lens.window(top, bottom, left, right, axes)
    if key == "codes":
        return seen.codes, None
    if key == "dequantized":
        return seen.decoded, None
    if key == "scales":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log2(np.abs(seen.scales)), None
    if key == "difference":
        against = seen if other is None else other.window(top, bottom, left, right, axes)
        return seen.decoded - against.decoded, None
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = seen.decoded - as_numbers(seen.x)
        if key == "error absolute":
            error = np.abs(error)
        elif key == "error in steps":
            error = np.where(seen.scales != 0, np.abs(error) / np.abs(seen.scales), 0.0)
        return error, _clipped(seen.x, seen.scales, lens)


def _clipped(x: np.ndarray, scales: np.ndarray, lens: Lens) -> np.ndarray:
    low, high = reach_of(lens)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = as_numbers(x) / scales
    found: np.ndarray = ((reach >= high) | (reach <= low)) & (scales != 0)
    return found


def limits(cells: np.ndarray, kind: str, *, robust: bool) -> tuple[float, float]:
    """Ends of the colours: a high percentile of what is drawn, or all of it.

    Examples
    --------
    >>> limits(np.array([[-1.0, 0.5]]), "diverging", robust=False)
    (-1.0, 1.0)
    """
    finite = cells[np.isfinite(cells)]
    if not finite.size:
        return (-1.0, 1.0) if kind == "diverging" else (0.0, 1.0)
    if kind == "diverging":
        size = np.abs(finite)
        top = float(np.percentile(size, 99.5)) if robust else float(size.max())
        top = top or float(size.max()) or 1.0
        return -top, top
    low, high = float(finite.min()), float(finite.max())
    if kind == "sequential" and low >= 0 and high < 140:
        low = 0.0
    if robust and finite.size > 64:
        high = max(float(np.percentile(finite, 99.8)), low)
    return (low, high) if high > low else (low, low + (abs(low) or 1.0) * 1e-3 + 1e-30)
