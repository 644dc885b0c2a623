"""Explicit scales: what is taken, what is refused, and in which order."""

from typing import Any

import numpy as np
import pytest

import qcore

BACKENDS = ("cpu", "reference", "burn-ndarray")
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
TENSOR, BLOCK, TWO = "q8s/native/t:f32", "q8s/native/b4:f16", "q8s/native/b4:f16/t:f32"


def given(
    scales: Any, level: Any = None, text: str = BLOCK, backend: str = "cpu", **options: Any
) -> qcore.QTensor:
    return qcore.quantize(
        X, text, params=qcore.QuantParams(scales=scales, global_scale=level), backend=backend, **options
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "scales", "level", "code"),
    [
        (TENSOR, [1.0, 2.0], None, "wrong-scale-count"),
        (TENSOR, [], None, "wrong-scale-count"),
        (BLOCK, [1.0] * 7, None, "wrong-scale-count"),
        (BLOCK, np.ones((8, 2)), None, "wrong-scale-count"),
        (BLOCK, [1.0] * 7 + [-1.0], None, "negative-scale"),
        (BLOCK, [np.nan] + [1.0] * 7, None, "non-finite-scale"),
        (BLOCK, [np.inf] + [1.0] * 7, None, "non-finite-scale"),
        (BLOCK, np.array([1e300] + [1.0] * 7), None, "non-finite-scale"),
        (TWO, [1.0] * 8, None, "missing-global-scale"),
        (TWO, [1.0] * 8, -1.0, "negative-scale"),
        (TWO, [1.0] * 8, np.nan, "non-finite-scale"),
        (TWO, [1.0] * 8, [1.0, 2.0], "global-scale-size"),
        (BLOCK, [1.0] * 8, 1.0, "superfluous-global-scale"),
        (TENSOR, [1.0], 1.0, "superfluous-global-scale"),
    ],
)
def test_bad_params_are_scale_errors(text: str, scales: Any, level: Any, code: str, backend: str) -> None:
    with pytest.raises(qcore.errors.ScaleError) as caught:
        given(scales, level, text, backend)
    assert caught.value.code == code
    assert isinstance(caught.value, ValueError)


def test_messages_are_burns_where_burn_has_them() -> None:
    with pytest.raises(ValueError, match="a two-level scheme should have a per-tensor scale"):
        given([1.0] * 8, None, TWO)
    with pytest.raises(ValueError, match="a per-tensor scale should come with a two-level scheme"):
        given([1.0] * 8, 1.0, BLOCK, "burn-ndarray")
    with pytest.raises(ValueError) as caught:
        given([1.0] * 7)
    wanted = "Invalid per-block quantization: 7 blocks for a Shape { dims: [4, 8] } tensor with BlockSize([4]) blocks"
    assert str(caught.value) == wanted
    with pytest.raises(ValueError, match="the per-tensor scale must have exactly one element, got"):
        given([1.0] * 8, [1.0, 2.0], TWO)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_any_shape_and_dtype_of_scales_is_taken_and_one_stands_for_all(backend: str) -> None:
    wanted = given([0.5] * 8, backend=backend)
    for scales in (
        0.5,
        [0.5],
        np.full((4, 2), 0.5),
        np.full((2, 2, 2), 0.5, np.float16),
        np.full(8, 0.5),
        wanted.scales,
    ):
        assert given(scales, backend=backend).to_data() == wanted.to_data()
    assert wanted.scales.shape == (4, 2)
    with pytest.raises(qcore.errors.ScaleError):
        given([0.5], backend="burn-ndarray")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_negative_zero_scale_is_zero(backend: str) -> None:
    q = given([-0.0, *[1.0] * 7], backend=backend)
    assert q.scales.tobytes() == given([0.0, *[1.0] * 7], backend=backend).scales.tobytes()
    assert not np.signbit(q.scales).any()


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_where_the_effective_scale_is_zero_every_code_is_zero(backend: str) -> None:
    for text in ("q8f/native/b4:f32", "e4m3/native/b4:f16", "e2m1/packed/b4:ue4m3", "q4s/u32/b4:bf16"):
        q = given([0.0] * 8, text=text, backend=backend)
        assert not q.codes.any()
        assert not q.values.any()
        assert not q.dequantize().any()
    # both levels positive, their product too small for float32
    q = given([2.0**-24] * 8, 2.0**-130, TWO, backend)
    assert not q.codes.any()
    q = given([0.0] * 8, text="q4f/native/lookup/b4:f32", backend=backend, codebook="nf4")
    assert (q.codes == 7).all()


def test_burn_ndarray_puts_a_tenth_where_a_scale_is_zero() -> None:
    q = given([0.0] * 8, backend="burn-ndarray")
    np.testing.assert_array_equal(
        q.codes, np.copysign(np.floor(np.abs(X / np.float32(0.1)).astype(float) + 0.5), X)
    )
    np.testing.assert_array_equal(q.dequantize(), q.codes * np.float32(0.1))
    assert not q.scales.any()


def test_a_calibration_beside_params_is_refused() -> None:
    with pytest.raises(qcore.errors.InvalidSchemeError) as caught:
        given([1.0] * 8, calibration="minmax")
    assert caught.value.code == "params-and-calibration"


def test_a_preset_with_params_keeps_its_rounding_and_its_table() -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    params = qcore.QuantParams(scales=[0.29], global_scale=1.0)
    nearest = qcore.quantize(x, "nvfp4", params=qcore.QuantParams(scales=[0.29] * 4, global_scale=1.0))
    assert set(np.asarray(nearest.scales, np.float32).tolist()) == {0.28125}
    assert nearest.to_data() == qcore.quantize(x, "nvfp4", params=params).to_data()
    table = qcore.quantize(x, "nf4", params=qcore.QuantParams(scales=[1.0]))
    assert table.codebook == qcore.Codebook.nf4()
    assert qcore.quantize(x, "bitnet", params=qcore.QuantParams(scales=[1.0])).scales.tolist() == [1.0]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_loaded_scales_may_be_anything_and_decode(backend: str) -> None:
    scales = [-1.0, 0.5, -0.0, 2.0, -3.0, 1.0, 1.0, 1.0]
    data = qcore.TensorData.quantized(np.ones(32, np.int8), (4, 8), BLOCK, scales)
    q = qcore.from_data(data, backend=backend)
    assert q.dequantize().reshape(8, 4)[:, 0].tolist() == scales
    with pytest.raises(qcore.errors.ScaleError):
        qcore.quantize(X, BLOCK, params=qcore.QuantParams(scales=q.scales), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rules_come_before_params_and_params_before_data(backend: str) -> None:
    x = X.copy()
    x[0, 0] = np.nan
    bad = qcore.QuantParams(scales=[-1.0] * 8)
    with pytest.raises(qcore.errors.QuantError) as caught:
        qcore.quantize(x, "q8s/packed/b4:f16", params=bad, backend=backend)
    first = "quantize-unsupported-scheme" if backend == "burn-ndarray" else "native-packing-unsupported"
    assert caught.value.code == first
    with pytest.raises(qcore.errors.QuantError) as caught:
        qcore.quantize(x, BLOCK, params=bad, backend=backend)
    assert caught.value.code == "negative-scale"
    with pytest.raises(qcore.errors.QuantError) as caught:
        qcore.quantize(x, BLOCK, backend=backend)
    assert caught.value.code == "non-finite"
