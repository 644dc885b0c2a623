"""``quantize`` and ``compute_qparams``: words, presets, explicit parameters, tied rows, and what is refused when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qcore
from qcore import Codebook, QuantParams, QuantScheme, errors


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(7).standard_normal((6, 96)).astype(np.float32)


def code_of(call: Any) -> str:
    with pytest.raises(errors.QuantError) as caught:
        call()
    return caught.value.code


def test_a_scheme_its_text_and_its_preset_mean_the_same(x: np.ndarray) -> None:
    text = qcore.quantize(x, "q4s/u32/b32:f16")
    assert qcore.quantize(x, QuantScheme.parse("q4s/u32/b32:f16")) == text
    assert qcore.quantize(x, "int4-b32") == text
    assert qcore.quantize(x, qcore.PRESETS["int4-b32"]) == text


def test_a_preset_carries_its_own_rules_and_a_scheme_none(x: np.ndarray) -> None:
    assert qcore.quantize(x, "nvfp4").rules["scale_rounding"] == "nearest"
    assert qcore.quantize(x, QuantScheme.nvfp4()).rules["scale_rounding"] == "up"
    assert qcore.quantize(x, "bitnet").rules["calibration"] == "absmean"
    assert qcore.quantize(x, "bitnet", calibration="minmax").rules["calibration"] == "minmax"
    assert qcore.quantize(x, "q8_0").rules["arithmetic"] == "ggml-q8_0"
    assert qcore.quantize(x, "q8s/native/b32:f16").rules["arithmetic"] == "exact"


def test_a_table_comes_from_a_hint_a_name_a_codebook_or_an_array(x: np.ndarray) -> None:
    hinted = qcore.quantize(x, "q4f/u32/lookup:nf4/b32:f32")
    for table in ("nf4", Codebook.nf4(), Codebook.nf4().table, Codebook.nf4().table.tolist()):
        assert qcore.quantize(x, "q4f/u32/lookup/b32:f32", codebook=table) == hinted


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"rounding": "up"}, "unknown-name"),
        ({"scale_rounding": "down"}, "unknown-name"),
        ({"scale_rounding": "floor"}, "scale-rounding-needs-ue8m0"),
        ({"nonfinite": "ignore"}, "unknown-name"),
        ({"tied": "column"}, "unknown-name"),
        ({"calibration": "best"}, "unknown-name"),
        ({"calibration": "percentile:101"}, "unknown-name"),
        ({"backend": "tpu"}, "unknown-name"),
        ({"threads": 0}, "option-value"),
        ({"threads": 1.5}, "option-value"),
        ({"codebook": "nf4"}, "table-without-lookup"),
        ({"codebook": "nf5"}, "unknown-name"),
        ({"params": QuantParams([1.0]), "calibration": "minmax"}, "params-and-calibration"),
        ({"params": [1.0]}, "argument-type"),
    ],
)
def test_words_that_mean_nothing_are_refused(x: np.ndarray, arguments: dict[str, Any], code: str) -> None:
    assert code_of(lambda: qcore.quantize(x, "q8s/native/t:f32", **arguments)) == code


@pytest.mark.parametrize(
    ("scheme", "arguments", "code"),
    [
        ("q4f/u32/lookup", {}, "lookup-needs-table"),
        ("q4f/u32/lookup", {"codebook": [0.0, 1.0]}, "table-length"),
        ("q4f/u32/lookup", {"codebook": [0.0] * 16}, "bad-codebook"),
        ("e4m3/u32/lookup:nf4", {}, "lookup-minifloat"),
        ("q8s/packed", {}, "native-packing-unsupported"),
        ("q8s/native/b4:ue4m3/t:f16", {}, "global-scale-not-f32"),
        ("q8s/native/b4x4x4:f32", {}, "block-rank"),
        ("q8s/u32:2", {}, "packing-axis"),
        ("q8s/native/b4:f32/t:f32", {}, "two-level-block-dtype"),
        ("q8s/native/b4:ue4m3/t:f32", {"calibration": "absmean"}, "absmean-two-level"),
        ("q8s/native/b4:ue4m3/t:f32", {"params": QuantParams([1.0])}, "missing-global-scale"),
        ("q8s/native/b4:ue4m3", {"params": QuantParams([1.0], 1.0)}, "superfluous-global-scale"),
        ("q8s/native/b4:f32", {"params": QuantParams([1.0, 2.0])}, "wrong-scale-count"),
        ("q8s/native", {"params": QuantParams([1.0, 2.0])}, "wrong-scale-count"),
        ("q8s/native", {"params": QuantParams([-1.0])}, "negative-scale"),
        ("q8s/native", {"params": QuantParams([np.inf])}, "non-finite-scale"),
        ("q8s/native/b4:ue4m3/t:f32", {"params": QuantParams([1.0], [1.0, 2.0])}, "global-scale-size"),
        ("q8s/native/b2x8:f32", {"tied": "row"}, "tied-needs-rows"),
    ],
)
def test_what_a_scheme_cannot_mean_is_refused(
    x: np.ndarray, scheme: str, arguments: dict[str, Any], code: str
) -> None:
    for backend in ("cpu", "reference"):
        assert code_of(lambda b=backend: qcore.quantize(x, scheme, backend=b, **arguments)) == code


def test_refusals_come_before_the_data_is_looked_at() -> None:
    bad = np.array([[np.nan] * 8], np.float32)
    assert code_of(lambda: qcore.quantize(bad, "q8s/packed")) == "native-packing-unsupported"
    assert code_of(lambda: qcore.quantize(bad, "q8s/native", params=QuantParams([-1.0]))) == "negative-scale"
    assert code_of(lambda: qcore.quantize(bad, "q8s/native")) == "non-finite"


def test_a_non_finite_element_is_named_with_count_index_and_value() -> None:
    data = np.ones((3, 70), np.float64)
    data[1, 5], data[2, 3], data[2, 69] = 1e300, np.nan, -np.inf
    for scheme, arguments in [("int8", {}), ("q4s/u32/b32:f16", {}), ("nf4", {}), ("nvfp4", {}),
                              ("int8", {"calibration": "mse"}), ("int8", {"params": QuantParams([1.0])}),
                              ("q8_0", {})]:  # fmt: skip
        with pytest.raises(errors.NonFiniteError) as caught:
            qcore.quantize(data, scheme, **arguments)
        assert (caught.value.params["count"], caught.value.params["index"]) == (3, 75)
        assert caught.value.params["value"] == "1e+300"
    transposed = np.ones((70, 3), np.float32)
    transposed[5, 1] = np.nan
    with pytest.raises(errors.NonFiniteError) as caught:
        qcore.quantize(transposed.T, "int8")
    assert caught.value.params["index"] == 75


@pytest.mark.parametrize(
    "scheme", ["int8", "int4-b32", "nvfp4", "mxfp4", "nf4", "fp8-channel", "bitnet", "int8-channel"]
)
@pytest.mark.parametrize("calibration", [None, "mse", "percentile:99"])
def test_computed_parameters_give_the_bytes_of_the_calibration(
    x: np.ndarray, scheme: str, calibration: str
) -> None:
    if (scheme, calibration) == ("bitnet", None):
        calibration = "absmean"
    params = qcore.compute_qparams(x, scheme, calibration)
    direct = qcore.quantize(x, scheme, calibration=calibration)
    explicit = qcore.quantize(x, scheme, params=params)
    assert explicit == direct
    assert params.scales.tobytes() == direct.scales.tobytes()
    assert params.global_scale == direct.global_scale
    assert explicit.rules["calibration"] == "params"


def test_ggml_presets_have_no_parameters_of_their_own(x: np.ndarray) -> None:
    for preset in ("q8_0", "q4_0"):
        assert code_of(lambda p=preset: qcore.compute_qparams(x, p)) == "operation-not-implemented"


def test_tied_rows_share_one_scale_over_the_largest_blocks_that_fit(x: np.ndarray) -> None:
    q = qcore.quantize(x, "q8s/native", tied="row")
    assert str(q.scheme) == "q8s/native/b96:f32"
    wide = np.random.default_rng(1).standard_normal((3, 4096)).astype(np.float32)
    q = qcore.quantize(wide, "int8-channel")
    assert str(q.scheme) == "q8s/native/b128:f32"
    assert q.scales.shape == (3, 32)
    assert (q.scales == q.scales[:, :1]).all()
    assert np.array_equal(q.scales[:, 0], np.abs(wide).max(1) / np.float32(127))
    for calibration in ("absmean", "percentile:99", "mse"):
        tied = qcore.quantize(wide, "q4s/u32/b32:f16", tied="row", calibration=calibration)
        assert (tied.scales == tied.scales[:, :1]).all()
        assert tied == qcore.quantize(
            wide, "q4s/u32/b32:f16", tied="row", calibration=calibration, backend="reference"
        )
    prime = qcore.quantize(np.ones((2, 257), np.float32), "int8-channel")
    assert str(prime.scheme) == "q8s/native/b1:f32"
    nvfp4 = qcore.quantize(wide, "nvfp4", tied="row")
    assert (nvfp4.scales.view(np.uint8) == nvfp4.scales.view(np.uint8)[:, :1]).all()


@pytest.mark.parametrize("shape", [(0,), (0, 32), (4, 0), (2, 0, 3), ()])
@pytest.mark.parametrize("scheme", ["int8", "int4-b32", "nvfp4", "mxfp8", "nf4", "int8-channel", "bitnet"])
def test_empty_and_0_d_tensors_quantize(scheme: str, shape: tuple[int, ...]) -> None:
    data = np.full(shape, 0.5, np.float32)
    q = qcore.quantize(data, scheme)
    assert q.shape == shape
    assert q.codes.shape == shape
    assert q == qcore.quantize(data, scheme, backend="reference")
    assert qcore.from_data(q.to_data(), codebook=q.codebook) == q
    assert q.dequantize().shape == shape
    if shape == ():
        assert q.values.shape == (1,)
        assert q.scales.shape == (() if q.scheme.block_size else (1,))
        assert qcore.quantize(data.reshape(1, 1), q.scheme, codebook=q.codebook)[0, 0].shape == ()
    if 0 in shape:
        assert q.bits_per_weight == 0.0
        if q.scheme.block_size is None:
            assert q.scales.tolist() == [0]
        else:
            assert q.scales.size == 0


def test_mse_never_does_worse_than_minmax(x: np.ndarray) -> None:
    for scheme in ("int4-b32", "int2-b32", "mxfp4", "nvfp4", "nf4", "fp8", "q4s/u32/b2x16:bf16"):
        plain = qcore.compare(x, qcore.quantize(x, scheme, calibration="minmax"))
        best = qcore.compare(x, qcore.quantize(x, scheme, calibration="mse"))
        assert (best.block_mse <= plain.block_mse).all()


def test_other_objects_are_refused_where_a_tensor_is_expected() -> None:
    assert code_of(lambda: qcore.dequantize(np.zeros(3))) == "argument-type"
    assert code_of(lambda: qcore.from_data(b"abc")) == "argument-type"
    q = qcore.quantize([0.5, 1.0], "int8")
    assert code_of(lambda: qcore.quantize(q, "int8")) == "input-dtype"


def test_inputs_are_never_modified(x: np.ndarray) -> None:
    before = x.copy()
    for scheme in ("int8", "int4-b32", "nvfp4", "nf4", "q8_0"):
        qcore.quantize(x, scheme)
        qcore.quantize(x.T, scheme)
    assert x.tobytes() == before.tobytes()
