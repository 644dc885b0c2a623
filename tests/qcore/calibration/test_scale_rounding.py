"""Scales onto their dtype, against lists of everything a dtype can hold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from qcore.calibration.scale_rounding import decode_scales, encode_scales, power_of_two, round_scales
from qcore.plan import ScaleNumbers, make_scale_numbers
from qcore.scheme import QuantValue, ScaleDtype

NARROW = [ScaleDtype.F16, ScaleDtype.BF16, ScaleDtype.UE8M0, ScaleDtype.UE4M3]
MINIFLOATS = [QuantValue.E2M1, QuantValue.E4M3, QuantValue.E5M2]


def numbers_of(dtype: ScaleDtype, rule: str = "up", value: QuantValue = QuantValue.Q8S) -> ScaleNumbers:
    return make_scale_numbers(dtype, rule, value, float(value.half_range))


def everything(dtype: ScaleDtype) -> np.ndarray:
    """Every number of a scale dtype that is finite and not negative, in float64, by code."""
    bits = np.arange(2 ** (8 * dtype.nbytes - (dtype is not ScaleDtype.UE8M0)), dtype=f"u{dtype.nbytes}")
    values = decode_scales(bits.view(dtype.numpy_dtype))
    return values[np.isfinite(values)].astype(np.float64)


def probes() -> np.ndarray:
    """Every power of two that float32 has, its neighbours, and 0."""
    powers = np.ldexp(np.float32(1), np.arange(-149, 128))
    return np.concatenate(
        [
            powers,
            np.nextafter(powers, np.float32(0)),
            np.nextafter(powers, np.float32(np.inf)),
            np.float32([0]),
        ]
    )


def scattered(count: int = 20_000) -> np.ndarray:
    bits = np.random.default_rng(5).integers(0, 0x7F80_0000, count, dtype=np.uint32)
    return bits.view(np.float32)


@pytest.mark.parametrize(
    ("needed", "f16", "bf16", "ue4m3"),
    [
        (0.3, 0.300048828125, 0.30078125, 0.3125),
        (1 / 3, 0.33349609375, 0.333984375, 0.34375),
        (500.0, 500.0, 500.0, 448.0),
        (1e-3, 0.0010004043579101562, 0.001007080078125, 0.001953125),
        (7.7e-4, 0.0007700920104980469, 0.00077056884765625, 0.001953125),
        (0.0, 0.0, 0.0, 0.0),
    ],
)
def test_known_scales_round_up_to_known_numbers(needed: float, f16: float, bf16: float, ue4m3: float) -> None:
    given = np.float32([needed])
    answers = [
        float(round_scales(given, numbers_of(d))[0])
        for d in (ScaleDtype.F16, ScaleDtype.BF16, ScaleDtype.UE4M3)
    ]
    assert answers == [f16, bf16, ue4m3]


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: d.name)
def test_up_is_the_smallest_number_that_is_not_below_the_needed_one(dtype: ScaleDtype) -> None:
    needed = np.concatenate([probes(), scattered()])
    numbers = everything(dtype)
    expected = numbers[np.minimum(np.searchsorted(numbers, needed, side="left"), len(numbers) - 1)]
    rounded = round_scales(needed, numbers_of(dtype))
    np.testing.assert_array_equal(rounded, expected)
    if dtype is not ScaleDtype.UE8M0:
        np.testing.assert_array_equal(rounded == 0, needed == 0)


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: d.name)
def test_nearest_takes_the_closer_number_and_ties_go_to_the_even_code_or_up(dtype: ScaleDtype) -> None:
    numbers = everything(dtype)
    middles = ((numbers[:-1] + numbers[1:]) / 2).astype(np.float32)
    around = [np.nextafter(middles, np.float32(end)) for end in (0, np.inf)]
    needed = np.concatenate([probes(), scattered(), middles, *around])
    exact = needed.astype(np.float64)
    above = np.clip(np.searchsorted(numbers, exact, side="left"), 1, len(numbers) - 1)
    distance_up = numbers[above] - exact
    distance_down = exact - numbers[above - 1]
    tie_goes_up = True if dtype is ScaleDtype.UE8M0 else above % 2 == 0
    up = (distance_up < distance_down) | ((distance_up == distance_down) & tie_goes_up)
    expected = np.where(up, numbers[above], numbers[above - 1])
    np.testing.assert_array_equal(round_scales(needed, numbers_of(dtype, "nearest")), expected)


@pytest.mark.parametrize("rule", ["up", "nearest"])
def test_float32_scales_stay_as_they_are(rule: str) -> None:
    needed = np.concatenate([probes(), scattered()])
    rounded = round_scales(needed, numbers_of(ScaleDtype.F32, rule))
    np.testing.assert_array_equal(rounded.view(np.uint32), needed.view(np.uint32))


@pytest.mark.parametrize("dtype", list(ScaleDtype), ids=lambda d: d.name)
@pytest.mark.parametrize("rule", ["up", "nearest"])
def test_infinity_saturates_and_nan_stays(dtype: ScaleDtype, rule: str) -> None:
    rounded = round_scales(np.float32([np.inf, np.nan]), numbers_of(dtype, rule))
    assert float(rounded[0]) == float(np.float32(dtype.max_representable))
    assert np.isnan(rounded[1])


@pytest.mark.parametrize("dtype", [ScaleDtype.F16, ScaleDtype.BF16, ScaleDtype.UE4M3], ids=lambda d: d.name)
def test_a_negative_scale_rounds_as_its_magnitude(dtype: ScaleDtype) -> None:
    magnitudes = scattered(1000)
    up = numbers_of(dtype)
    np.testing.assert_array_equal(round_scales(-magnitudes, up), -round_scales(magnitudes, up))


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: d.name)
@pytest.mark.parametrize("rule", ["up", "nearest"])
def test_every_number_of_a_dtype_survives_rounding_and_storage(dtype: ScaleDtype, rule: str) -> None:
    numbers = everything(dtype).astype(np.float32)
    rounded = round_scales(numbers, numbers_of(dtype, rule))
    np.testing.assert_array_equal(rounded, numbers)
    stored = encode_scales(rounded, dtype)
    assert stored.dtype == dtype.numpy_dtype
    np.testing.assert_array_equal(stored.view(f"u{dtype.nbytes}"), np.arange(len(numbers)))
    np.testing.assert_array_equal(decode_scales(stored), numbers)


def test_a_zero_of_ue8m0_is_its_smallest_number_whatever_the_rule() -> None:
    for rule in ("up", "nearest", "floor", "even"):
        numbers = numbers_of(ScaleDtype.UE8M0, rule, QuantValue.E4M3)
        assert float(round_scales(np.float32([0]), numbers)[0]) == 2.0**-127
        assert float(power_of_two(np.float32([0]), numbers)[0]) == 2.0**-127
        assert float(round_scales(np.float32([-0.0]), numbers)[0]) == 2.0**-127


def test_nan_has_a_byte_in_both_one_byte_dtypes() -> None:
    for dtype, byte in ((ScaleDtype.UE8M0, 0xFF), (ScaleDtype.UE4M3, 0x7F)):
        assert encode_scales(np.float32([np.nan]), dtype).view(np.uint8)[0] & 0xFF == byte


def _exponent(value: Fraction) -> int:
    """floor(log2 value), exactly."""
    mantissa, exponent = math.frexp(float(value))
    assert Fraction(mantissa) * Fraction(2) ** exponent == value
    return exponent - 1


@pytest.mark.parametrize("value", MINIFLOATS, ids=lambda v: v.name)
@pytest.mark.parametrize("rule", ["floor", "even"])
def test_the_ocp_rules_follow_from_exact_logarithms(value: QuantValue, rule: str) -> None:
    peaks = np.concatenate([probes()[:-1], scattered(3000)])
    peaks = peaks[peaks >= np.finfo(np.float32).smallest_normal]
    answers = power_of_two(peaks, numbers_of(ScaleDtype.UE8M0, rule, value))
    emax, mbits = {"E2M1": (2, 1), "E4M3": (8, 3), "E5M2": (15, 2)}[value.name]
    for peak, answer in zip(peaks.tolist(), answers.tolist(), strict=True):
        exact = Fraction(peak)
        exponent = _exponent(exact)
        if rule == "even":
            exponent = _exponent(exact + Fraction(2) ** (exponent - mbits - 1))
        assert answer == 2.0 ** min(max(exponent - emax, -127), 127)


@pytest.mark.parametrize("rule", ["floor", "even"])
def test_a_given_scale_keeps_its_exponent_under_the_ocp_rules(rule: str) -> None:
    given = np.float32([1.0, 1.99, 0.7, 3.4e38, 2.0**-127, 1e-45])
    expected = [1.0, 1.0, 0.5, 2.0**127, 2.0**-127, 2.0**-127]
    assert round_scales(given, numbers_of(ScaleDtype.UE8M0, rule, QuantValue.E2M1)).tolist() == expected


def test_the_input_is_left_alone() -> None:
    needed = np.float32([0.3, np.nan, -2.0])
    before = needed.copy()
    round_scales(needed, numbers_of(ScaleDtype.F16))
    np.testing.assert_array_equal(needed, before)
