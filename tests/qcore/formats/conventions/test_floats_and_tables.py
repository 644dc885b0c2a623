"""HF fp8, ModelOpt, gpt-oss, MLX, torchao, bitsandbytes and quanto: built by hand, read with the values they mean."""

import json

import ml_dtypes
import numpy as np
import peer_data
import pytest
import source
from checkpoints import folder, quantized_by

import qcore

PEER = peer_data.load("checkpoints")
E8M0, E4M3, E5M2 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
RNG = np.random.default_rng(7)


def opened(path, arrays, config=None, metadata=None, **files):
    with qcore.open(folder(path, arrays, config, metadata, **files)) as file:
        (name,) = [name for name in file.names() if name.endswith(("weight", "proj"))]
        return file.info(name), file.tensor(name)


def nibbles(packed):
    return np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)


def spread(scales, row):
    return np.repeat(scales.astype(np.float32), row // scales.shape[-1], -1)


@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16, E8M0, np.uint8])
def test_hf_fp8_scales_multiply_despite_their_name_and_keep_their_dtype(tmp_path, kind):
    codes = RNG.standard_normal((200, 300)).astype(E4M3)
    scale = (2.0 ** RNG.integers(-6, 3, (2, 3))).astype(np.float32)
    stored = scale.astype(E8M0).view(np.uint8) if kind is np.uint8 else scale.astype(kind)
    config = quantized_by("fp8", fmt="e4m3", weight_block_size=[128, 128], scale_fmt="ue8m0")
    info, tensor = opened(tmp_path / "m", {"a.weight": codes, "a.weight_scale_inv": stored}, config)
    values = codes.astype(np.float32) * np.repeat(np.repeat(scale, 128, 0), 128, 1)[:200, :300]
    assert np.array_equal(tensor.dequantize(), values)
    assert (info.origin, info.fidelity) == ("hf-fp8", "exact")
    assert tensor.scales.tobytes() == stored.tobytes()


def test_hf_fp8_experts_are_stacked_under_a_name_of_their_own(tmp_path):
    codes = RNG.standard_normal((2, 130, 140)).astype(E4M3)
    scale = RNG.random((2, 2, 2)).astype(np.float32)
    arrays = {"mlp.experts.up_proj": codes, "mlp.experts.up_proj_scale_inv": scale}
    for number, config in enumerate((None, quantized_by("fp8", weight_block_size=[128, 128]))):
        info, tensor = opened(tmp_path / f"m{number}", arrays, config)
        values = codes.astype(np.float32) * np.repeat(np.repeat(scale, 128, 1), 128, 2)[:, :130, :140]
        assert info.name == "mlp.experts.up_proj"
        assert np.array_equal(tensor.dequantize(), values)


def test_hf_fp8_scales_that_fit_no_block_are_an_error_where_declared(tmp_path):
    arrays = {"a.weight": np.zeros((130, 4), E4M3), "a.weight_scale_inv": np.ones((3, 1), np.float32)}
    with pytest.raises(qcore.errors.FormatError, match="the grid of scales"):
        opened(tmp_path / "m", arrays, quantized_by("fp8"))
    with qcore.open(folder(tmp_path / "n", arrays)) as file:
        assert set(file.names()) == set(arrays)


def test_hf_fp8_without_blocks_has_one_scale(tmp_path):
    codes = RNG.standard_normal((4, 8)).astype(E4M3)
    arrays = {"a.weight": codes, "a.weight_scale": np.float32(0.25)}
    info, tensor = opened(tmp_path / "m", arrays, quantized_by("fp8"))
    assert info.origin == "hf-fp8"
    assert np.array_equal(tensor.dequantize(), codes.astype(np.float32) * np.float32(0.25))


def test_hf_fp8_without_a_configuration_has_blocks_of_128(tmp_path):
    arrays = {
        "a.weight": RNG.standard_normal((130, 4)).astype(E5M2),
        "a.weight_scale_inv": np.ones((2, 1), np.float32),
    }
    info, _ = opened(tmp_path / "m", arrays)
    assert str(info.scheme) == "e5m2/native/b128x128:f32"


