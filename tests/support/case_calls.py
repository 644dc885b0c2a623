"""Cases without steps: each operation of the case file as one call of the public face.

A function takes the case and the backend and asserts everything the case expects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from case_language import close, hold, numbers, params_of, scheme_of, tensor

import qcore

Case = dict[str, Any]
LIMITS = {"F32": 3.4028234663852886e38, "F16": 65504.0, "BF16": 3.3895313892515355e38, "UE4M3": 448.0}


# ---- quantizing ----


def quantized(case: Case, backend: str) -> qcore.QTensor:
    """The case's ``x`` under explicit parameters where it has them, else min-max."""
    x = tensor(case["inputs"]["x"], case.get("qparams"))
    params = explicit(case, x) if "qparams" in case else None
    return qcore.quantize(x, scheme_of(case, backend), params=params, backend=backend)


def explicit(case: Case, x: np.ndarray) -> qcore.QuantParams:
    """Parameters given as numbers or as a formula."""
    if "scales_expr" not in case["qparams"]:
        return params_of(case)
    value = scheme_of(case).value
    span = np.float32(value.hi - value.lo)
    if case["qparams"]["scales_expr"].startswith("2*max|block|"):
        extent = case["scheme"]["block"]["size"][0]
        peaks = np.abs(x).reshape(*x.shape[:-1], -1, extent).max(axis=-1)
        return qcore.QuantParams(scales=np.float32(2) * peaks / span)
    return qcore.QuantParams(scales=[np.float32(x.size) / span])


def run_quantize(case: Case, backend: str) -> None:
    """Codes, scales and decoded values of one quantization."""
    q = quantized(case, backend)
    env = {"q_values": q.codes, "scales": q.scales, "dequantized": q.dequantize()}
    for expectation in case["expected"]:
        if "property" in expectation:
            PROPERTIES[expectation["property"]](case, q, backend)
        else:
            hold(expectation, env)


def run_strategy_scale(case: Case, backend: str) -> None:
    """The strategy of a per-tensor scheme hands out its scale."""
    strategy = quantized(case, backend).strategy()
    assert type(strategy).__name__ == "PerTensorSymmetric"
    assert np.float32(strategy.scale) == np.float32(case["expected"][0]["data"][0])


def run_stored_scales(case: Case, backend: str) -> None:
    """Requested scales are stored rounded up."""
    requested = numbers(case["inputs"]["requested"]["data"])
    x = np.ones((requested.size, 32), np.float32)
    q = qcore.quantize(
        x, scheme_of(case, backend), params=qcore.QuantParams(scales=requested), backend=backend
    )
    hold(case["expected"][0] | {"var": "scales", "shape": [4, 1]}, {"scales": q.scales})


def run_native_reference(case: Case, backend: str) -> None:
    """Packed words hold the codes that the native store holds, with no tie anywhere near."""
    packed = quantized(case, backend)
    scheme = scheme_of(case, backend).with_store(qcore.QuantStore.native())
    x = tensor(case["inputs"]["x"])
    native = qcore.quantize(x, scheme, backend=backend)
    even = qcore.quantize(x, scheme, backend=backend, rounding="half-even")
    np.testing.assert_array_equal(packed.codes, native.codes)
    np.testing.assert_array_equal(even.codes, native.codes)
    assert close(packed.dequantize(), native.dequantize(), {"relative": 0.005, "absolute": 1e-5}).all()


def _within_half_a_step(case: Case, q: qcore.QTensor, backend: str) -> None:
    x = tensor(case["inputs"]["x"])
    scales = np.asarray(q.scales, np.float64).reshape(-1, 1)
    error = np.abs(q.dequantize().astype(np.float64) - x).reshape(scales.shape[0], -1)
    assert (error <= scales / 2 * (1 + 1e-4)).all()


