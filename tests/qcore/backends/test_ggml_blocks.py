"""ggml's block arithmetic, against bytes that ggml wrote (a sample: ordinary, zero, tiny, huge, tied blocks)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qcore.backends.ggml_blocks import ARITHMETICS, quantize

SAMPLE = np.load(Path(__file__).parents[2] / "data" / "peers" / "ggml_sample.npz")
NAMES = {"ggml-q8_0": "q8_0", "ggml-q4_0": "q4_0"}


def block_bytes(codes: np.ndarray, scales: np.ndarray, arithmetic: str) -> np.ndarray:
    """Blocks as ggml lays them out."""
    head = scales.reshape(-1, 1).view(np.uint8)
    fields = codes.reshape(-1, 32)
    if arithmetic == "ggml-q4_0":
        nibbles = (fields + 8).astype(np.uint8)
        return np.concatenate([head, nibbles[:, :16] | nibbles[:, 16:] << 4], axis=1)
    return np.concatenate([head, fields.view(np.uint8)], axis=1)


@pytest.mark.parametrize("arithmetic", list(ARITHMETICS))
@pytest.mark.parametrize("case", ["", "_ties"])
def test_the_bytes_are_those_of_ggml(arithmetic: str, case: str) -> None:
    name = NAMES[arithmetic]
    x = SAMPLE[f"{name}{case}_x"] if case else SAMPLE["x"]
    np.testing.assert_array_equal(block_bytes(*quantize(x, arithmetic), arithmetic), SAMPLE[name + case])


@pytest.mark.parametrize("arithmetic", list(ARITHMETICS))
def test_shapes_are_those_of_the_grid_and_short_blocks_count_as_filled_with_zeros(arithmetic: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 2, 70)).astype(np.float32)
    codes, scales = quantize(x, arithmetic)
    assert (codes.shape, codes.dtype, scales.shape, scales.dtype) == (x.shape, np.int8, (3, 2, 3), np.float16)
    filled = np.zeros((3, 2, 96), np.float32)
    filled[..., :70] = x
    whole_codes, whole_scales = quantize(filled, arithmetic)
    np.testing.assert_array_equal(codes, whole_codes[..., :70])
    np.testing.assert_array_equal(scales, whole_scales)


@pytest.mark.parametrize("arithmetic", list(ARITHMETICS))
@pytest.mark.parametrize("shape", [(), (1,), (0,), (4, 0), (0, 40), (5, 33)])
def test_any_shape_is_taken(arithmetic: str, shape: tuple[int, ...]) -> None:
    codes, scales = quantize(np.ones(shape, np.float32), arithmetic)
    *lead, last = shape or (1,)
    assert codes.shape == (*lead, last)
    assert scales.shape == (*lead, -(-last // 32))


@pytest.mark.parametrize("arithmetic", list(ARITHMETICS))
def test_a_long_line_and_many_lines_are_worked_on_in_steps(arithmetic: str) -> None:
    block = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    codes, scales = quantize(block, arithmetic)
    for shape in ((300_032,), (10_000, 32)):
        many = np.broadcast_to(block, (*shape[:-1], shape[-1] // 32, 32)).reshape(shape)
        many_codes, many_scales = quantize(many, arithmetic)
        assert (many_codes.reshape(-1, 32) == codes).all()
        assert (many_scales == scales[0]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats_are_first_made_float32(dtype: type) -> None:
    x = np.random.default_rng(2).standard_normal((2, 64)).astype(dtype)
    for arithmetic in ARITHMETICS:
        for ours, expected in zip(
            quantize(x, arithmetic), quantize(x.astype(np.float32), arithmetic), strict=True
        ):
            np.testing.assert_array_equal(ours, expected)


def test_the_first_of_the_largest_magnitudes_gives_q4_0_its_sign() -> None:
    x = np.zeros((2, 32), np.float32)
    x[0, [3, 9]] = 8, -8
    x[1, [3, 9]] = -8, 8
    codes, scales = quantize(x, "ggml-q4_0")
    assert scales.tolist() == [[-1], [1]]
    assert codes[:, [3, 9]].tolist() == [[-8, 7], [-8, 7]]


def test_halves_go_away_from_zero_in_q8_0() -> None:
    x = np.zeros(32, np.float32)
    x[:5] = 127, 0.5, 1.5, -0.5, -2.5
    assert quantize(x, "ggml-q8_0")[0][:5].tolist() == [127, 1, 2, -1, -3]


def test_a_scale_beyond_float16_is_stored_as_infinity() -> None:
    x = np.full(32, 1e10, np.float32)
    for arithmetic in ARITHMETICS:
        assert np.isinf(quantize(x, arithmetic)[1]).all()


@pytest.mark.parametrize("arithmetic", list(ARITHMETICS))
@pytest.mark.parametrize("sign", [1, -1])
def test_saturation_calibrates_over_the_finite_elements(arithmetic: str, sign: int) -> None:
    x = np.zeros(32, np.float32)
    x[:4] = sign * 4, np.nan, np.inf, -np.inf
    codes, scales = quantize(x, arithmetic)
    calm = np.where(np.isfinite(x), x, 0).astype(np.float32)
    expected_codes, expected_scales = quantize(calm, arithmetic)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(codes[[0, *range(4, 32)]], expected_codes[[0, *range(4, 32)]])
    values = codes.astype(np.float32) * np.float32(scales[0])
    assert values[1] == 0
    assert (values[2], values[3]) == (values.max(), values.min())
    assert values[2] > 0 > values[3]


@pytest.mark.parametrize("arithmetic", list(ARITHMETICS))
def test_without_a_finite_magnitude_all_codes_are_zero(arithmetic: str) -> None:
    codes, scales = quantize(np.float32([np.nan, np.inf, -np.inf, 0] * 8), arithmetic)
    assert not codes.any()
    assert (scales == 0).all()
