"""A tensor in numbers and lines: statistics, a histogram, a slice of values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["corner", "histogram", "statistics"]

_BARS, _WIDTH = 21, 50
_ROWS, _COLUMNS = 6, 8
_PIECE = 1 << 18  # elements looked at together: they and what is made of them stay in the cache


def statistics(x: np.ndarray) -> dict[str, Any]:
    """Numbers of an array, over its finite elements; those that are not are counted.

    Examples
    --------
    >>> import numpy as np
    >>> found = statistics(np.array([0.0, 1.0, -3.0, np.nan]))
    >>> found["min"], found["max"], found["zeros"], found["nan"]
    (-3.0, 1.0, 1, 1)
    """
    import numpy as np

    count = nan = zeros = 0
    low, high, total = np.inf, -np.inf, 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # f64 near its limits: a sum is infinite, and says so
        for values, finite in _pieces(x):
            count += finite.size
            nan += int(np.isnan(values).sum()) if finite.size < values.size else 0
            zeros += finite.size - int(np.count_nonzero(finite))
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
                total += float(finite.sum())
        facts: dict[str, Any] = {
            "elements": int(x.size),
            "nan": nan,
            "infinite": int(x.size) - count - nan,
            "zeros": zeros,
        }
        if not count:
            return facts
        mean, squares = total / count, 0.0
        for _, finite in _pieces(x):
            squares += float(np.square(finite - mean).sum())
        deviation = math.sqrt(squares / count) if squares >= 0 else squares
    peak = max(abs(low), abs(high))
    return facts | {
        "min": low,
        "max": high,
        "mean": mean,
        "std": deviation,
        "max_abs": peak,
        "peak_in_std": peak / deviation if deviation else 0.0,
    }


def histogram(x: np.ndarray) -> tuple[dict[str, list[float]], list[str]]:
    """Counts over equal bins from the smallest to the largest finite element, as numbers and as bars."""
    import numpy as np

    ends = [(float(finite.min()), float(finite.max())) for _, finite in _pieces(x) if finite.size]
    if not ends:
        return {"edges": [], "counts": []}, ["no finite element"]
    low, high = min(end for end, _ in ends), max(end for _, end in ends)
    # halves, so that the span of any two finite numbers is finite
    span = high / 2 - low / 2
    counts = np.zeros(_BARS, np.int64)
    for _, finite in _pieces(x):
        places = (finite / 2 - low / 2) / span if span else np.zeros(finite.size)
        counts += np.bincount(np.minimum((places * _BARS).astype(np.int64), _BARS - 1), minlength=_BARS)
    along = np.arange(_BARS + 1) / _BARS
    edges = np.maximum.accumulate(np.clip(low * (1 - along) + high * along, low, high))
    top = int(counts.max())
    lines = [
        f"{low:>12.4g} {'#' * max(math.ceil(_WIDTH * count / top), 0)} {count:,}"
        for low, count in zip(edges[:-1], counts, strict=True)
    ]
    return {"edges": edges.tolist(), "counts": counts.tolist()}, lines


def corner(x: np.ndarray) -> list[str]:
    """Write down a few rows and columns of an array as a matrix: the last two axes at the start of the others."""
    import numpy as np

    if not x.size:
        return ["  none"]
    flat = np.atleast_2d(x)
    while flat.ndim > 2:
        flat = flat[0]
    rows, columns = flat.shape
    lines = [
        "  " + " ".join(_number(value) for value in row[:_COLUMNS]) + _more(columns) for row in flat[:_ROWS]
    ]
    return [*lines, *(["  ..."] if rows > _ROWS else [])]


def _pieces(x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Elements as f64, a piece at a time, and the finite ones of them; of complex ones the magnitude."""
    import numpy as np

    flat = np.asarray(x).reshape(-1)
    for at in range(0, flat.size, _PIECE):
        piece = flat[at : at + _PIECE]
        values = np.asarray(np.abs(piece) if np.iscomplexobj(piece) else piece, np.float64)
        fine = np.isfinite(values)
        yield values, values if fine.all() else values[fine]


def _number(value: Any) -> str:
    number = value.item()
    return f"{number:>10}" if isinstance(number, int) else f"{number:>10.4g}"


def _more(columns: int) -> str:
    return " ..." if columns > _COLUMNS else ""