def _subnormal_outputs(case: Case, q: qcore.QTensor, backend: str) -> None:
    x = tensor(case["inputs"]["x"], case["qparams"])
    half = q.dequantize(dtype=np.float16)
    assert half.dtype == np.float16
    assert half.any()
    assert (np.abs(half.astype(np.float64) - x) <= 2.0**-24).all()


def _narrow_scales_degrade(case: Case, q: qcore.QTensor, backend: str) -> None:
    x = tensor(case["inputs"]["x"])
    narrow = qcore.quantize(x, q.scheme.per_block([32], "UE4M3"), backend=backend)

    def relative(tensor_: qcore.QTensor) -> float:
        return float(
            np.linalg.norm(x.astype(np.float64) - tensor_.dequantize()) / np.linalg.norm(x.astype(np.float64))
        )

    assert relative(narrow) > 2.0 * relative(q)


PROPERTIES: dict[str, Callable[[Case, qcore.QTensor, str], None]] = {
    "|out - x| <= scale/2*(1+1e-4) for every element": _within_half_a_step,
    "|out - x| <= scale_of_block/2*(1+1e-4) for every element": _within_half_a_step,
    "some output != 0 and |f16 output - x| <= 2^-24 everywhere": _subnormal_outputs,
    "relF(UE4M3 one-level) > 2.0 * relF(F32)": _narrow_scales_degrade,
}


# ---- calibration ----


def run_range(case: Case, backend: str) -> None:
    """The range shows in the scale: max(|min|, |max|) over half the span of the value type."""
    low, high = (numbers(e["data"]) for e in case["expected"])
    calibration = {"MinMax": "minmax", "AbsMean": "absmean"}[case["calibration"]]
    scheme = scheme_of(case, backend)
    params = qcore.compute_qparams(
        tensor(case["inputs"]["x"]), scheme, calibration=calibration, backend=backend
    )
    wanted = np.maximum(np.abs(low), np.abs(high)) / np.float32(scheme.value.half_range)
    found = np.asarray(params.scales, np.float32)
    assert close(found.reshape(-1), wanted.reshape(-1), {"relative": 1e-6, "absolute": 0.0}).all()


def run_params(case: Case, backend: str) -> None:
    """Scales from the ends of a range, block by block."""
    scheme = scheme_of(case, backend)
    ends = np.stack([numbers(case["inputs"][name]["data"]) for name in ("min", "max")], axis=-1)
    x = np.zeros((*ends.shape[:-1], 4), np.float32)
    x[..., :2] = ends
    params = qcore.compute_qparams(x, scheme, backend=backend)
    hold(case["expected"][0], {"scales": np.asarray(params.scales).reshape(-1)})


# ---- bytes and words ----


def run_from_data(case: Case, backend: str) -> None:
    """Stored codes or words arrive with their meaning, and the data goes back out unchanged."""
    scheme, given = scheme_of(case, backend), case["inputs"]
    scales = np.asarray(case["qparams"]["scales"], np.float32)
    level = case["qparams"]["global"]
    if "words" in given:
        words = np.array(given["words"]["data"], np.uint32)
        tail = b"" if level is None else np.float32(level).tobytes()
        data = qcore.TensorData(
            words.tobytes() + scales.tobytes() + tail, case["expected"][0]["shape"], scheme
        )
    else:
        codes = np.array(given["q_values"]["data"], np.int8)
        data = qcore.TensorData.quantized(codes, given["q_values"]["shape"], scheme, scales, level)
    table = case.get("table")
    codebook = qcore.Codebook(np.asarray(table, np.float32)) if table else None
    q = qcore.from_data(data, backend=backend, codebook=codebook)
    assert q.to_data() == data
    for expectation in case["expected"]:
        hold(expectation, {"dequantized": q.dequantize(), "q_values": q.codes, "scales": q.scales})