def test_modelopt_multiplies_by_its_second_scale(tmp_path):
    packed = RNG.integers(0, 256, (8, 32), np.uint8)
    scale = RNG.random((8, 4)).astype(E4M3)
    arrays = {
        "a.weight": packed,
        "a.weight_scale": scale,
        "a.weight_scale_2": np.float32(0.01),
        "a.input_scale": np.float32(1),
    }
    for number, extra in enumerate(
        ({}, {"hf_quant_config": {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}})
    ):
        info, tensor = opened(tmp_path / f"m{number}", arrays, **extra)
        effective = (np.float32(0.01) * scale.astype(np.float32)).astype(np.float32)
        assert np.array_equal(tensor.dequantize(), FP4[nibbles(packed)] * spread(effective, 64))
        assert (info.origin, info.fidelity, str(info.scheme)) == (
            "modelopt nvfp4",
            "exact",
            str(qcore.QuantScheme.nvfp4()),
        )


def test_modelopt_floats_of_eight_bits_have_one_scale(tmp_path):
    codes = RNG.standard_normal((4, 8)).astype(E4M3)
    arrays = {"a.weight": codes, "a.weight_scale": np.float32(0.5)}
    info, tensor = opened(tmp_path / "m", arrays, quantized_by("modelopt", quant_algo="FP8"))
    assert info.origin == "modelopt fp8"
    assert np.array_equal(tensor.dequantize(), codes.astype(np.float32) * np.float32(0.5))


def test_gpt_oss_experts_keep_their_three_axes(tmp_path):
    blocks, scales = (
        RNG.integers(0, 256, (2, 6, 3, 16), np.uint8),
        RNG.integers(100, 140, (2, 6, 3), np.uint8),
    )
    arrays = {"mlp.experts.down_proj_blocks": blocks, "mlp.experts.down_proj_scales": scales}
    for number, config in enumerate((None, quantized_by("mxfp4"))):
        info, tensor = opened(tmp_path / f"m{number}", arrays, config)
        assert info.name == "mlp.experts.down_proj"
        assert info.shape == (2, 6, 96)
        values = FP4[nibbles(blocks.reshape(2, 6, 48))] * spread(2.0 ** (scales.astype(np.float64) - 127), 96)
        assert np.array_equal(tensor.dequantize(), values.astype(np.float32))


