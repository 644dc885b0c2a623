"""A second opinion on every number: written from tables and exact comparisons, sharing nothing with the package.

The package rounds with bit tricks; this file looks values up in lists of everything a format can express. Where both
agree, neither is likely to be wrong. It is slow and only meant for small tensors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INTEGERS: dict[str, tuple[int, int, int]] = {
    "q8f": (8, -128, 127),
    "q8s": (8, -127, 127),
    "q4f": (4, -8, 7),
    "q4s": (4, -7, 7),
    "q2f": (2, -2, 1),
    "q2s": (2, -1, 1),
}
MINIFLOATS: dict[str, tuple[int, Any]] = {
    "e4m3": (8, ml_dtypes.float8_e4m3fn),
    "e5m2": (8, ml_dtypes.float8_e5m2),
    "e2m1": (4, ml_dtypes.float4_e2m1fn),
}
VALUES = (*INTEGERS, *MINIFLOATS)
SCALE_DTYPES = ("f32", "f16", "bf16", "ue8m0", "ue4m3")
#: Exponent of the largest value and width of the mantissa, for the power-of-two scale rules.
ELEMENT_EXPONENTS = {"e2m1": (2, 1), "e4m3": (8, 3), "e5m2": (15, 2)}
SMALLEST_NORMAL_F32 = np.float32(1.17549435e-38)


def bits_of(value: str) -> int:
    """Width of one code."""
    return INTEGERS[value][0] if value in INTEGERS else MINIFLOATS[value][0]


def half_range(value: str) -> np.float32:
    """Half the distance between the largest and the smallest value: what a peak is divided by."""
    if value in INTEGERS:
        _, lo, hi = INTEGERS[value]
        return np.float32((hi - lo) / 2)
    return np.float32({"e4m3": 448.0, "e5m2": 57344.0, "e2m1": 6.0}[value])


def decode_table(value: str) -> Array:
    """Float32 value of every code, by unsigned code (NaN and infinities included)."""
    bits = bits_of(value)
    codes = np.arange(2**bits)
    if value in INTEGERS:
        half = 2 ** (bits - 1)
        return ((codes ^ half) - half).astype(np.float32)
    return codes.astype(np.uint8).view(MINIFLOATS[value][1]).astype(np.float32)


def magnitudes(value: str) -> Array:
    """Finite non-negative values of a minifloat in code order, as float64."""
    table = decode_table(value)[: 2 ** (bits_of(value) - 1)].astype(np.float64)
    return table[np.isfinite(table)]


def scale_grid(dtype: str) -> Array:
    """Every finite scale a dtype can store, ascending, as float64."""
    if dtype == "f16":
        grid = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    elif dtype == "bf16":
        grid = (np.arange(0x7F80, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)
    elif dtype == "ue4m3":
        grid = np.arange(0x7F, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    else:
        grid = np.exp2(np.arange(-127, 128, dtype=np.float64))
    return grid


def round_scales(needed: Array, dtype: str, rule: str) -> Array:
    """Scales of float32 rounded to what ``dtype`` can store, by ``up`` or ``nearest``."""
    if dtype == "f32":
        return needed.astype(np.float32)
    grid = scale_grid(dtype)
    # beyond the top both neighbours are equally far in float64: saturate first
    exact = np.minimum(needed.astype(np.float64), grid[-1])
    above = np.minimum(np.searchsorted(grid, exact, side="left"), len(grid) - 1)
    if rule == "up":
        chosen = above
    else:
        below = np.maximum(above - 1, 0)
        to_above, to_below = np.abs(grid[above] - exact), np.abs(exact - grid[below])
        even = np.where(above % 2 == 0, above, below) if dtype != "ue8m0" else above
        chosen = np.where(to_above < to_below, above, np.where(to_below < to_above, below, even))
    return grid[chosen].astype(np.float32)


def power_of_two(peaks: Array, value: str, rule: str) -> Array:
    """The ``floor`` and ``even`` rules: exponent of the peak's bits less the exponent of the largest element."""
    emax, mbits = ELEMENT_EXPONENTS[value]
    bits = peaks.astype(np.float32).view(np.uint32).astype(np.int64)
    if rule == "even":
        bits = bits + (1 << (23 - mbits - 1))
    exponents = np.clip((bits >> 23) - 127 - emax, -127, 127)
    return np.exp2(exponents.astype(np.float64)).astype(np.float32)