def run_bytes(case: Case, backend: str) -> None:
    """Parts become the documented bytes, or the documented refusal."""
    expectation, given = case["expected"][0], case["inputs"]["q_values"]
    scheme, level = scheme_of(case), case["qparams"]["global"]
    if "error" in expectation:
        with pytest.raises(qcore.errors.QuantError) as caught:
            qcore.TensorData.quantized(
                given["data"], given["shape"], scheme, case["qparams"]["scales"], level
            )
        assert str(caught.value) == case["full_message"]
        return
    data = qcore.TensorData.quantized(given["data"], given["shape"], scheme, case["qparams"]["scales"], level)
    assert data.bytes.hex() == expectation["bytes_hex"]
    assert len(data.bytes) == expectation["bytes_len"]
    q = qcore.from_data(data, backend=backend)
    assert list(data) == given["data"]
    assert [float(s) for s in q.scales] == [np.float32(s) for s in case["qparams"]["scales"]]
    assert q.global_scale == level


def run_data_len(case: Case, backend: str) -> None:
    """The one length function, and the bytes of a real tensor."""
    length = case["expected"][0]["bytes_len"]
    assert qcore.quantized_data_len(scheme_of(case), case["shape"]) == length
    assert (
        len(
            qcore.quantize(np.ones(case["shape"], np.float32), scheme_of(case), backend=backend)
            .to_data()
            .bytes
        )
        == length
    )


def run_pack(case: Case, backend: str) -> None:
    """Four signed bytes in a word, the first in the low byte."""
    words = qcore.pack(
        np.array(case["inputs"]["values"]["data"], np.int8), "q8s", qcore.QuantStore.packed_u32(0)
    )
    hold(case["expected"][0], {"words": words})


def run_unpack(case: Case, backend: str) -> None:
    """Words back to signed bytes, padding dropped."""
    words = np.array(case["inputs"]["words"]["data"], np.uint32)
    hold(
        case["expected"][0],
        {"values": qcore.unpack(words, (case["numel"],), "q8s", qcore.QuantStore.packed_u32(0))},
    )


def run_minifloat(case: Case, backend: str) -> None:
    """Codes of single numbers under a scale of one."""
    x = tensor(case["inputs"]["x"])
    store = "packed" if case["op"] == "encode_packed" else "native"
    scheme = f"{case['value'].lower()}/{store}/t:f32"
    q = qcore.quantize(x, scheme, params=qcore.QuantParams(scales=[1.0]), backend=backend)
    for expectation in case["expected"]:
        hold(expectation, {"codes": q.codes, "bytes": q.values, "decoded": q.dequantize()})


# ---- scale rounding ----


def stored(scales: np.ndarray, dtype: str, backend: str) -> np.ndarray:
    """Scales as a scheme with that dtype stores them, one block per element."""
    x = np.zeros(scales.shape, np.float32)
    scheme = qcore.QuantScheme.parse(f"q8s/native/b1:{dtype.lower()}")
    q = qcore.quantize(x, scheme, params=qcore.QuantParams(scales=scales.astype(np.float32)), backend=backend)
    return np.asarray(q.scales).astype(np.float32)


def run_codec_idempotent(case: Case, backend: str) -> None:
    """A stored scale stays what it is when it is stored again."""
    scales = numbers(case["inputs"]["scales"]["data"])
    for dtype in case["dtypes"]:
        once = stored(scales, dtype, backend)
        np.testing.assert_array_equal(stored(once, dtype, backend), once)
        assert (once[scales < 500] >= scales[scales < 500]).all()
        if dtype == "UE4M3":
            assert once[scales == 500] == 448