@pytest.mark.parametrize(("mode", "bits", "group"), [("mxfp4", 4, 32), ("nvfp4", 4, 16), ("mxfp8", 8, 32)])
def test_mlx_small_floats_lie_in_words(tmp_path, mode, bits, group):
    codes = RNG.integers(0, 16 if bits == 4 else 0x7E, (4, 64), np.uint8)
    data = codes[:, ::2] | codes[:, 1::2] << 4 if bits == 4 else codes
    scales = RNG.integers(110, 126, (4, 64 // group), np.uint8)
    arrays = {"a.weight": np.ascontiguousarray(data).view(np.uint32), "a.scales": scales}
    config = {"quantization": {"group_size": group, "bits": bits, "mode": mode}}
    for number, told in enumerate((config, None)):
        info, tensor = opened(tmp_path / f"m{number}", arrays, told)
        values = FP4[codes] if bits == 4 else codes.view(E4M3).astype(np.float32)
        factor = scales.view(E4M3 if mode == "nvfp4" else E8M0)
        assert np.array_equal(tensor.dequantize(), values * spread(factor, 64))
        assert (info.origin, info.fidelity) == (f"mlx {mode}", "exact")


def tiles(scales):
    """Scales as tensor cores want them, byte by byte."""
    rows, cols = scales.shape
    across = -(-cols // 4)
    out = np.zeros(-(-rows // 128) * across * 512, np.uint8)
    for r in range(rows):
        for c in range(cols):
            tile = (r // 128) * across + c // 4
            out[tile * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4] = scales[r, c]
    return out


@pytest.mark.parametrize("swizzled", [False, True])
@pytest.mark.parametrize("kind", ["NVFP4Tensor", "MXTensor"])
def test_torchao_scales_come_out_of_their_tiles(tmp_path, kind, swizzled):
    rows, block = 150, 16 if kind == "NVFP4Tensor" else 32
    packed = RNG.integers(0, 256, (rows, 48), np.uint8)
    scales = RNG.integers(20, 120, (rows, 96 // block), np.uint8)
    stored = (tiles(scales) if swizzled else scales).view(E4M3 if block == 16 else E8M0)
    arrays = {"a._weight_qdata": packed, "a._weight_scale": stored, "a.bias": np.zeros(3, np.float32)}
    names = ["_weight_qdata", "_weight_scale"]
    level = np.float32(1)
    if block == 16:
        level = np.float32(0.25)
        arrays["a._weight_per_tensor_scale"] = level
    told = {
        "_type": kind,
        "_data": {"block_size": block, "is_swizzled_scales": swizzled},
        "_tensor_data_names": names,
    }
    metadata = {
        "tensor_names": json.dumps(["a.weight", "a.bias"]),
        "a.weight": json.dumps(told),
        "a.bias": "{}",
    }
    info, tensor = opened(tmp_path / "m", arrays, metadata=metadata)
    effective = level * scales.view(E4M3 if block == 16 else E8M0).astype(np.float32)
    assert np.array_equal(tensor.dequantize(), FP4[nibbles(packed)] * spread(effective, 96))
    assert info.fidelity == "exact"


@pytest.mark.parametrize("change", [{"block_size": 64}, {"_type": "Int4Tensor"}, {"_data": 3}])
def test_torchao_tensors_of_other_kinds_stay_arrays(tmp_path, change):
    told = {"_type": "MXTensor", "_data": {"block_size": change.get("block_size", 32)}, **change}
    arrays = {"a._weight_qdata": np.zeros((2, 16), np.uint8), "a._weight_scale": np.zeros((2, 1), np.uint8)}
    metadata = {"tensor_names": '["a.weight", 3, "gone"]', "a.weight": json.dumps(told)}
    with qcore.open(folder(tmp_path / "m", arrays, metadata=metadata)) as file:
        assert set(file.names()) == set(arrays)


def state(**told):
    return np.frombuffer(json.dumps(told).encode(), np.uint8).copy()


def test_bitsandbytes_nested_peaks_are_spread_and_offset(tmp_path):
    packed, codes, offset, outer, deq, table, dynamic = (
        PEER[f"bnb__{key}"]
        for key in (
            *(f"gauss__nested__{field}" for field in ("packed", "absmax_u8", "offset", "absmax2", "deq")),
            "nf4",
            "dynamic",
        )
    )
    told = state(
        quant_type="nf4", blocksize=64, dtype="float32", shape=[12, 512], nested_blocksize=256,
        nested_dtype="float32", nested_offset=float(offset[0]),
    )  # fmt: skip
    arrays = {
        "a.weight": packed.reshape(-1, 1),
        "a.weight.absmax": codes,
        "a.weight.quant_map": table,
        "a.weight.nested_absmax": outer,
        "a.weight.nested_quant_map": dynamic,
        "a.weight.quant_state.bitsandbytes__nf4": told,
    }
    info, tensor = opened(tmp_path / "m", arrays)
    assert str(info.scheme) == "q4f/u32/lookup/b64:f32"
    assert (info.fidelity, info.codebook) == ("lossless", "nf4")
    assert tensor.codebook == qcore.Codebook.nf4()
    assert np.allclose(tensor.dequantize(), deq, rtol=3e-7, atol=0)


@pytest.mark.parametrize(
    "change",
    [
        {"nested_offset": 10**400},
        {"nested_offset": 1e300},
        {"nested_offset": True},
        {"nested_offset": None},
        {"nested_blocksize": 10**30},
        {"nested_blocksize": 0},
        {"nested_blocksize": 1},
        {"nested_blocksize": "256"},
    ],
)
def test_a_state_of_nested_peaks_that_is_no_state_is_an_error(tmp_path, change):
    told = {
        "quant_type": "nf4",
        "blocksize": 64,
        "shape": [4, 64],
        "nested_blocksize": 256,
        "nested_offset": 0.5,
    }
    arrays = {
        "a.weight": np.zeros((128, 1), np.uint8),
        "a.weight.absmax": np.zeros(4, np.uint8),
        "a.weight.quant_map": PEER["bnb__nf4"],
        "a.weight.nested_absmax": np.ones(1, np.float32),
        "a.weight.nested_quant_map": PEER["bnb__dynamic"],
    }
    config = quantized_by("bitsandbytes")
    key = "a.weight.quant_state.bitsandbytes__nf4"
    opened(tmp_path / "m", arrays | {key: state(**told)}, config)
    with pytest.raises(qcore.errors.FormatError, match="peaks of one byte"):
        opened(tmp_path / "n", arrays | {key: state(**told | change)}, config)


def test_bitsandbytes_blocks_cross_the_ends_of_rows(tmp_path):
    arrays = {
        "a.weight": PEER["bnb__flat__b64__packed"].reshape(-1, 1),
        "a.weight.absmax": PEER["bnb__flat__b64__absmax"],
        "a.weight.quant_map": PEER["bnb__nf4"],
        "a.weight.quant_state.bitsandbytes__nf4": state(
            quant_type="nf4", blocksize=64, dtype="float32", shape=[7, 33]
        ),
    }
    info, tensor = opened(tmp_path / "m", arrays)
    assert str(info.scheme) == "q4f/u32/lookup/b1:f32"
    assert np.array_equal(tensor.dequantize(), PEER["bnb__flat__b64__deq"])


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [7, 34]},
        {"shape": [7, -33]},
        {"shape": "77"},
        {"shape": []},
        {"blocksize": 32},
        {"blocksize": 0},
        {"blocksize": True},
        {"blocksize": "64"},
    ],
)
def test_a_state_that_the_arrays_deny_is_an_error_where_declared(tmp_path, change):
    told = {"quant_type": "nf4", "blocksize": 64, "shape": [7, 33]} | change
    arrays = {
        "a.weight": PEER["bnb__flat__b64__packed"].reshape(-1, 1),
        "a.weight.absmax": PEER["bnb__flat__b64__absmax"],
        "a.weight.quant_map": PEER["bnb__nf4"],
        "a.weight.quant_state.bitsandbytes__nf4": state(**told),
    }
    with pytest.raises(qcore.errors.FormatError):
        opened(tmp_path / "m", arrays, quantized_by("bitsandbytes", load_in_4bit=True))
    with qcore.open(folder(tmp_path / "n", arrays)) as file:
        assert set(file.names()) == set(arrays)


def test_bitsandbytes_int8_rows_have_a_peak(tmp_path):
    q, peaks, deq = (PEER[f"bnb8__gauss__{field}"] for field in ("q", "absmax", "deq"))
    arrays = {"a.weight": q, "a.SCB": peaks, "a.weight_format": np.uint8(0)}
    info, tensor = opened(tmp_path / "m", arrays)
    assert (str(info.scheme), info.fidelity) == ("q8s/native/b128:f32", "lossless")
    assert np.allclose(tensor.dequantize(), deq, rtol=3e-7, atol=0)
    assert np.array_equal(tensor.codes, q)


def test_quanto_keeps_codes_and_scales_of_rows_and_its_groups_stay_arrays():
    """Weights that quanto made, and the floats it takes them for (tests/data/torch/README.md)."""
    made = source.ROOT / "tests" / "data" / "torch"
    expected = np.load(made / "quanto.npz")
    kinds = {"int8": "q8f/native", "e4m3": "e4m3/native", "e5m2": "e5m2/native"}
    with qcore.open(made / "quanto.safetensors") as file:
        for name in expected.files:
            kind, layer, _ = name.split(".")
            info = file.info(name)
            scale = "bf16" if kind == "e4m3" else "f32"
            assert str(info.scheme) == f"{kinds[kind]}/b{64 if layer == 'a' else 150}:{scale}"
            assert (info.origin, info.fidelity) == ("quanto", "exact" if layer == "a" else "lossless")
            assert np.array_equal(file.tensor(name).dequantize(), expected[name])
        assert file.info("int4.a.weight._data._data").dtype == "uint8"
        assert "int4.a.weight" not in file.names()


def test_scales_that_quanto_never_wrote_leave_plain_arrays_and_are_an_error_where_declared(tmp_path):
    arrays = {"a.weight._data": np.zeros((4, 8), np.int8), "a.weight._scale": np.ones((3, 1), np.float32)}
    with qcore.open(folder(tmp_path / "m", arrays)) as file:
        assert set(file.names()) == set(arrays)
    with pytest.raises(qcore.errors.FormatError, match="the scales"):
        qcore.open(folder(tmp_path / "n", arrays, quantized_by("quanto", weights="int8")))
