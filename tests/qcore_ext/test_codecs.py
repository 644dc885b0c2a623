"""Every code and every conversion, against ml_dtypes and NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernels import LEVELS, MINIFLOATS, boundary_floats, codes_of, decode, encode, plan_of

HALVES = np.arange(1 << 16, dtype=np.uint16)
FORMATS = sorted(MINIFLOATS)
INTEGERS = ("q8f", "q8s", "q4f", "q4s", "q2f", "q2s")


def saturated(x: np.ndarray, text: str) -> np.ndarray:
    """Codes by ml_dtypes: clamped first, NaN as the zero code."""
    dtype = np.dtype(getattr(ml_dtypes, MINIFLOATS[text]))
    top = np.float32(ml_dtypes.finfo(dtype).max)
    narrow = np.clip(x, -top, top).astype(np.float32)
    codes = np.where(np.isnan(narrow), np.float32(0), narrow).astype(dtype).view(np.uint8)
    return codes & (15 if text == "e2m1" else 255)


def every_half() -> np.ndarray:
    return HALVES.view(np.float16)


def every_bfloat() -> np.ndarray:
    return HALVES.view(ml_dtypes.bfloat16)


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_code_decodes_as_ml_dtypes_says(level: str, text: str) -> None:
    plan = plan_of(f"{text}/native/t:f32", (256,))
    codes = np.arange(256, dtype=np.uint8)
    out = decode(level, codes, plan, np.ones(1, np.float32), np.empty(256, np.float32))
    mask = 15 if text == "e2m1" else 255
    wanted = (codes & mask).view(getattr(ml_dtypes, MINIFLOATS[text])).astype(np.float32)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(wanted))


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("level", LEVELS)
def test_minifloats_round_as_ml_dtypes_around_every_boundary(level: str, text: str) -> None:
    x = np.concatenate([boundary_floats(MINIFLOATS[text]), boundary_floats("float16")])
    np.testing.assert_array_equal(codes_of(level, x, text), saturated(x, text))


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_half_and_every_bfloat_becomes_the_right_minifloat(level: str, text: str) -> None:
    for x in (every_half(), every_bfloat()):
        with np.errstate(invalid="ignore"):
            wide = x.astype(np.float32)
        np.testing.assert_array_equal(codes_of(level, x, text), saturated(wide, text))
        np.testing.assert_array_equal(codes_of(level, wide, text), saturated(wide, text))


@pytest.mark.parametrize("rounding", ["half-away", "half-even"])
@pytest.mark.parametrize("text", INTEGERS)
@pytest.mark.parametrize("level", LEVELS)
def test_integers_round_ties_as_asked_and_clamp(level: str, text: str, rounding: str) -> None:
    plan = plan_of(f"{text}/native/t:f32", (1,))
    ties = np.arange(-300, 300, 0.5, dtype=np.float32)
    x = np.concatenate(
        [np.nextafter(ties, np.float32(s)) for s in (-1e9, 1e9)] + [ties, every_half().astype(np.float32)]
    )
    x = np.concatenate(
        [x, np.float32([1e9, -1e9, 3e38, -3e38, 4194304, 8388609, -(2.0**31), 2.0**31, 1e-45])]
    )
    exact = np.where(np.isnan(x), 0, x).astype(np.float64)
    whole = np.rint(exact) if rounding == "half-even" else np.copysign(np.floor(np.abs(exact) + 0.5), exact)
    wanted = np.clip(whole, plan.codec.lo, plan.codec.hi).astype(np.int8)
    np.testing.assert_array_equal(codes_of(level, x, text, rounding=rounding), wanted)
    # Small numbers alone take the loop that does not clamp.
    small = x[np.abs(x) <= plan.codec.hi]
    np.testing.assert_array_equal(
        codes_of(level, small, text, rounding=rounding), wanted[np.abs(x) <= plan.codec.hi]
    )


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("level", LEVELS)
def test_lookup_takes_the_nearest_entry_and_the_lower_index_on_a_tie(level: str, bits: int) -> None:
    rng = np.random.default_rng(bits)
    table = (rng.integers(-40, 40, 1 << bits) / 8).astype(np.float32)
    plan = plan_of(f"q{bits}f/u32/lookup/t:f32", (1,), table)
    halfway = np.unique((table[:, None] + table[None, :]) / 2).astype(np.float32)
    x = np.concatenate([halfway, np.nextafter(halfway, np.float32(9)), np.nextafter(halfway, np.float32(-9))])
    x = np.concatenate([x, np.float32([np.inf, -np.inf, np.nan])])
    plan = plan_of(f"q{bits}f/native/lookup/t:f32", x.shape, table)
    codes = encode(level, x, plan, np.ones(1, np.float32)).view(np.uint8)
    finite = x[:-3].astype(np.float64)
    distance = np.abs(finite[:, None] - table.astype(np.float64))
    np.testing.assert_array_equal(codes[:-3], distance.argmin(axis=1))
    ends = [int(np.argmax(table)), int(np.argmin(table)), int(np.argmin(np.abs(table)))]
    np.testing.assert_array_equal(codes[-3:], ends)
    decoded = decode(level, codes, plan, np.ones(1, np.float32), np.empty(x.shape, np.float32))
    np.testing.assert_array_equal(decoded, table[codes])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("level", LEVELS)
def test_results_are_rounded_once_to_the_dtype_of_the_output(level: str, dtype: type) -> None:
    # A table of ones makes the scale the result.
    numbers = np.concatenate([boundary_floats("float16"), boundary_floats("bfloat16")])
    numbers = numbers[~np.isnan(numbers)]
    plan = plan_of("q2f/native/lookup/b1:f32", numbers.shape, np.ones(4, np.float32))
    out = decode(level, np.zeros(numbers.shape, np.uint8), plan, numbers, np.empty(numbers.shape, dtype))
    with np.errstate(over="ignore"):
        wanted = numbers.astype(dtype)
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("level", LEVELS)
def test_a_nan_stays_one_in_every_output(level: str, dtype: type) -> None:
    plan = plan_of("q8s/native/b1:f32", (2,))
    scales = np.float32([np.nan, -np.nan])
    out = decode(level, np.ones(2, np.int8), plan, scales, np.empty(2, dtype))
    assert np.isnan(out.astype(np.float32)).all()