def run_round_up(case: Case, backend: str) -> None:
    """Never below, saturating, and the identity for f32."""
    name = case["id"].rpartition(".")[2]
    if name == "max_representable":
        assert {d: qcore.ScaleDtype(d).max_representable for d in case["expected"][0]} == case["expected"][0]
        return
    for dtype in case["dtypes"]:
        if name == "never_below":
            grid = case["inputs"]["grid"]
            steps, exponents = np.arange(*grid["step"]), np.arange(grid["exp"][0], grid["exp"][1] + 1.0)
            scales = (steps[:, None] / 16 * np.exp2(exponents)).astype(np.float32).reshape(-1)
            assert (stored(scales, dtype, backend) >= scales).all()
        elif name == "saturates":
            top = np.float32(LIMITS[dtype])
            beyond = np.float32(min(2 * float(top), LIMITS["F32"]))
            np.testing.assert_array_equal(stored(np.array([top, beyond]), dtype, backend), [top, top])
        else:
            scales = numbers(case["inputs"]["scales"]["data"])
            np.testing.assert_array_equal(stored(scales, dtype, backend), scales)


# ---- schemes, blocks, capability ----


def run_block(case: Case, backend: str) -> None:
    """Grid, canonical form, expansion and permutation of a block."""
    block = qcore.BlockSize(case["block"])
    axes = case.get("axes") or ([1, 0] if "dims" in case else None)
    if axes is not None:
        found = block.permuted(axes)
    elif "shape" in case:
        found = block.grid(tuple(case["shape"]))
    else:
        found = block.expand(case["rank"]) if "rank" in case else block
    assert list(found) == case["expected"][0]["value"]


def run_derived(case: Case, backend: str) -> None:
    """What follows from the levels of a scheme."""
    scheme = scheme_of(case)
    for name, wanted in case["expected"][0].items():
        found = getattr(scheme, name)
        if name == "block_size":
            found = None if found is None else list(found)
        elif hasattr(found, "name"):
            found = found.name
        assert found == wanted


def run_quantizable(case: Case, backend: str) -> None:
    """Whether any of Burn's backends could quantize under the scheme's levels."""
    assert scheme_of(case).quantizable is case["expected"][0]["quantizable"]


def run_supports(case: Case, backend: str) -> None:
    """A two-level int8 scheme is fine where Burn says so."""
    scheme = scheme_of(case)
    assert qcore.check(scheme, (8,), on="burn-ndarray")
    assert scheme.num_levels == case["expected"][0]["num_levels"]
    quantized(case, backend)


def run_linear_weight(case: Case, backend: str) -> None:
    """A freshly initialised linear weight survives int8."""
    bound = 1 / np.sqrt(32)
    weight = np.random.default_rng(1).uniform(-bound, bound, (32, 32)).astype(np.float32)
    q = qcore.quantize(weight, scheme_of(case, backend), backend=backend)
    assert close(q.dequantize(), weight, case["expected"][0]["tolerance"]).all()


CALLS: dict[str, Callable[[Case, str], None]] = {
    "quantize": run_quantize,
    "quantize_dynamic": run_quantize,
    "quantize(alpha=-1.8,beta=0.5)": run_quantize,
    "quantize+dequantize": run_quantize,
    "quantize+dequantize(f16)": run_quantize,
    "quantize+strategy": run_strategy_scale,
    "quantize_dynamic: PackedU32(0) == Native reference": run_native_reference,
    "compute_range": run_range,
    "compute_q_params": run_params,
    "q_from_data+q_into_data": run_from_data,
    "dequantize": run_from_data,
    "dequantize_packed": run_from_data,
    "dequantize_lookup": run_from_data,
    "quantized_bytes": run_bytes,
    "quantized_data_len": run_data_len,
    "pack_i8_to_u32": run_pack,
    "unpack": run_unpack,
    "encode": run_minifloat,
    "encode_packed": run_minifloat,
    "round_up+encode+decode": run_codec_idempotent,
    "round_up": run_round_up,
    "max_representable": run_round_up,
    "num_blocks": run_block,
    "canonical_block": run_block,
    "to_dim_vec": run_block,
    "swap_block_dims": run_block,
    "permute_block_dims": run_block,
    "derived": run_derived,
    "quantizable": run_quantizable,
    "supports_dtype": run_supports,
    "Quantizer(MinMax) on a 32x32 linear weight": run_linear_weight,
}
