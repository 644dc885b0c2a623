"""The reference backend as a backend: measures, policies, layouts, comparison."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from qcore.backends.protocol import Parts
from qcore.backends.reference import open_backend
from qcore.calibration.scale_rounding import decode_scales, encode_scales
from qcore.calibration.solve import mse_factor, solve
from qcore.calibration.sums import pairwise_sum
from qcore.plan import Plan, make_plan
from qcore.scheme import Codebook, QuantScheme, QuantValue

ENGINE = open_backend()


def plan_of(text: str, shape: tuple[int, ...], **options: Any) -> Plan:
    return make_plan(QuantScheme.parse(text), shape, **options)


def minmax(x: np.ndarray, plan: Plan) -> Parts:
    parts = ENGINE.stage(x, plan).quantize_minmax()
    assert parts is not None
    return parts


def decoded(parts: Parts, plan: Plan, dtype: Any = np.float32) -> np.ndarray:
    out = np.empty(plan.shape, dtype)
    ENGINE.decode(parts.values, parts.scales, parts.global_scale, plan, out)
    return out


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(math.prod(shape)).standard_normal(shape).astype(np.float32)


# --- measures -------------------------------------------------------------------------------------------------


def test_blocks_are_rectangles_and_edge_blocks_are_short() -> None:
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    staged = ENGINE.stage(x, plan_of("q8s/native/b2x3:f32", (5, 7)))
    expected = [[x[r : r + 2, c : c + 3].max() for c in (0, 3, 6)] for r in (0, 2, 4)]
    assert staged.peaks((2, 3)).tolist() == expected


def test_a_grid_per_tensor_has_one_element_whatever_the_rank() -> None:
    x = weights(3, 4, 5)
    staged = ENGINE.stage(x, plan_of("q8s/native/t:f32", x.shape))
    assert staged.peaks((3, 4, 5)).tolist() == [np.abs(x).max()]
    assert staged.peaks((1, 1, 5)).shape == (3, 4, 1)


def test_measures_skip_what_is_not_finite() -> None:
    x = np.float32([[1, -3, np.nan, np.inf], [np.nan, np.inf, -np.inf, np.nan]])
    staged = ENGINE.stage(x, plan_of("q8s/native/b4:f32", x.shape))
    assert staged.nonfinite() == (6, 2)
    assert staged.peaks((1, 4)).tolist() == [[3], [0]]
    assert staged.means((1, 4)).tolist() == [[2], [0]]
    assert staged.percentiles((1, 4), 50).tolist() == [[1], [0]]
    assert staged.quantize_minmax() is None


def test_means_are_float64_sums_in_the_fixed_order() -> None:
    x = weights(3, 9000)
    x[1, 5] = np.inf
    staged = ENGINE.stage(x, plan_of("q2s/u32/t:f32", x.shape))
    kept = np.where(np.isfinite(x), np.abs(x), 0)
    expected = [[np.float32(pairwise_sum(row) / n)] for row, n in zip(kept, (9000, 8999, 9000), strict=True)]
    assert staged.means((1, 9000)).tolist() == expected


def test_the_mean_is_the_scale_of_ternary_weights() -> None:
    x = weights(4, 50)
    plan = plan_of("q2s/u32/t:f32", x.shape)
    gamma = ENGINE.stage(x, plan).means(plan.extents)
    scales, _ = solve(gamma, plan.scale, two_level=False)
    assert scales.tolist() == gamma.tolist()
    assert gamma[0] == pytest.approx(np.abs(x).mean(), rel=1e-6)


def test_a_percentile_is_an_element_of_the_block() -> None:
    x = np.float32([[5, -1, 3, 2, 4], [0, 0, 0, 0, 9]])
    staged = ENGINE.stage(x, plan_of("q8s/native/b5:f32", x.shape))
    assert staged.percentiles((1, 5), 50).tolist() == [[3], [9]]  # of zeros: the peak instead
    assert staged.percentiles((1, 5), 80).tolist() == [[4], [9]]
    assert staged.percentiles((1, 5), 80.1).tolist() == [[5], [9]]


def squared_errors(x: np.ndarray, scales: np.ndarray, level: np.float32 | None, plan: Plan) -> np.ndarray:
    staged = ENGINE.stage(x, plan)
    parts = Parts(staged.encode(scales, level), encode_scales(scales, plan.scale.dtype), level)
    return ENGINE.errors(x, parts, plan, 99.9).error


TEXTS = [
    "q4s/u32/b8:f16",
    "e2m1/packed/b8:ue8m0",
    "e2m1/packed/b8:ue4m3/t:f32",
    "q2f/native/t:f32",
    "e4m3/native/b8:bf16",
]


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=40, deadline=None)
@given(x=arrays(np.float32, (3, 13), elements=st.floats(-(2.0**66), 2.0**66, width=32)))
def test_the_search_is_never_worse_than_min_max(text: str, x: np.ndarray) -> None:
    plan = plan_of(text, x.shape)
    staged = ENGINE.stage(x, plan)
    peaks = staged.peaks(plan.extents)
    plain, level = solve(peaks, plan.scale, two_level=plan.two_level)
    winner = staged.search(peaks, level)
    assert winner.shape == plan.grid
    assert winner.dtype == np.uint8
    searched, _ = solve(peaks, plan.scale, two_level=plan.two_level, factor=mse_factor(winner))
    assert (squared_errors(x, searched, level, plan) <= squared_errors(x, plain, level, plan)).all()


def test_the_search_tries_all_candidates_and_keeps_the_first_of_equals() -> None:
    x = weights(2, 24)
    x[0, 8:16] = 0
    plan = plan_of("q4s/u32/b8:f32", x.shape)
    staged = ENGINE.stage(x, plan)
    peaks = staged.peaks(plan.extents)
    tried = [
        squared_errors(x, solve(peaks, plan.scale, two_level=False, factor=mse_factor(j))[0], None, plan)
        for j in range(32)
    ]
    np.testing.assert_array_equal(staged.search(peaks, None), np.argmin(tried, axis=0))
    assert staged.search(peaks, None)[0, 1] == 0


# --- zeros, NaN, infinities -----------------------------------------------------------------------------------

EVERY_SCALE = ["f32", "f16", "bf16", "ue8m0", "ue4m3"]


@pytest.mark.parametrize("dtype", EVERY_SCALE)
@pytest.mark.parametrize("value", [v.name.lower() for v in QuantValue])
def test_a_zero_block_stores_zero_codes_and_decodes_to_zeros(value: str, dtype: str) -> None:
    x = np.zeros((2, 8), np.float32)
    x[0, ::2] = -0.0
    x[1] = 1
    plan = plan_of(f"{value}/native/b8:{dtype}", x.shape)
    parts = minmax(x, plan)
    assert decode_scales(parts.scales)[0, 0] == (2.0**-127 if dtype == "ue8m0" else 0)
    assert parts.values[0].tolist() == [0] * 8
    assert decoded(parts, plan)[0].tolist() == [0] * 8


def test_outside_zero_blocks_a_minifloat_keeps_the_sign_of_zero() -> None:
    x = np.float32([-0.0, 1, 0.0, -1e-9])
    parts = minmax(x, plan_of("e4m3/native/t:f32", (4,)))
    assert parts.values.tolist() == [0x80, 0x7E, 0x00, 0x80]


def test_a_table_without_zero_stores_the_entry_nearest_to_it() -> None:
    book = Codebook(np.float32([-1, 0.25, -0.25, 1]))
    plan = plan_of("q2f/native/lookup/b2:f32", (4,), codebook=book)
    parts = minmax(np.float32([0, -0.0, 1, 1]), plan)
    assert parts.values.tolist() == [1, 1, 3, 3]
    assert decoded(parts, plan).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("dtype", EVERY_SCALE)
def test_under_saturation_a_block_without_finite_magnitude_is_a_zero_block(dtype: str) -> None:
    x = np.float32([[np.inf, -np.inf, np.nan, -0.0], [np.inf, -np.inf, np.nan, 1]])
    plan = plan_of(f"e4m3/native/b4:{dtype}", x.shape)
    staged = ENGINE.stage(x, plan)
    scales, _ = solve(staged.peaks(plan.extents), plan.scale, two_level=False)
    assert staged.encode(scales, None)[:, :3].tolist() == [[0, 0, 0], [0x7E, 0xFE, 0]]


def test_two_levels_of_zeros() -> None:
    plan = plan_of("e2m1/packed/b4:ue4m3/t:f32", (8,))
    parts = minmax(np.zeros(8, np.float32), plan)
    assert parts.global_scale == np.float32(1.17549435e-38)
    assert not parts.scales.view(np.uint8).any()
    assert not decoded(parts, plan).any()


def test_a_stand_in_for_zero_scales_divides_and_multiplies() -> None:
    x = np.float32([1, 0.24, 5, 8])
    plan = plan_of("q8s/native/b2:f32", (4,), zero_substitute=0.1)
    staged = ENGINE.stage(x, plan)
    parts = Parts(staged.encode(np.float32([0, 2]), None), np.float32([0, 2]), None)
    assert parts.values.tolist() == [10, 2, 3, 4]
    assert decoded(parts, plan).tolist() == [float(np.float32(0.1) * 10), float(np.float32(0.1) * 2), 6, 8]


def test_a_float64_that_float32_cannot_hold_counts_as_infinite() -> None:
    x = np.float64([1, 1e300, 2])
    staged = ENGINE.stage(x, plan_of("q8s/native/t:f32", (3,)))
    assert staged.nonfinite() == (1, 1)
    assert staged.peaks((3,)).tolist() == [2]


# --- layouts --------------------------------------------------------------------------------------------------


def test_known_codes_lie_in_known_words() -> None:
    plan = plan_of("q8s/u32/t:f32", (5,))
    assert ENGINE.pack(np.int8([-128, 2, -3, 127, 55]), plan).tolist() == [2147287680, 55]
    plan = plan_of("q4f/u32/t:f32", (16,))
    words = np.array([0xFEDCBA98, 0x76543210], np.uint32)
    assert ENGINE.unpack(words, plan).tolist() == list(range(-8, 8))
    plan = plan_of("e2m1/packed/t:f32", (4,))
    assert ENGINE.pack(np.uint8([12, 4, 1, 2]), plan).tolist() == [0x4C, 0x21]


def test_lines_are_padded_one_by_one() -> None:
    plan = plan_of("q4s/u32/t:f32", (3, 3))
    words = ENGINE.pack(np.full((3, 3), -1, np.int8), plan)
    assert words.dtype == np.uint32
    assert words.tolist() == [[0xFFF]] * 3


@pytest.mark.parametrize(
    "text",
    ["q2s/u32", "q4f/u32:1", "q8f/u32:2", "e2m1/packed:1", "e5m2/u32:1", "q4s/native", "q2f/u32:2/lookup"],
)
def test_packing_is_undone_by_unpacking(text: str) -> None:
    plan = plan_of(text, (5, 3, 7))
    signed = plan.codec.kind == 0
    lo = -(2 ** (plan.codec.bits - 1)) if signed else 0
    codes = (
        np.random.default_rng(1)
        .integers(lo, lo + 2**plan.codec.bits, (5, 3, 7))
        .astype(np.int8 if signed else np.uint8)
    )
    values = ENGINE.pack(codes, plan)
    assert values.shape == plan.storage_shape
    assert values.flags.c_contiguous
    unpacked = ENGINE.unpack(values, plan)
    assert unpacked.dtype == codes.dtype
    np.testing.assert_array_equal(unpacked, codes)


@pytest.mark.parametrize("text", ["q4s/u32/b2x4:f16", "e2m1/packed/b16:ue4m3/t:f32", "q8f/native/t:f32"])
def test_any_strides_give_what_the_contiguous_copy_gives(text: str) -> None:
    plain = weights(6, 20)
    plan = plan_of(text, (6, 20))
    expected = minmax(plain, plan)
    wide = np.zeros((12, 40), np.float32)
    wide[::2, ::-2] = plain
    for view in (wide[::2, ::-2], np.asfortranarray(plain)):
        found = minmax(view, plan)
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.scales.tobytes() == expected.scales.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64], ids=str)
def test_other_floats_are_first_made_float32(dtype: Any) -> None:
    x = weights(4, 8).astype(dtype)
    plan = plan_of("q8s/native/b4:f32", (4, 8))
    assert minmax(x, plan).values.tobytes() == minmax(x.astype(np.float32), plan).values.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.float32], ids=str)
def test_decoding_rounds_once_into_the_dtype_of_the_output(dtype: Any) -> None:
    plan = plan_of("q8s/native/b4:f32", (4, 8))
    parts = minmax(weights(4, 8), plan)
    np.testing.assert_array_equal(decoded(parts, plan, dtype), decoded(parts, plan).astype(dtype))


def test_of_a_native_byte_that_holds_more_than_a_code_the_codes_bits_count() -> None:
    plan = plan_of("q4s/native/t:f32", (3,))
    assert decoded(Parts(np.int8([8, 100, -9]), np.float32([1]), None), plan).tolist() == [-8, 4, 7]


# --- comparison -----------------------------------------------------------------------------------------------


def test_errors_are_counted_located_and_summed() -> None:
    x = np.float32([[1.25, 2, np.nan, -300], [0.5, 0, 4, 8]])
    plan = plan_of("q8s/native/b4:f32", x.shape)
    scales = np.float32([[1], [0.25]])
    staged = ENGINE.stage(x, plan)
    sums = ENGINE.errors(x, Parts(staged.encode(scales, None), scales, None), plan, 50)
    assert sums.error.tolist() == [[0.0625 + 173.0**2], [0]]
    assert sums.signal.tolist() == [[1.25**2 + 4 + 9e4], [0.25 + 16 + 64]]
    assert sums.decoded.tolist() == [[1 + 4 + 127.0**2], [0.25 + 16 + 64]]
    assert sums.cross.tolist() == [[1.25 + 4 + 300 * 127], [0.25 + 16 + 64]]
    assert sums.pairs.tolist() == [[3], [4]]
    assert (sums.clipped, sums.max_abs, sums.max_index, sums.ranked) == (1, 173, 3, 0)


def test_nothing_to_compare_is_no_error() -> None:
    x = np.full(3, np.nan, np.float32)
    plan = plan_of("q8s/native/t:f32", (3,))
    sums = ENGINE.errors(x, Parts(np.zeros(3, np.int8), np.float32([1]), None), plan, 99.9)
    assert (sums.clipped, sums.max_abs, sums.max_index, sums.ranked) == (0, 0, -1, 0)
    assert sums.pairs.tolist() == [0]


def test_the_input_is_not_touched() -> None:
    x = weights(4, 8)
    x[1, 1] = np.nan
    before = x.copy()
    plan = plan_of("q8s/native/b4:f32", (4, 8))
    staged = ENGINE.stage(x, plan)
    staged.encode(np.ones((4, 2), np.float32), None)
    staged.search(staged.peaks(plan.extents), None)
    np.testing.assert_array_equal(x, before)


def test_a_plan_of_rows_measures_and_searches_rows() -> None:
    x = weights(3, 300)
    plan = plan_of("q4s/u32/b100:f32", x.shape)
    rows = dataclasses.replace(plan, extents=(1, 300), grid=(3, 1))
    assert ENGINE.stage(x, rows).peaks((1, 300)).tolist() == np.abs(x).max(axis=1, keepdims=True).tolist()
    assert ENGINE.stage(x, rows).search(np.abs(x).max(axis=1, keepdims=True), None).shape == (3, 1)
