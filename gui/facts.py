"""Numbers of a tensor by itself, streamed: extremes, marginals, histogram."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .findings import Facts
from .reduce import as_numbers, groups
from .source import Matrix

BINS: Final = 256
LINES: Final = 1 << 16
"""Marginals of more lines than this are kept for groups of lines."""

Progress = Callable[[int, int], None]


def look(matrix: Matrix, cancelled: Callable[[], bool], progress: Progress) -> Facts | None:
    """Read everything twice: once for the extremes, once for the bins between them. None when cancelled.

    Examples
    --------
    >>> from .source import matrix_of_array
    >>> found = look(matrix_of_array("x", np.array([[1.0, -2.0], [np.nan, 0.0]])), lambda: False, lambda a, b: None)
    >>> found.low, found.high, found.nan, int(found.counts.sum())
    (-2.0, 1.0, 1, 3)
    """
    row_group, column_group = (max(-(-n // LINES), 1) for n in (matrix.rows, matrix.columns))
    row_peak, column_peak = (
        np.zeros(-(-n // group) if n else 0, np.float64)
        for n, group in ((matrix.rows, row_group), (matrix.columns, column_group))
    )
    low, high, peak, peak_at = math.inf, -math.inf, -1.0, (0, 0)
    nan = infinite = zeros = finite_count = 0
    total, square, first_bad = 0.0, 0.0, None
    windows = list(matrix.stripes(row_group, column_group))
    for done, (top, bottom, left, right) in enumerate(windows):
        if cancelled():
            return None
        x = as_numbers(matrix.window(top, bottom, left, right))
        bad = ~np.isfinite(x)
        if bad.any():
            row, column = np.unravel_index(int(bad.argmax()), bad.shape)
            first_bad = first_bad or (top + int(row), left + int(column))
            found_nan = int(np.isnan(x).sum())
            nan, infinite = nan + found_nan, infinite + int(bad.sum()) - found_nan
            x = np.where(bad, 0, x)
        kept = x.size - int(bad.sum())
        finite_count += kept
        zeros += int((x == 0).sum()) - (x.size - kept)
        if kept:
            values = x if kept == x.size else x[~bad]
            low, high = min(low, float(values.min())), max(high, float(values.max()))
        size = np.abs(x)
        at = int(size.argmax())
        if float(size.flat[at]) > peak:
            row, column = np.unravel_index(at, size.shape)
            peak, peak_at = float(size.flat[at]), (top + int(row), left + int(column))
        rows = slice(top // row_group, -(-bottom // row_group))
        columns = slice(left // column_group, -(-right // column_group))
        row_peak[rows] = np.maximum(row_peak[rows], groups(size.max(axis=1), row_group))
        column_peak[columns] = np.maximum(column_peak[columns], groups(size.max(axis=0), column_group))
        with np.errstate(over="ignore"):
            total += float(x.sum(dtype=np.float64))
            square += float(np.square(x, dtype=np.float64).sum())
        progress(done + 1, 2 * len(windows))
    edges, counts = _bins(matrix, windows, low, high, cancelled, progress)
    if edges is None:
        return None
    mean = total / finite_count if finite_count else 0.0
    deviation = math.sqrt(max(square / finite_count - mean * mean, 0.0)) if finite_count else 0.0
    return Facts(
        matrix.name, matrix.size, nan, infinite, zeros,
        low if finite_count else math.nan, high if finite_count else math.nan,
        max(peak, 0.0), peak_at, deviation, first_bad, edges, counts,
        row_peak, column_peak, row_group, column_group,
    )  # fmt: skip


def _bins(
    matrix: Matrix, windows: list[Any], low: float, high: float, cancelled: Callable[[], bool], progress: Progress
) -> tuple[Any, Any]:
    counts = np.zeros(BINS, np.int64)
    if not low <= high:
        return np.linspace(0.0, 1.0, BINS + 1), counts
    if low == high:  # a constant: one bin of some width around it
        width = abs(low) / 2 or 0.5
        edges = np.linspace(low - width, low + width, BINS + 1)
    else:
        along = np.arange(BINS + 1) / BINS
        edges = low * (1 - along) + high * along
    first, last = edges[0], edges[-1]
    factor = BINS / (last / 2 - first / 2) / 2  # halves: the span of two finite numbers is finite
    for done, (top, bottom, left, right) in enumerate(windows):
        if cancelled():
            return None, None
        x = as_numbers(matrix.window(top, bottom, left, right)).reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = x[np.isfinite(x)].astype(np.float64)
            place = ((finite / 2 - first / 2) * (2 * factor)).astype(np.int64)
        counts += np.bincount(np.clip(place, 0, BINS - 1), minlength=BINS)
        progress(len(windows) + done + 1, 2 * len(windows))
    return edges, counts
