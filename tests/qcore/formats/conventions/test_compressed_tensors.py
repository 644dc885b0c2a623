"""Arrays that compressed-tensors wrote are read with its codes, scales and values."""

import ml_dtypes
import numpy as np
import peer_data
import pytest
from checkpoints import folder, quantized_by, shape_of, words

import qcore
from qcore.formats.conventions.affine import AffineTensor

PEER = peer_data.load("checkpoints")
E8M0, E4M3 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn


def groups(**weights):
    return quantized_by(
        "compressed-tensors", config_groups={"group_0": {"targets": ["Linear"], "weights": weights}}
    )


def opened(path, arrays, config=None):
    with qcore.open(folder(path, arrays, config)) as file:
        return file.info("a.weight"), file.tensor("a.weight"), file.names()


def packed(case):
    found = {key.rpartition("__")[2]: array for key, array in PEER.items() if key.startswith(case)}
    return found, {
        "a.weight_packed": found["packed_i32"],
        "a.weight_scale": found["scale"],
        "a.weight_shape": shape_of(*found["deq"].shape),
        "a.bias": np.zeros(2, np.float32),
    }


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("case", ["gauss__sym__channel", "gauss__sym__group", "odd__sym__channel"])
def test_packed_integers_have_the_values_the_library_gives_them(tmp_path, bits, case):
    found, arrays = packed(f"int{bits}__{case}")
    info, tensor, names = opened(tmp_path / "m", arrays, groups(num_bits=bits, type="int", symmetric=True))
    assert names == ("a.weight", "a.bias") or names == ("a.bias", "a.weight")
    assert info.origin == "compressed-tensors pack-quantized"
    assert info.shape == found["deq"].shape
    assert np.array_equal(tensor.codes, found["q"])
    assert np.array_equal(tensor.dequantize(), found["deq"])
    assert tensor.scheme == info.scheme
    assert dict(tensor.rules) == ({"tied": "row"} if "channel" in case else {})


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_width_of_a_code_follows_from_the_shapes_without_a_configuration(tmp_path, bits):
    found, arrays = packed(f"int{bits}__gauss__sym__group")
    info, tensor, _ = opened(tmp_path / "m", arrays)
    assert info.scheme.value.bits == bits
    assert info.fidelity == "exact"
    assert np.array_equal(tensor.dequantize(), found["deq"])


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("case", ["gauss__asym__channel", "gauss__asym__group", "odd__asym__channel"])
def test_zero_points_make_a_tensor_that_decodes_only(tmp_path, bits, case):
    found, arrays = packed(f"int{bits}__{case}")
    arrays["a.weight_zero_point"] = words(found["zp"].T.astype(int) + (1 << (bits - 1)), bits).T
    info, tensor, _ = opened(tmp_path / "m", arrays, groups(num_bits=bits))
    assert isinstance(tensor, AffineTensor)
    assert "zero points" in info.origin
    assert (info.scheme, info.dtype, info.fidelity) == (None, "float32", "requantized")
    assert np.array_equal(tensor.dequantize(), found["deq"])
    assert np.array_equal(np.asarray(tensor), found["deq"])


def test_plain_zero_points_are_signed(tmp_path):
    found, arrays = packed("int4__gauss__asym__group")
    arrays["a.weight_zero_point"] = found["zp"]
    assert np.array_equal(opened(tmp_path / "m", arrays)[1].dequantize(), found["deq"])