def encode_integers(t: Array, value: str, rounding: str) -> Array:
    """Signed codes of scaled values."""
    _, lo, hi = INTEGERS[value]
    exact = t.astype(np.float64)
    whole = np.rint(exact) if rounding == "half-even" else np.copysign(np.floor(np.abs(exact) + 0.5), exact)
    return np.clip(whole, lo, hi).astype(np.int8)


def encode_minifloats(t: Array, value: str) -> Array:
    """Codes of scaled values: nearest, ties to the even code, saturating."""
    grid = magnitudes(value)
    exact = np.abs(t.astype(np.float64))
    middles = (grid[1:] + grid[:-1]) / 2
    lower = np.searchsorted(middles, exact, side="left")
    tie = (lower < len(middles)) & (exact == middles[np.minimum(lower, len(middles) - 1)])
    index = np.where(tie & (lower % 2 == 1), lower + 1, lower)
    return (index + np.where(np.signbit(t), 2 ** (bits_of(value) - 1), 0)).astype(np.uint8)


def encode_lookup(t: Array, table: Array) -> Array:
    """Index of the nearest entry, a tie to the lower index."""
    exact = np.clip(t.astype(np.float64), table.min(), table.max())
    distance = np.abs(exact[..., None] - table.astype(np.float64))
    return np.argmin(distance, axis=-1).astype(np.uint8)


def fixed_order_sum(values: Array) -> float:
    """Sum of float64 in the documented order: chunks of 4096, eight lanes, chunk sums pairwise."""
    flat = [float(v) for v in np.ravel(values)]
    sums = []
    for start in range(0, len(flat), 4096):
        lanes = [0.0] * 8
        for index, number in enumerate(flat[start : start + 4096]):
            lanes[index % 8] += number
        total = lanes[0]
        for lane in lanes[1:]:
            total += lane
        sums.append(total)
    while len(sums) > 1:
        paired = [left + right for left, right in zip(sums[::2], sums[1::2], strict=False)]
        sums = paired + ([sums[-1]] if len(sums) % 2 else [])
    return sums[0] if sums else 0.0


