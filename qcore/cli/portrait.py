"""A tensor in numbers and lines: statistics, a histogram, a slice of values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["corner", "histogram", "statistics"]

_BARS, _WIDTH = 21, 50
_ROWS, _COLUMNS = 6, 8


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

    values = _flat(x)
    finite = values[np.isfinite(values)]
    nan = int(np.isnan(values).sum())
    facts: dict[str, Any] = {
        "elements": values.size,
        "nan": nan,
        "infinite": int(values.size - finite.size - nan),
        "zeros": int((finite == 0).sum()),
    }
    if finite.size:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # f64 near its limits: the sum is infinite, and says so
            mean, deviation = float(finite.mean()), float(finite.std())
        peak = float(np.abs(finite).max())
        facts |= {
            "min": float(finite.min()),
            "max": float(finite.max()),
            "mean": mean,
            "std": deviation,
            "max_abs": peak,
            "peak_in_std": peak / deviation if deviation else 0.0,
        }
    return facts


def histogram(x: np.ndarray) -> tuple[dict[str, list[float]], list[str]]:
    """Counts over equal bins from the smallest to the largest finite element, as numbers and as bars."""
    import numpy as np

    values = _flat(x)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return {"edges": [], "counts": []}, ["no finite element"]
    low, high = float(finite.min()), float(finite.max())
    # halves, so that the span of any two finite numbers is finite
    span = high / 2 - low / 2
    places = (finite / 2 - low / 2) / span if span else np.zeros(finite.size)
    counts = np.bincount(np.minimum((places * _BARS).astype(np.int64), _BARS - 1), minlength=_BARS)
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


def _flat(x: np.ndarray) -> np.ndarray:
    """All elements as f64; of complex ones the magnitude."""
    import numpy as np

    return np.asarray(np.abs(x) if np.iscomplexobj(x) else x, np.float64).reshape(-1)


def _number(value: Any) -> str:
    number = value.item()
    return f"{number:>10}" if isinstance(number, int) else f"{number:>10.4g}"


def _more(columns: int) -> str:
    return " ..." if columns > _COLUMNS else ""
