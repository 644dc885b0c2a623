"""The reference backend, against the written formulas one element at a time, in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from qcore.backends.reference import open_backend
from qcore.calibration.scale_rounding import decode_scales
from qcore.plan import Plan, make_plan
from qcore.scheme import Codebook, QuantScheme

ENGINE = open_backend()
INTEGERS = {
    "q8f": (-128, 127),
    "q8s": (-127, 127),
    "q4f": (-8, 7),
    "q4s": (-7, 7),
    "q2f": (-2, 1),
    "q2s": (-1, 1),
}
# mantissa bits, exponent of the smallest normal number, largest number
MINIFLOATS = {"e4m3": (3, -6, 448), "e5m2": (2, -14, 57344), "e2m1": (1, 0, 6)}
HALVES = {name: Fraction(hi - lo, 2) for name, (lo, hi) in INTEGERS.items()} | {
    n: Fraction(m[2]) for n, m in MINIFLOATS.items()
}
# mantissa bits, exponent of the smallest normal number, largest number
SCALES = {
    "f32": (23, -126, Fraction(float(np.finfo(np.float32).max))),
    "f16": (10, -14, Fraction(65504)),
    "bf16": (7, -126, Fraction(2) ** 127 * (2 - Fraction(1, 128))),
    "ue8m0": (0, -127, Fraction(2) ** 127),
    "ue4m3": (3, -6, Fraction(448)),
}


def step_at(magnitude: Fraction, mbits: int, emin: int) -> Fraction:
    """Distance of neighbours on a binary grid at a magnitude."""
    exponent = emin
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    return Fraction(2) ** (exponent - mbits)


def rounded(magnitude: Fraction, step: Fraction, rule: str) -> Fraction:
    units, rest = divmod(magnitude, step)
    doubled = 2 * rest
    up = {
        "up": rest > 0,
        "away": doubled >= step,
        "even": doubled > step or (doubled == step and units % 2 == 1),
    }[rule]
    return (units + up) * step


def scale_of(block: list[float], half: Fraction, dtype: str, rule: str) -> Fraction:
    """Min-max: the peak over half the range in float32, onto the grid of the dtype."""
    peak = max(abs(x) for x in block)
    needed = Fraction(float(np.float32(peak) / np.float32(float(half))))
    mbits, emin, top = SCALES[dtype]
    if dtype == "ue8m0" and needed < Fraction(2) ** emin:
        return Fraction(2) ** emin
    nearest = "away" if dtype == "ue8m0" else "even"
    scale = min(rounded(needed, step_at(needed, mbits, emin), "up" if rule == "up" else nearest), top)
    return max(scale, Fraction(2) ** emin) if dtype == "ue8m0" else scale


def number_of(x: float, scale: float, value: str, ties: str) -> Fraction:
    """The number that the code of ``x`` stands for, before the scale."""
    if scale == 0:
        return Fraction(0)
    t = Fraction(float(np.float32(x) / np.float32(scale)))
    if value in INTEGERS:
        lo, hi = INTEGERS[value]
        magnitude = rounded(abs(t), Fraction(1), ties)
        return min(max(magnitude if t > 0 else -magnitude, Fraction(lo)), Fraction(hi))
    mbits, emin, top = MINIFLOATS[value]
    magnitude = min(rounded(abs(t), step_at(abs(t), mbits, emin), "even"), Fraction(top))
    return magnitude if t > 0 else -magnitude


def tensor(value: str) -> np.ndarray:
    """Ordinary rows, ties of every kind, spread sizes, zeros, and one outlier."""
    rng = np.random.default_rng(len(value))
    rows = rng.standard_normal((10, 32)).astype(np.float32)
    half = float(HALVES[value])
    rows[1] = np.clip(rng.integers(-16, 16, 32) / 2, -half, half)
    rows[1, 0] = half
    rows[2] = rng.choice([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -0.25, -5, 0], 32) * half / 6
    rows[2, 5] = half
    rows[3] *= np.float32(10.0) ** rng.integers(-30, 30, 32).astype(np.float32)
    rows[4] = 0
    rows[5] *= np.float32(1e-38)
    rows[6, 7] = 3e4
    rows[7] *= np.float32(1e-6)
    return rows


def quantized(text: str, x: np.ndarray, **options: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, Plan]:
    plan = make_plan(QuantScheme.parse(text), x.shape, **options)  # type: ignore[arg-type]
    parts = ENGINE.stage(x, plan).quantize_minmax()
    assert parts is not None
    decoded = np.empty(x.shape, np.float32)
    ENGINE.decode(parts.values, parts.scales, parts.global_scale, plan, decoded)
    return ENGINE.unpack(parts.values, plan), decode_scales(parts.scales), decoded, plan


@pytest.mark.parametrize("rule", ["up", "nearest"])
@pytest.mark.parametrize("dtype", list(SCALES))
@pytest.mark.parametrize("value", list(HALVES))
def test_scales_and_codes_are_those_of_exact_arithmetic(value: str, dtype: str, rule: str) -> None:
    x = tensor(value)
    store = "packed" if value == "e2m1" else "native"
    codes, scales, decoded, plan = quantized(f"{value}/{store}/b16:{dtype}", x, scale_rounding=rule)
    for row in range(len(x)):
        for block in range(2):
            elements = x[row, 16 * block : 16 * block + 16].tolist()
            scale = float(scale_of(elements, HALVES[value], dtype, rule))
            assert float(scales[row, block]) == scale
            for place, element in enumerate(elements):
                column = 16 * block + place
                number = number_of(element, scale, value, "away")
                assert Fraction(float(plan.codec.table[codes[row, column]])) == number
                assert decoded[row, column] == np.float32(scale) * np.float32(float(number))


@pytest.mark.parametrize("value", list(INTEGERS))
def test_half_even_is_for_integers_what_it_says(value: str) -> None:
    x = tensor(value)
    codes, scales, _, _ = quantized(f"{value}/native/b16:f32", x, rounding="half-even")
    scale = np.repeat(scales, 16, axis=1)
    for place in np.ndindex(x.shape):
        assert int(codes[place]) == number_of(float(x[place]), float(scale[place]), value, "even")


@pytest.mark.parametrize(
    "text", ["e2m1/packed/b16:ue4m3/t:f32", "q8s/native/b16:f16/t:f32", "e4m3/native/b16:f16/t:f32"]
)
def test_two_levels_divide_by_the_rounded_product(text: str) -> None:
    x = tensor("e2m1")
    x[3] = x[0]
    value = text.split("/")[0]
    half = np.float32(float(HALVES[value]))
    top = np.float32({"ue4m3": 448, "f16": 65504}[text.split(":")[1].split("/")[0]])
    codes, scales, _, plan = quantized(text, x)
    parts = ENGINE.stage(x, plan).quantize_minmax()
    assert parts is not None
    assert parts.global_scale is not None
    peaks = np.abs(x.reshape(10, 2, 16)).max(axis=2)
    raw = peaks / half
    assert parts.global_scale == raw.max() / top
    needed = raw / parts.global_scale
    assert (scales >= np.minimum(needed, top)).all()
    effective = np.repeat(parts.global_scale * scales, 16, axis=1)
    for place in np.ndindex(x.shape):
        number = number_of(float(x[place]), float(effective[place]), value, "away")
        assert Fraction(float(plan.codec.table[codes[place]])) == number


def test_lookup_divides_by_the_peak_over_the_largest_entry() -> None:
    book = Codebook(np.float32([-0.5, 0.1, 0.2, 1.5]))
    x = tensor("q4f")[:3]
    plan = make_plan(QuantScheme.parse("q2f/u32/lookup/b16:f32"), x.shape, codebook=book)
    parts = ENGINE.stage(x, plan).quantize_minmax()
    assert parts is not None
    peaks = np.abs(x.reshape(3, 2, 16)).max(axis=2)
    np.testing.assert_array_equal(parts.scales, peaks / np.float32(1.5))
    t = x / np.repeat(parts.scales, 16, axis=1)
    nearest = np.abs(t[..., None].astype(np.float64) - book.table.astype(np.float64)).argmin(axis=-1)
    np.testing.assert_array_equal(ENGINE.unpack(parts.values, plan), nearest)
