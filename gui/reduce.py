"""Elements into cells: what a heatmap shows when there are more elements than pixels."""

from __future__ import annotations

import numpy as np

__all__ = ["as_numbers", "extreme", "groups"]


def as_numbers(x: np.ndarray) -> np.ndarray:
    """The same numbers in a dtype that NumPy computes in: f32 where that holds them, else f64.

    Examples
    --------
    >>> as_numbers(np.array([True])).dtype, as_numbers(np.array([2**40])).dtype
    (dtype('float32'), dtype('float64'))
    """
    if x.dtype == np.float32 or x.dtype == np.float64:
        return x
    wide = x.dtype.kind in "iu" and x.dtype.itemsize > 2
    return x.astype(np.float64 if wide else np.float32)


def extreme(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Reduce blocks of cells to the element farthest from zero; a NaN wins, the last blocks may be smaller.

    Examples
    --------
    >>> extreme(np.array([[1.0, -3.0, 2.0], [0.0, 2.0, -1.0]]), 2, 2).tolist()
    [[-3.0, 2.0]]
    """
    if rows == 1 and columns == 1:
        return x
    low, high = x, x
    for axis, factor in ((0, rows), (1, columns)):
        if factor > 1 and x.shape[axis]:
            high, low = _fold(high, factor, axis, np.maximum), _fold(low, factor, axis, np.minimum)
    with np.errstate(invalid="ignore"):
        return np.where(high >= -low, high, low)


def groups(x: np.ndarray, factor: int) -> np.ndarray:
    """Largest of every ``factor`` neighbours of a line."""
    if factor == 1 or not x.size:
        return x
    found: np.ndarray = np.maximum.reduceat(x, np.arange(0, x.size, factor))
    return found


def _fold(x: np.ndarray, factor: int, axis: int, by: np.ufunc) -> np.ndarray:
    whole = x.shape[axis] // factor * factor
    head = x[:whole] if axis == 0 else x[:, :whole]
    rest = x[whole:] if axis == 0 else x[:, whole:]
    shape = (-1, factor, x.shape[1]) if axis == 0 else (x.shape[0], -1, factor)
    with np.errstate(invalid="ignore"):
        folded: np.ndarray = by.reduce(head.reshape(shape), axis=1 if axis == 0 else 2)
        if rest.shape[axis]:
            folded = np.concatenate([folded, by.reduce(rest, axis=axis, keepdims=True)], axis=axis)
    return folded
