"""Where the nearest entry of a table changes: decision thresholds in f32, exact whatever the table."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

_FRACTION_BITS: Final = 149  # every f32 is a whole number of 2^-149
_MANTISSA_BITS: Final = 24


def sorted_order(table: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the index at each sorted position; of equal entries, at all of theirs, the lowest.

    Parameters
    ----------
    table : ndarray
        The entries, f32.

    Returns
    -------
    ndarray
        One uint8 for each sorted position.

    Examples
    --------
    >>> sorted_order(np.array([2, 1, 1, 3], np.float32))
    array([1, 1, 0, 3], dtype=uint8)
    """
    order = np.argsort(table, kind="stable")
    for position in range(1, len(order)):
        if table[order[position]] == table[order[position - 1]]:
            order[position] = order[position - 1]
    return order.astype(np.uint8)


def thresholds(table: NDArray[np.float32], order: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the f32 numbers between sorted neighbours: a value above one belongs to the upper neighbour.

    A threshold is the exact midpoint rounded down to f32. Every f32 above it is then nearer to the upper
    neighbour, or, where the midpoint is an f32 itself, no nearer to either: there the lower index wins, which
    takes one step down when it is the upper neighbour's.

    Parameters
    ----------
    table : ndarray
        The entries, f32.
    order : ndarray
        Their order, from `sorted_order`.

    Returns
    -------
    ndarray
        One f32 fewer than there are entries, not decreasing.

    Examples
    --------
    >>> table = np.array([3, 1, 4, 0], np.float32)
    >>> thresholds(table, sorted_order(table))
    array([0.49999997, 1.9999999 , 3.5       ], dtype=float32)
    """
    bounds = np.empty(len(table) - 1, np.float32)
    for position in range(len(bounds)):
        below, above = order[position], order[position + 1]
        bound, exact = _midpoint_down(float(table[below]), float(table[above]))
        if exact and above < below:
            bound = float(np.nextafter(np.float32(bound), np.float32(-np.inf)))
        bounds[position] = bound
    return bounds


def _midpoint_down(u: float, v: float) -> tuple[float, bool]:
    """Return the largest f32 that is not above ``(u + v) / 2``, and whether it is the midpoint itself.

    Whole numbers of 2^-150 hold the midpoint exactly; f64 does not when the exponents lie far apart.
    """
    middle = _units(u) + _units(v)
    step = max(2, 1 << max(0, abs(middle).bit_length() - _MANTISSA_BITS))
    whole = middle // step * step
    return math.ldexp(whole, -_FRACTION_BITS - 1), whole == middle


def _units(value: float) -> int:
    """Return an f32 as a whole number of 2^-149."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * ((1 << _FRACTION_BITS) // denominator)