def test_a_permuted_order_of_groups_decodes_only(tmp_path):
    found, arrays = packed("int4__gauss__sym__group")
    order = np.random.default_rng(0).permutation(np.arange(512) // 32).astype(np.int32)
    arrays["a.weight_g_idx"] = order
    _, tensor, _ = opened(tmp_path / "m", arrays)
    expected = found["q"].astype(np.float32) * found["scale"][:, order]
    assert np.array_equal(tensor.dequantize(), expected)
    arrays["a.weight_g_idx"] = order + 1
    with pytest.raises(qcore.errors.FormatError, match="a group is 1 to 16"):
        opened(tmp_path / "n", arrays)


@pytest.mark.parametrize("case", ["gauss", "rowscale"])
def test_nvfp4_divides_by_its_global_scale_and_keeps_it(tmp_path, case):
    scale, q, level, deq = (PEER[f"nvfp4__{case}__{field}"] for field in ("scale", "q", "global", "deq"))
    arrays = {"a.weight_packed": q, "a.weight_scale": scale.view(E4M3), "a.weight_global_scale": level}
    info, tensor, _ = opened(tmp_path / "m", arrays)
    assert str(info.scheme) == "e2m1/packed/b16:ue4m3/t:f32"
    assert info.rules["nvfp4_divisor"] == float(level[0])
    assert tensor.global_scale == np.float32(1) / level[0]
    assert tensor.scales.tobytes() == scale.tobytes()
    assert np.allclose(tensor.dequantize(), deq, rtol=3e-7, atol=0)


def test_mxfp4_and_mxfp8_scales_are_exponents(tmp_path):
    for name, leaf in (("mxfp4", "weight_packed"), ("mxfp8", "weight")):
        scale, q, deq = (PEER[f"{name}__gauss__{field}"] for field in ("scale", "q", "deq"))
        codes = q if name == "mxfp4" else q.view(E4M3)
        info, tensor, _ = opened(tmp_path / name, {f"a.{leaf}": codes, "a.weight_scale": scale})
        assert info.fidelity == "exact"
        assert info.origin.startswith(f"compressed-tensors {name}")
        assert tensor.scales.dtype == E8M0
        assert np.array_equal(tensor.dequantize(), deq)


@pytest.mark.parametrize("shape", [(1,), (), (40, 1), (40,), (40, 4)])
@pytest.mark.parametrize("kind", ["int8", "float8"])
def test_plain_codes_take_scales_per_tensor_row_or_group(tmp_path, shape, kind):
    rng = np.random.default_rng(1)
    if kind == "int8":
        codes = rng.integers(-128, 128, (40, 512)).astype(np.int8)
        values = codes.astype(np.float32)
    else:
        codes = rng.standard_normal((40, 512)).astype(E4M3)
        values = codes.astype(np.float32)
    scale = np.asarray(rng.random(shape), np.float32).astype(ml_dtypes.bfloat16)
    info, tensor, _ = opened(tmp_path / "m", {"a.weight": codes, "a.weight_scale": scale})
    spread = scale.astype(np.float32).reshape(shape if len(shape) == 2 else (-1, 1))
    spread = np.repeat(spread, 512 // spread.shape[1], axis=1)
    assert np.array_equal(tensor.dequantize(), values * spread)
    assert info.fidelity == ("lossless" if shape in ((40, 1), (40,)) else "exact")
    assert info.scheme.scale_dtype.name == "BF16"


def test_blocks_of_a_float_weight_are_partial_at_the_edges(tmp_path):
    rng = np.random.default_rng(2)
    codes = rng.standard_normal((130, 200)).astype(E4M3)
    scale = rng.random((3, 4)).astype(np.float32)
    config = groups(num_bits=8, type="float", strategy="block", block_structure=[64, 64])
    info, tensor, _ = opened(tmp_path / "m", {"a.weight": codes, "a.weight_scale": scale}, config)
    spread = np.repeat(np.repeat(scale, 64, 0), 64, 1)[:130, :200]
    assert str(info.scheme) == "e4m3/native/b64x64:f32"
    assert np.array_equal(tensor.dequantize(), codes.astype(np.float32) * spread)


def test_declared_bits_that_the_shapes_deny_are_an_error(tmp_path):
    _, arrays = packed("int4__gauss__sym__group")
    with pytest.raises(qcore.errors.FormatError, match="64 words, allowed is 8 bits a code"):
        opened(tmp_path / "m", arrays, groups(num_bits=8))


@pytest.mark.parametrize(
    ("codes", "scale"),
    [
        (np.zeros((4, 32), np.int8), np.ones((3, 1), np.float32)),
        (np.zeros((4, 32), np.int8), np.ones((4, 2), np.int8)),
        (np.zeros((4, 32), E4M3), np.ones((4, 2), np.uint8)),
        (np.zeros((300, 32), E4M3), np.ones((2, 1), np.float32)),
        (np.zeros((4, 16), np.uint8), np.ones((4, 3), np.uint8)),
        (np.zeros((4, 16), np.uint8), np.ones((4, 1), E4M3)),
    ],
)
def test_scales_that_fit_no_form_are_an_error_unless_another_form_is_declared(tmp_path, codes, scale):
    name = "a.weight_packed" if codes.dtype == np.uint8 else "a.weight"
    arrays = {name: codes, "a.weight_scale": scale, "a.weight_global_scale": np.ones(1, np.float32)}
    with pytest.raises(qcore.errors.FormatError, match="a weight with its scales"):
        qcore.open(folder(tmp_path / "m", arrays, groups(num_bits=8)))
    for number, config in enumerate(
        (None, quantized_by("compressed-tensors", format="mxfp6-pack-quantized"))
    ):
        with qcore.open(folder(tmp_path / f"n{number}", arrays, config)) as file:
            assert set(file.names()) == set(arrays)


def test_zero_points_that_do_not_fit_their_groups_are_an_error(tmp_path):
    _, arrays = packed("int4__gauss__asym__group")
    for number, zero in enumerate(
        (np.zeros((4, 15), np.int8), np.zeros((2, 16), np.int32), np.zeros(4, np.int8))
    ):
        with pytest.raises(qcore.errors.FormatError, match="zero points"):
            opened(tmp_path / f"m{number}", arrays | {"a.weight_zero_point": zero}, groups(num_bits=4))
    for number, order in enumerate((np.zeros(511, np.int32), np.zeros((1, 512), np.int32))):
        with pytest.raises(qcore.errors.FormatError, match="the order of columns"):
            opened(tmp_path / f"n{number}", arrays | {"a.weight_g_idx": order}, groups(num_bits=4))


@pytest.mark.parametrize("level", [np.ones(2, np.float32), np.ones(0, np.float32)])
def test_a_global_scale_is_one_number(tmp_path, level):
    arrays = {
        "a.weight_packed": np.zeros((4, 16), np.uint8),
        "a.weight_scale": np.ones((4, 2), E4M3),
        "a.weight_global_scale": level,
    }
    with pytest.raises(qcore.errors.FormatError, match="one number"):
        opened(tmp_path / "m", arrays, groups(num_bits=4))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("a.weight_scale", np.ones((3, 16), np.float32)),
        ("a.weight_scale", np.ones((4, 7), np.float32)),
        ("a.weight_scale", np.ones((4, 16), np.int32)),
        ("a.weight_shape", shape_of(5, 512)),
        ("a.weight_shape", shape_of(4, -1)),
        ("a.weight_shape", shape_of(4, 512, 1)),
        ("a.weight_shape", np.ones(2, np.float32)),
        ("a.weight_shape", shape_of(4, 1 << 62)),
    ],
)
def test_arrays_that_contradict_each_other_are_an_error_where_declared_and_arrays_elsewhere(
    tmp_path, name, array
):
    _, arrays = packed("int4__gauss__sym__group")
    arrays[name] = array
    with pytest.raises(qcore.errors.FormatError):
        opened(tmp_path / "m", arrays, groups(num_bits=4))
    with qcore.open(folder(tmp_path / "n", arrays)) as file:
        assert set(file.names()) == set(arrays)
        assert np.array_equal(file.tensor(name), array)
