"""A scaled float to a code and back, for each of the three kinds of element type, from the definitions.

Comparisons are exact: float32 numbers, their doubles and the midpoints of minifloats are float64 numbers, and the
midpoint of two table entries is carried as an unrounded sum.
"""

from __future__ import annotations

import numpy as np

from qcore.plan import INTEGER, LOOKUP, MINIFLOAT, Codec


def encode(x: np.ndarray, effective: np.ndarray, codec: Codec) -> np.ndarray:
    """Codes of ``x`` under effective scales (one per element): int8 for integers, else uint8.

    NaN and every element under an effective scale of 0 get the zero code; infinities get the ends of the range.
    """
    without_scale = effective == 0
    t = scaled(x, effective)
    undecided = np.isnan(t) | without_scale
    codes = _ENCODERS[codec.kind](np.where(undecided, np.float32(0), t), codec)
    return np.where(undecided, zero_code(codec), codes).astype(codes_dtype(codec))


def scaled(x: np.ndarray, effective: np.ndarray) -> np.ndarray:
    """``f32(x / effective)``, a true division; x itself where the scale is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return x / np.where(effective == 0, np.float32(1), effective)


def decode(codes: np.ndarray, effective: np.ndarray, codec: Codec) -> np.ndarray:
    """``f32(effective * value of the code)``; of a byte that holds more than a code, the code's bits count."""
    values = codec.table[codes.astype(np.int64) & (2**codec.bits - 1)]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(effective * values)


def codes_dtype(codec: Codec) -> type[np.int8 | np.uint8]:
    """Dtype of one code per element."""
    return np.int8 if codec.kind == INTEGER else np.uint8


def zero_code(codec: Codec) -> int:
    """0, or for lookup the first of the entries nearest to 0."""
    return int(np.argmin(np.abs(codec.table))) if codec.kind == LOOKUP else 0


def clipped(t: np.ndarray, codec: Codec) -> np.ndarray:
    """Where the grid of the format, continued without end, would round ``t`` beyond its largest code."""
    if codec.kind == INTEGER:
        whole = _whole(t, codec)
        return np.asarray((whole < codec.lo) | (whole > codec.hi))
    if codec.kind == MINIFLOAT:
        largest = len(_magnitudes(codec)) - 1
        half_step = 2.0 ** (np.floor(np.log2(codec.top)) - codec.mbits - 1)
        limit = codec.top + half_step
        # The tie goes to the even code: to the largest code where that is even, beyond it otherwise.
        beyond = np.greater if largest % 2 == 0 else np.greater_equal
        return np.asarray(beyond(np.abs(t.astype(np.float64)), limit))
    entries = np.unique(codec.table).astype(np.float64)
    gaps = np.diff(entries) if len(entries) > 1 else np.zeros(1)
    return np.asarray((t < entries[0] - gaps[0] / 2) | (t > entries[-1] + gaps[-1] / 2))


def _whole(t: np.ndarray, codec: Codec) -> np.ndarray:
    """Round to whole numbers; exact, because in float64 neither |t| + 0.5 nor its floor loses what decides."""
    exact = t.astype(np.float64)
    if codec.half_even:
        return np.rint(exact)
    return np.copysign(np.floor(np.abs(exact) + 0.5), exact)


def _encode_integer(t: np.ndarray, codec: Codec) -> np.ndarray:
    return np.asarray(np.clip(_whole(t, codec), codec.lo, codec.hi), np.int64)


def _magnitudes(codec: Codec) -> np.ndarray:
    """The finite numbers of codes 0, 1, 2, ... up to the largest."""
    positive: np.ndarray = codec.table[: 2 ** (codec.bits - 1)].astype(np.float64)
    return np.extract(np.isfinite(positive), positive)


def _encode_minifloat(t: np.ndarray, codec: Codec) -> np.ndarray:
    magnitudes = _magnitudes(codec)
    midpoints = (magnitudes[:-1] + magnitudes[1:]) / 2
    exact = np.abs(t.astype(np.float64))
    code = np.searchsorted(midpoints, exact, side="left")  # how many midpoints lie below: a tie stays below
    on_tie = np.isin(exact, midpoints)
    code = code + (on_tie & (code % 2 == 1))
    return np.asarray(np.where(np.signbit(t), code + 2 ** (codec.bits - 1), code))


def _encode_lookup(t: np.ndarray, codec: Codec) -> np.ndarray:
    entries, first_index = np.unique(codec.table, return_index=True)
    twice = 2 * t.astype(np.float64)
    nearest = np.full(t.shape, first_index[0])
    for position in range(1, len(entries)):
        below, above = float(entries[position - 1]), float(entries[position])
        total = below + above
        lost = _lost_in_sum(below, above, total)
        upper_half = (twice > total) | ((twice == total) & (lost < 0))
        tie = (twice == total) & (lost == 0)
        lower_index = first_index[position] < first_index[position - 1]
        nearest = np.where(upper_half | (tie & lower_index), first_index[position], nearest)
    return nearest


def _lost_in_sum(a: float, b: float, total: float) -> float:
    """What rounding took from a + b: exactly a + b - total."""
    of_b = total - a
    return (a - (total - of_b)) + (b - of_b)


_ENCODERS = {INTEGER: _encode_integer, MINIFLOAT: _encode_minifloat, LOOKUP: _encode_lookup}
