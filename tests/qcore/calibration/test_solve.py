"""Peaks to scales: the divisor, two levels, and what never comes out."""

from __future__ import annotations

import numpy as np
import pytest

from qcore.calibration.solve import block_scales, global_scale_of, mse_factor, solve
from qcore.plan import ScaleNumbers, make_scale_numbers
from qcore.scheme import QuantValue, ScaleDtype

FLOAT32_MAX = np.finfo(np.float32).max
HALF_RANGES = {
    "Q8F": 127.5, "Q8S": 127, "Q4F": 7.5, "Q4S": 7, "Q2F": 1.5, "Q2S": 1, "E4M3": 448, "E5M2": 57344, "E2M1": 6,
}  # fmt: skip


def numbers_of(
    dtype: ScaleDtype, value: QuantValue = QuantValue.Q8S, rule: str = "up", half: float = 0
) -> ScaleNumbers:
    return make_scale_numbers(dtype, rule, value, half or float(value.half_range))


def sweep() -> np.ndarray:
    powers = np.ldexp(np.float32(1), np.arange(-126, 128))
    return np.concatenate([powers, np.nextafter(powers, np.float32(0)), np.nextafter(powers, FLOAT32_MAX)])


@pytest.mark.parametrize("value", list(QuantValue), ids=lambda v: v.name)
def test_the_scale_is_the_peak_over_half_the_range_in_one_rounding(value: QuantValue) -> None:
    peaks = sweep()
    scales, global_scale = solve(peaks, numbers_of(ScaleDtype.F32, value), two_level=False)
    np.testing.assert_array_equal(scales, peaks / np.float32(HALF_RANGES[value.name]))
    assert global_scale is None


@pytest.mark.parametrize("value", list(QuantValue), ids=lambda v: v.name)
def test_it_has_the_bits_of_the_doubled_form_wherever_that_is_finite(value: QuantValue) -> None:
    peaks = sweep()[sweep() < FLOAT32_MAX / 2]
    doubled = (peaks * np.float32(2)) / np.float32(float(value.span))
    np.testing.assert_array_equal(
        solve(peaks, numbers_of(ScaleDtype.F32, value), two_level=False)[0], doubled
    )


@pytest.mark.parametrize("dtype", list(ScaleDtype), ids=lambda d: d.name)
@pytest.mark.parametrize("value", list(QuantValue), ids=lambda v: v.name)
@pytest.mark.parametrize("rule", ["up", "nearest"])
def test_no_finite_peak_gives_a_scale_that_is_not_a_finite_size(
    dtype: ScaleDtype, value: QuantValue, rule: str
) -> None:
    scales, _ = solve(
        np.concatenate([sweep(), np.float32([FLOAT32_MAX, 0, 1e-45])]),
        numbers_of(dtype, value, rule),
        two_level=False,
    )
    assert np.isfinite(scales).all()
    assert (scales >= 0).all()


@pytest.mark.parametrize("dtype", list(ScaleDtype), ids=lambda d: d.name)
def test_rounding_up_never_loses_a_peak(dtype: ScaleDtype) -> None:
    peaks = sweep()
    scales, _ = solve(peaks, numbers_of(dtype), two_level=False)
    needed = peaks / np.float32(127)
    assert ((scales >= needed) | (scales == np.float32(dtype.max_representable))).all()
    assert ((scales > 0) | (needed == 0)).all()


@pytest.mark.parametrize(
    ("dtype", "smallest"), [(d, 2.0**-127 if d is ScaleDtype.UE8M0 else 0.0) for d in ScaleDtype]
)
def test_a_zero_peak_stores_zero_or_the_smallest_where_there_is_none(
    dtype: ScaleDtype, smallest: float
) -> None:
    for rule in ("up", "nearest"):
        assert solve(np.float32([0]), numbers_of(dtype, rule=rule), two_level=False)[0].tolist() == [smallest]


def test_nearest_may_store_zero_for_a_small_block() -> None:
    assert solve(np.float32([1e-4]), numbers_of(ScaleDtype.UE4M3, rule="nearest"), two_level=False)[
        0
    ].tolist() == [0.0]


@pytest.mark.parametrize("dtype", [ScaleDtype.F16, ScaleDtype.UE4M3], ids=lambda d: d.name)
def test_two_levels_put_the_largest_block_scale_at_the_top_of_its_dtype(dtype: ScaleDtype) -> None:
    peaks = np.float32([[3.0, 0.5], [0.0, 7.7]])
    numbers = numbers_of(dtype, QuantValue.E2M1)
    scales, global_scale = solve(peaks, numbers, two_level=True)
    raw = peaks / np.float32(6)
    assert global_scale == raw.max() / np.float32(dtype.max_representable)
    assert isinstance(global_scale, np.float32)
    assert scales.max() == dtype.max_representable
    np.testing.assert_array_equal(scales, block_scales(peaks, numbers, global_scale))
    assert scales[1, 0] == 0


def test_an_all_zero_tensor_has_the_smallest_normal_as_global_scale() -> None:
    scales, global_scale = solve(np.zeros(3, np.float32), numbers_of(ScaleDtype.UE4M3), two_level=True)
    assert scales.tolist() == [0, 0, 0]
    assert global_scale == np.float32(1.17549435e-38)


def test_no_peaks_at_all_count_as_zeros() -> None:
    assert global_scale_of(np.zeros((0, 4), np.float32), numbers_of(ScaleDtype.F16)) == np.float32(
        1.17549435e-38
    )


def test_a_ternary_scale_is_its_gamma() -> None:
    gamma = np.float32([0.123, 4.5])
    scales, _ = solve(gamma, numbers_of(ScaleDtype.F32, QuantValue.Q2S), two_level=False)
    np.testing.assert_array_equal(scales, gamma)


def test_a_table_of_tiny_entries_saturates_instead_of_overflowing() -> None:
    numbers = numbers_of(ScaleDtype.F32, QuantValue.Q4F, half=1e-3)
    assert solve(np.float32([3e38]), numbers, two_level=False)[0][0] == FLOAT32_MAX


def test_candidates_of_the_search_shrink_the_needed_scale_before_it_is_rounded() -> None:
    peaks = np.float32([1.0, 3.0])
    factor = mse_factor(np.array([0, 31]))
    assert factor.tolist() == [1.0, 33 / 64]
    scales, _ = solve(peaks, numbers_of(ScaleDtype.F32, QuantValue.Q4S), two_level=False, factor=factor)
    np.testing.assert_array_equal(scales, peaks / np.float32(7) * factor)


def test_the_search_keeps_the_global_scale_of_min_max() -> None:
    peaks, numbers = np.float32([1.0, 3.0]), numbers_of(ScaleDtype.UE4M3, QuantValue.E2M1)
    scales, global_scale = solve(peaks, numbers, two_level=True, factor=mse_factor(np.array([31, 31])))
    assert global_scale == solve(peaks, numbers, two_level=True)[1]
    assert scales.max() < 448


def test_under_the_ocp_rules_a_candidate_shrinks_the_peak() -> None:
    numbers = numbers_of(ScaleDtype.UE8M0, QuantValue.E2M1, "floor")
    assert solve(np.float32([4.0]), numbers, two_level=False)[0].tolist() == [1.0]
    assert solve(np.float32([4.0]), numbers, two_level=False, factor=mse_factor(np.array([1])))[
        0
    ].tolist() == [0.5]