def pack(codes: Array, bits: int, word_bytes: int, axis: int) -> Array:
    """Codes into words along one axis, first code in the low bits, each line padded with zero bits."""
    per_word = word_bytes * 8 // bits
    moved = np.moveaxis(np.asarray(codes), axis, -1)
    words = np.zeros((*moved.shape[:-1], math.ceil(moved.shape[-1] / per_word)), np.uint64)
    for position in range(moved.shape[-1]):
        field = moved[..., position].astype(np.int64) & (2**bits - 1)
        words[..., position // per_word] |= field.astype(np.uint64) << np.uint64(bits * (position % per_word))
    return np.moveaxis(words, -1, axis).astype(np.uint32 if word_bytes == 4 else np.uint8)


@dataclass(frozen=True)
class Fields:
    """A scheme as its parts; ``text`` is how a user writes it."""

    value: str
    store: str = "u32"
    lookup: bool = False
    block: tuple[int, ...] | None = None
    block_dtype: str = "f32"
    tensor: str | None = None

    @property
    def text(self) -> str:
        """Canonical text of the scheme."""
        parts = [self.value, self.store]
        parts += ["lookup"] if self.lookup else []
        parts += [f"b{'x'.join(map(str, self.block))}:{self.block_dtype}"] if self.block is not None else []
        parts += [f"t:{self.tensor}"] if self.tensor is not None else []
        return "/".join(parts)

    @property
    def two_level(self) -> bool:
        """Whether block scales are relative to a scale of the whole tensor."""
        return self.block is not None and self.tensor is not None

    @property
    def scale_dtype(self) -> str:
        """Dtype of the innermost scales."""
        return self.block_dtype if self.block is not None else (self.tensor or "f32")

    def extents(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Extent of a block along every axis; per tensor the block is the tensor."""
        if self.block is None:
            return shape
        return (1,) * (len(shape) - len(self.block)) + self.block

    def values(self, codes: Array) -> Array:
        """What the values region holds for logical codes."""
        kind, _, dim = self.store.partition(":")
        if kind == "native":
            unsigned = self.lookup or self.value in MINIFLOATS
            return codes.astype(np.uint8 if unsigned else np.int8)
        return pack(codes, bits_of(self.value), 4 if kind == "u32" else 1, codes.ndim - int(dim or 0) - 1)


@dataclass(frozen=True)
class Answer:
    """Everything a quantized tensor must hold, and what it decodes to."""

    codes: Array
    scales: Array
    global_scale: np.float32 | None
    effective: Array
    decoded: Array


def spread(grid: Array, extents: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """The number of its block beside every element."""
    if not grid.ndim or (grid.shape == (1,) and extents == shape):
        return np.broadcast_to(grid.reshape(()), shape)
    index = np.ix_(*(np.arange(dim) // extent for dim, extent in zip(shape, extents, strict=True)))
    return np.asarray(grid[index])


def block_peaks(x: Array, extents: tuple[int, ...]) -> Array:
    """Largest magnitude of every block, as a grid."""
    grid = np.zeros([-(-dim // extent) for dim, extent in zip(x.shape, extents, strict=True)], np.float32)
    for position in np.ndindex(*x.shape):
        block = tuple(p // e for p, e in zip(position, extents, strict=True))
        grid[block] = max(grid[block], abs(x[position]))
    return grid


def quantize(
    x: Array,
    fields: Fields,
    *,
    table: Array | None = None,
    rounding: str = "half-away",
    scale_rounding: str = "up",
    scales: Array | None = None,
    global_scale: float | None = None,
    zero_substitute: float = 0.0,
) -> Answer:
    """Quantize a small float32 tensor by the written rules (min-max, or explicit stored scales)."""
    extents = fields.extents(x.shape)
    half = np.float32(np.abs(table).max()) if table is not None else half_range(fields.value)
    explicit = scales is not None
    with np.errstate(all="ignore"):
        if scales is None:
            scales, global_scale = _solve(block_peaks(x, extents), fields, half, scale_rounding)
        stored = scales
        effective = stored if global_scale is None else (np.float32(global_scale) * stored).astype(np.float32)
        used = np.where(effective == 0, np.float32(zero_substitute), effective).astype(np.float32)
        divisor = spread(used, extents, x.shape)
        t = np.where(divisor == 0, np.float32(0), x.astype(np.float32) / divisor).astype(np.float32)
    # a calibrated block of zeros drops the sign of -0.0; under an explicit scale an element is just an element
    empty = spread(block_peaks(x, extents), extents, x.shape) == 0
    blank = (divisor == 0) | (empty & (not explicit))
    if table is not None:
        codes, values = encode_lookup(t, table), table.astype(np.float32)
        codes[blank] = np.argmin(np.abs(table))
    elif fields.value in INTEGERS:
        codes, values = encode_integers(t, fields.value, rounding), decode_table(fields.value)
    else:
        codes, values = encode_minifloats(t, fields.value), decode_table(fields.value)
        codes[blank] = 0
    with np.errstate(all="ignore"):
        decoded = values[codes.astype(np.int64) & (len(values) - 1)] * divisor
    level = None if global_scale is None else np.float32(global_scale)
    return Answer(codes, stored.reshape(-1) if fields.block is None else stored, level, effective, decoded)


def _solve(peaks: Array, fields: Fields, half: np.float32, rule: str) -> tuple[Array, float | None]:
    if rule in ("floor", "even"):
        return power_of_two(peaks, fields.value, rule), None
    needed = (peaks / half).astype(np.float32)
    if not fields.two_level:
        return round_scales(needed, fields.scale_dtype, rule), None
    top = np.float32({"f16": 65504.0, "ue4m3": 448.0}[fields.block_dtype])
    level = max(np.float32(needed.max() / top), SMALLEST_NORMAL_F32)
    return round_scales((needed / level).astype(np.float32), fields.block_dtype, rule), float(level)
