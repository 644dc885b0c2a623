"""Calibrations: the written formula, the same bits on every backend, and parameters that reproduce the tensor."""

import math

import numpy as np
import oracle
import pytest
from matrix import exactly_equal

import qcore

TEXTS = (
    "q8s/native/t:f32",
    "q8f/native/b16:f16",
    "q2s/u32/b3x8:bf16",
    "q4s/u32/b32:ue4m3",
    "e4m3/native/b32:ue8m0",
    "e2m1/packed/b16:f32",
    "nf4",
)
CALIBRATIONS = (
    "minmax",
    "absmax",
    "absmean",
    "percentile",
    "percentile:50",
    "percentile:0.01",
    "percentile:100",
    "mse",
)


def weights(shape: tuple[int, ...] = (9, 70)) -> np.ndarray:
    x = np.random.default_rng(3).standard_t(3, shape).astype(np.float32)
    x[0] = 0
    x[1, 1:] = 0
    return x


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("text", TEXTS)
def test_backends_agree_and_params_reproduce_the_tensor(text: str, calibration: str) -> None:
    x = weights()
    q = qcore.quantize(x, text, calibration=calibration)
    assert qcore.quantize(x, text, calibration=calibration, backend="reference").to_data() == q.to_data()
    for backend in ("cpu", "opencl", "reference"):
        params = qcore.compute_qparams(x, text, calibration=calibration, backend=backend)
        exactly_equal(params.scales, q.scales, text)
        assert params.global_scale == q.global_scale
        again = qcore.quantize(x, text, params=params, backend=backend)
        assert again.scales.tobytes() == q.scales.tobytes()
        np.testing.assert_array_equal(again.dequantize(), q.dequantize())


