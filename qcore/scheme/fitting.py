"""Fitting a codebook to a tensor: one-dimensional k-means in f64, deterministic, in bounded memory.

Elements are divided by the peak of their block, so points lie in -1..1. A small tensor's points are taken one by one; a
large one's are gathered in a fine grid of bins, each with its weight and its own mean, a chunk of the tensor at a
time. Everything after that costs the same whatever the size of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcore import errors
from qcore.scheme.codebook import BITS_BY_LENGTH, numbers
from qcore.scheme.resolve import resolve
from qcore.scheme.scheme import QuantScheme

_POINTS: Final = 1 << 16
"""Points that k-means works on at most: elements of a small tensor, bins of a large one."""
_CHUNK: Final = 1 << 20
"""Elements that are divided at a time, unless a single block is larger."""
_ROUNDS: Final = 100

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
Slices = tuple[slice, ...]


def fit_table(
    x: ArrayLike, bits: int, scheme: QuantScheme | str | None, weights: ArrayLike | None
) -> NDArray[np.float64]:
    """Return the table of ``2^bits`` entries that fits a tensor.

    Parameters
    ----------
    x : array_like
        The tensor.
    bits : int
        Width of an index: 2, 4 or 8.
    scheme : QuantScheme, str or None
        The scheme whose blocks count; without one, the whole tensor is a block.
    weights : array_like or None
        How much each element matters.

    Returns
    -------
    ndarray
        The entries, sorted, their largest magnitude 1.

    Raises
    ------
    InvalidSchemeError
        ``bad-codebook`` or ``table-length``.

    Examples
    --------
    >>> fit_table([1.0, 2.0, 4.0], 2, None, None).tolist()
    [0.25, 0.5, 1.0, 1.0]
    """
    size = _table_size(bits, scheme)
    tensor = np.atleast_1d(numbers(x, "x"))
    weight = None if weights is None else np.atleast_1d(numbers(weights, "weights"))
    if weight is not None and weight.shape != tensor.shape:
        raise _refusal(
            f"weights of shape {list(weight.shape)} do not belong to x of shape {list(tensor.shape)}"
        )
    block = resolve(scheme).scheme.block_size if scheme is not None else None
    extents = block.expand(tensor.ndim) if block is not None else None
    peak = _checked_peak(tensor, weight)
    points, mass = _gathered(tensor, weight, extents, peak)
    if not points.any():
        raise _refusal("x holds no value but zero" + ("" if weight is None else " that has a weight"))
    centres = points if len(points) <= size else _clustered(points, mass, size)
    table = centres / np.max(np.abs(centres))
    return np.concatenate([table, np.full(size - len(table), table[-1])])


def _table_size(bits: int, scheme: QuantScheme | str | None) -> int:
    """Return the entries of a table, held against the scheme it is for."""
    if isinstance(bits, bool) or bits not in BITS_BY_LENGTH.values():
        raise errors.build("option-value", option="bits", expected="2, 4 or 8", got=str(bits)[:40])
    size = 1 << bits
    width = bits if scheme is None else resolve(scheme).scheme.value.bits
    if width != bits:
        raise errors.build("table-length", bits=width, expected=1 << width, got=size)
    return size


def _checked_peak(x: NDArray[Any], weight: NDArray[Any] | None) -> float:
    """Return the largest magnitude of a tensor; refuse what is not finite, and negative weights."""
    peak, bad = 0.0, 0
    for window in _windows(x.shape, (1,) * x.ndim):
        values = _single(x[window])
        bad += values.size - int(np.count_nonzero(np.isfinite(values)))
        peak = max(peak, float(np.max(np.abs(values))))
        if weight is not None and not _are_weights(_single(weight[window])):
            raise _refusal("a weight is negative or not finite")
    if bad:
        raise _refusal(f"x holds {bad} values that are not finite")
    return peak


def _are_weights(part: NDArray[np.float32]) -> bool:
    return bool(np.all((part >= 0) & (part < np.inf)))


def _single(part: NDArray[Any]) -> NDArray[np.float32]:
    """Return a part of a tensor in f32, as quantizing would read it."""
    with np.errstate(over="ignore"):
        return part.astype(np.float32)


def _gathered(
    x: NDArray[Any], weight: NDArray[Any] | None, extents: tuple[int, ...] | None, peak: float
) -> Points:
    """Return the distinct points in rising order, and the weight of each."""
    alone: list[Points] = []  # a small tensor's points, one by one
    total, moment = np.zeros(_POINTS), np.zeros(_POINTS)  # a large one's, by bin
    for window in _windows(x.shape, extents or (1,) * x.ndim):
        values = _divided(_single(x[window]), extents, peak).reshape(-1)
        mass = np.ones(values.size) if weight is None else weight[window].astype(np.float64).reshape(-1)
        kept = ~np.isnan(values) & (mass > 0)  # a block of zeros has no peak to divide by
        values, mass = values[kept], mass[kept]
        if x.size <= _POINTS:
            alone.append((values, mass))
        else:
            bins = np.minimum(((values + 1) * (_POINTS / 2)).astype(np.int64), _POINTS - 1)
            total += np.bincount(bins, mass, _POINTS)
            moment += np.bincount(bins, mass * values, _POINTS)
    if alone:
        points, where = np.unique(np.concatenate([values for values, _ in alone]), return_inverse=True)
        masses = np.concatenate([mass for _, mass in alone])
        return points, np.bincount(where, masses, len(points)).astype(np.float64)
    filled = total > 0
    return moment[filled] / total[filled], total[filled]


def _divided(
    x: NDArray[np.float32], extents: tuple[int, ...] | None, whole_peak: float
) -> NDArray[np.float64]:
    """Return elements divided by the peak of their block; NaN where it is zero."""
    peaks = np.full(x.shape, whole_peak)
    if extents is not None:
        peaks = np.abs(x).astype(np.float64)
        for axis, extent in enumerate(extents):
            starts = np.arange(0, x.shape[axis], extent)
            peaks = np.repeat(np.maximum.reduceat(peaks, starts, axis), extent, axis)
            peaks = peaks[(slice(None),) * axis + (slice(0, x.shape[axis]),)]
    quotient = np.full(x.shape, np.nan)
    np.divide(x, peaks, out=quotient, where=peaks > 0)
    return quotient


def _windows(shape: tuple[int, ...], extents: tuple[int, ...]) -> Iterator[Slices]:
    """Cut a shape into windows of whole blocks of at most `_CHUNK` elements, in C order."""
    if 0 in shape:
        return
    steps = list(shape)
    for axis, extent in enumerate(extents):
        if np.prod(steps, dtype=object) <= _CHUNK:
            break
        rest = int(np.prod(steps[axis + 1 :], dtype=object))
        steps[axis] = min(shape[axis], max(1, _CHUNK // (rest * extent)) * extent)
    for starts in product(*(range(0, dim, step) for dim, step in zip(shape, steps, strict=True))):
        yield tuple(slice(start, start + step) for start, step in zip(starts, steps, strict=True))


def _clustered(points: NDArray[np.float64], mass: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Move centres to the means of the points nearest to them until none changes its points."""
    centres = points[_quantiles(mass, size)]
    moments = points * mass
    before: NDArray[np.intp] | None = None
    for _ in range(_ROUNDS):
        edges = np.searchsorted(points, (centres[1:] + centres[:-1]) / 2, side="right")
        if before is not None and np.array_equal(edges, before):
            break
        before = edges
        starts = np.concatenate([np.zeros(1, np.intp), edges])
        held = np.diff(np.append(starts, len(points))) > 0
        # reduceat sums a cluster's points alone: differences of running sums would lose small clusters' bits
        centres = centres.copy()
        centres[held] = np.add.reduceat(moments, starts[held]) / np.add.reduceat(mass, starts[held])
    return np.sort(centres)


def _quantiles(mass: NDArray[np.float64], size: int) -> NDArray[np.intp]:
    """Return the points at evenly spaced quantiles, moved apart where one heavy point holds several."""
    running = np.cumsum(mass)
    at = np.searchsorted(running, (np.arange(size) + 0.5) / size * running[-1])
    ranks = np.arange(size, dtype=np.intp)
    apart = np.maximum.accumulate(np.minimum(at, len(mass) - 1) - ranks) + ranks
    return np.minimum(apart, len(mass) - size + ranks, dtype=np.intp)


def _refusal(reason: str) -> errors.QuantError:
    return errors.build("bad-codebook", reason=reason)
