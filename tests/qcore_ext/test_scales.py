"""Scale rules on every representable number, its neighbours and the midpoints, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kernels import LEVELS, kernel, plan_of

from qcore.backends.cpu import numbers
from qcore.plan import Plan
from qcore.scheme import ScaleDtype

DTYPES = ("f16", "bf16", "ue8m0", "ue4m3")


def representable(dtype: str) -> list[Fraction]:
    """Every non-negative finite number of the dtype, in order."""
    scale = ScaleDtype(dtype)
    raw = np.arange(1 << (8 * scale.nbytes)).astype({1: np.uint8, 2: np.uint16}[scale.nbytes])
    every = raw.view(scale.numpy_dtype).astype(np.float32)
    every = np.unique(np.abs(every[np.isfinite(every)]))
    return [Fraction(float(number)) for number in every]


def stored(level: str, peaks: np.ndarray, plan: Plan, whole: float = 1.0) -> np.ndarray:
    n = numbers.of_plan(plan)
    out = np.empty(peaks.shape, n.scale_dtype)
    kernel(level, "scales").solve(peaks, whole, out, n.scale, 0, peaks.size)
    return out


def probes(grid: list[Fraction]) -> np.ndarray:
    """Numbers around a sample of the grid: enough for every exponent, both ends and all ties."""
    step = max(1, len(grid) // 1500)
    points = np.float32([float(number) for number in grid[::step] + grid[:40] + grid[-40:]])
    with np.errstate(over="ignore"):
        middles = ((points[:-1].astype(np.float64) + points[1:]) / 2).astype(np.float32)
    centres = (
        np.concatenate([points, middles, np.float32([0, 1e-45, 1e-38, 3.4e38])])
        .view(np.uint32)
        .astype(np.int64)
    )
    around = np.unique((centres[:, None] + np.arange(-1, 2)).reshape(-1))
    return around[(around >= 0) & (around < 0x7F800000)].astype(np.uint32).view(np.float32)


def nearest(
    needed: Fraction, below: Fraction, above: Fraction, ties_up: bool, below_is_even: bool
) -> Fraction:
    if needed - below == above - needed:
        return above if ties_up or not below_is_even else below
    return below if needed - below < above - needed else above


@pytest.mark.parametrize("rule", ["up", "nearest"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", LEVELS)
def test_scales_round_exactly(level: str, dtype: str, rule: str) -> None:
    plan = plan_of(
        f"q2s/native/b1:{dtype}", (1,), scale_rounding=rule
    )  # h is 1: the peak is the needed scale
    grid = representable(dtype)
    peaks = probes(grid)
    got = stored(level, peaks, plan).astype(np.float32)
    exact = np.array([float(number) for number in grid])
    for peak, found in zip(peaks, got, strict=True):
        above = int(np.searchsorted(exact, np.float64(peak)))
        needed = Fraction(float(peak))
        if above == len(grid):
            wanted = grid[-1]
        elif grid[above] == needed or rule == "up" or above == 0:
            wanted = grid[above]
        else:
            ue8m0 = dtype == "ue8m0"
            wanted = nearest(needed, grid[above - 1], grid[above], ue8m0, (above - 1) % 2 == 0)
        assert Fraction(float(found)) == wanted, (peak, found)


@pytest.mark.parametrize("level", LEVELS)
def test_float32_scales_are_the_quotient(level: str) -> None:
    plan = plan_of("q8s/native/b1:f32", (1,))
    peaks = np.random.default_rng(0).integers(0, 0x7F800000, 4000).astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(stored(level, peaks, plan), peaks / np.float32(127))


@pytest.mark.parametrize(("value", "emax", "mbits"), [("e2m1", 2, 1), ("e4m3", 8, 3), ("e5m2", 15, 2)])
@pytest.mark.parametrize("rule", ["floor", "even"])
@pytest.mark.parametrize("level", LEVELS)
def test_ocp_rules_take_the_exponent_from_the_bits(
    level: str, rule: str, value: str, emax: int, mbits: int
) -> None:
    plan = plan_of(f"{value}/native/b1:ue8m0", (1,), scale_rounding=rule)
    steps = np.arange(0, 0x7F800000, 0x7FFFF, dtype=np.uint32)
    bits = np.unique(np.concatenate([steps, steps | 0x7FFFFF, [0, 1, 0x800000, 0x7F7FFFFF]])).astype(
        np.uint32
    )
    added = bits + (np.uint32(1 << (22 - mbits)) if rule == "even" else np.uint32(0))
    wanted = np.maximum((added >> 23).astype(np.int64) - emax, 0)
    found = stored(level, bits.view(np.float32), plan).view(np.uint8)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("level", LEVELS)
def test_two_levels_divide_twice(level: str) -> None:
    plan: Any = plan_of("q4s/native/b1:f32", (1,))
    peaks = np.abs(np.random.default_rng(1).standard_normal(2000)).astype(np.float32)
    whole = np.float32(0.0123)
    np.testing.assert_array_equal(stored(level, peaks, plan, float(whole)), peaks / np.float32(7) / whole)