def blocks(x: np.ndarray, extents: tuple[int, ...]) -> list[tuple[tuple[int, ...], np.ndarray]]:
    grid = [-(-d // e) for d, e in zip(x.shape, extents, strict=True)]
    return [
        (at, x[tuple(slice(i * e, (i + 1) * e) for i, e in zip(at, extents, strict=True))].reshape(-1))
        for at in np.ndindex(*grid)
    ]


@pytest.mark.parametrize("extents", [(1, 70), (9, 70), (4, 16), (1, 1), (2, 7)])
@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
def test_absmean_is_the_mean_in_the_documented_order(extents: tuple[int, int], backend: str) -> None:
    x = weights() * np.exp2(np.random.default_rng(4).integers(-20, 20, (9, 70))).astype(np.float32)
    text = f"q2s/u32/b{extents[0]}x{extents[1]}:f32"
    found = np.asarray(qcore.compute_qparams(x, text, calibration="absmean", backend=backend).scales)
    for at, block in blocks(x, extents):
        wanted = np.float32(oracle.fixed_order_sum(np.abs(block)) / block.size)
        assert found[at if found.ndim == 2 else -1] == wanted


@pytest.mark.parametrize("n", [1, 7, 8, 9, 4095, 4096, 4097, 12289, 40000])
@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
def test_long_sums_keep_the_documented_order(n: int, backend: str) -> None:
    rng = np.random.default_rng(n)
    x = (rng.normal(size=n) * np.exp2(rng.integers(-30, 30, n))).astype(np.float32)
    wanted = np.float32(oracle.fixed_order_sum(np.abs(x)) / n)
    assert (
        qcore.compute_qparams(x, "q2s/u32/t:f32", calibration="absmean", backend=backend).scales[0]
        == wanted
    )


@pytest.mark.parametrize("percent", [0.01, 1, 37.5, 50, 99, 99.9, 100])
@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
def test_percentile_is_the_kth_smallest_without_interpolation(percent: float, backend: str) -> None:
    x = weights()
    for extents in ((1, 70), (9, 70), (4, 16)):
        text = f"q8s/native/b{extents[0]}x{extents[1]}:f32"
        params = qcore.compute_qparams(x, text, calibration=f"percentile:{percent}", backend=backend)
        found = np.asarray(params.scales).reshape(-1)
        for scale, (_, block) in zip(found, blocks(x, extents), strict=True):
            ranked = np.sort(np.abs(block))
            kth = ranked[max(math.ceil(percent / 100 * block.size), 1) - 1]
            assert scale == np.float32((kth or ranked[-1]) / np.float32(127))


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
@pytest.mark.parametrize(
    ("value", "dtype", "tensor", "rule"),
    [
        ("q8s", "f32", None, "up"),
        ("q4s", "f16", None, "up"),
        ("q4f", "ue8m0", None, "nearest"),
        ("q2s", "bf16", None, "nearest"),
        ("e2m1", "ue4m3", "f32", "nearest"),
        ("q4s", "f16", "f32", "up"),
        ("e2m1", "f32", None, "up"),
        ("e4m3", "ue4m3", None, "up"),
    ],
)
def test_mse_takes_the_least_error_and_the_first_on_a_tie(
    value: str, dtype: str, tensor: str | None, rule: str, backend: str
) -> None:
    x = weights((5, 70))
    fields = oracle.Fields(value, "u32", False, (16,), dtype, tensor)
    minmax = oracle.quantize(x, fields, scale_rounding=rule)
    level = minmax.global_scale
    params = qcore.compute_qparams(x, fields.text, calibration="mse", scale_rounding=rule, backend=backend)
    assert params.global_scale == level
    found = np.asarray(params.scales).astype(np.float32)
    for at, block in blocks(x, (1, 16)):
        needed = np.float32(np.abs(block).max() / oracle.half_range(value))
        needed = needed if level is None else np.float32(needed / level)
        errors, candidates = [], []
        for j in range(32):
            scale = oracle.round_scales(np.array([needed * np.float32((64 - j) / 64)]), dtype, rule)
            one = oracle.Fields(value, "u32", False, (block.size,), dtype, tensor)
            decoded = oracle.quantize(block, one, scales=scale, global_scale=level).decoded
            squares = np.square(block.astype(np.float64) - decoded)
            errors.append(oracle.fixed_order_sum(squares))
            candidates.append(scale[0])
        assert found[at] == candidates[int(np.argmin(errors))], (at, errors)


@pytest.mark.parametrize("text", TEXTS)
def test_mse_is_never_worse_than_minmax(text: str) -> None:
    x = weights()
    errors = []
    for calibration in ("minmax", "mse"):
        q = qcore.quantize(x, text, calibration=calibration)
        errors.append(np.square(x.astype(np.float64) - q.dequantize()).sum())
    assert errors[1] <= errors[0]


@pytest.mark.parametrize("text", ["nvfp4", "q4s/u32/b16:f16/t:f32"])
def test_two_levels_keep_the_minmax_global_scale_under_mse(text: str) -> None:
    x = weights()
    plain, searched = (qcore.compute_qparams(x, text, calibration=name) for name in ("minmax", "mse"))
    assert plain.global_scale == searched.global_scale
    for name in ("percentile:90", "mse"):
        q = qcore.quantize(x, text, calibration=name)
        assert qcore.quantize(x, text, calibration=name, backend="reference").to_data() == q.to_data()
    with pytest.raises(NotImplementedError, match="AbsMean calibration has no two-level form"):
        qcore.quantize(x, text, calibration="absmean")


@pytest.mark.parametrize("columns", [64, 255, 256, 510, 7, 509])
def test_tied_rows_share_one_scale_over_all_their_blocks(columns: int) -> None:
    x = np.random.default_rng(8).normal(size=(5, columns)).astype(np.float32)
    extent = max(e for e in range(1, 256) if columns % e == 0)
    for backend in ("cpu", "opencl", "reference"):
        q = qcore.quantize(x, "q8s/native", tied="row", backend=backend)
        wanted = (np.abs(x).max(axis=1, keepdims=True) / np.float32(127)).astype(np.float32)
        assert q.scales.shape == (5, columns // extent)
        np.testing.assert_array_equal(q.scales, np.broadcast_to(wanted, q.scales.shape))
        answer = oracle.quantize(
            x, oracle.Fields("q8s", "native", False, (extent,)), scales=np.asarray(q.scales)
        )
        np.testing.assert_array_equal(q.codes, answer.codes)


@pytest.mark.parametrize("rule", ["up", "nearest", "floor", "even"])
@pytest.mark.parametrize("value", ["e2m1", "e4m3", "e5m2"])
def test_explicit_scales_follow_the_rounding_rule(value: str, rule: str) -> None:
    given = np.exp2(np.linspace(-130, 127, 400)).astype(np.float32)
    x = np.repeat(given[:, None], 3, axis=1)
    for backend in ("cpu", "opencl", "reference"):
        params = qcore.QuantParams(scales=given)
        q = qcore.quantize(x, f"{value}/u32/b3:ue8m0", params=params, scale_rounding=rule, backend=backend)
        if rule in ("floor", "even"):
            bits = given.view(np.uint32).astype(
                np.int64
            )  # the exponent as given: no half step, nothing subtracted
            wanted = np.exp2(np.clip((bits >> 23) - 127, -127, 127).astype(np.float64)).astype(np.float32)
        else:
            wanted = oracle.round_scales(given, "ue8m0", rule)
        np.testing.assert_array_equal(np.asarray(q.scales).astype(np.float32).reshape(-1), wanted)
