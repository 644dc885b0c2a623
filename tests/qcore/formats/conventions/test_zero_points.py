"""GPTQ, AWQ and MLX affine: symmetric words become a tensor, zero points and minima one that only decodes."""

import ml_dtypes
import numpy as np
import pytest
from checkpoints import folder, quantized_by, words

import qcore
from qcore.formats.conventions.affine import AffineTensor

RNG = np.random.default_rng(11)
INPUTS, OUTPUTS, GROUP = 64, 24, 32


def opened(path, arrays, config=None, **files):
    with qcore.open(folder(path, arrays, config, **files)) as file:
        return file.info("a.weight"), file.tensor("a.weight")


def gptq(bits=4, zero=None, *, added=1, order=None, group=GROUP):
    """The arrays of a module and the values they mean."""
    codes = RNG.integers(0, 1 << bits, (INPUTS, OUTPUTS))
    groups = INPUTS // group
    zeros = np.full((groups, OUTPUTS), 1 << (bits - 1)) if zero is None else zero
    scales = RNG.random((groups, OUTPUTS)).astype(np.float16)
    place = np.arange(INPUTS) // group if order is None else order
    values = scales[place].astype(np.float32) * (codes - zeros[place]).astype(np.float32)
    arrays = {
        "a.qweight": np.ascontiguousarray(words(codes.T, bits).T),
        "a.qzeros": words(zeros - added, bits),
        "a.scales": scales,
        "a.g_idx": place.astype(np.int32),
    }
    return arrays, values


def declared(**block):
    return quantized_by("gptq", **({"bits": 4, "group_size": GROUP, "sym": True, "desc_act": False} | block))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("added", [0, 1])
def test_symmetric_words_only_flip_their_top_bits(tmp_path, bits, added):
    arrays, values = gptq(bits, added=added)
    version = {"checkpoint_format": "gptq_v2"} if added == 0 else {}
    for number, config in enumerate((declared(bits=bits, **version), None)):
        info, tensor = opened(tmp_path / f"m{number}", arrays, config)
        assert info.shape == (INPUTS, OUTPUTS)
        assert (info.fidelity, info.origin) == ("exact", "gptq [in, out]")
        assert str(info.scheme) == f"q{bits}f/u32:1/b32x1:f16"
        assert np.array_equal(tensor.dequantize(), values)


def test_the_configuration_may_lie_beside_the_file_under_the_old_name(tmp_path):
    arrays, values = gptq()
    beside = {"quantize_config": {"bits": 4, "group_size": GROUP, "sym": True, "desc_act": False}}
    info, tensor = opened(tmp_path / "m", arrays, **beside)
    assert info.fidelity == "exact"
    assert np.array_equal(tensor.dequantize(), values)


def test_a_group_longer_than_a_block_is_repeated(tmp_path):
    inputs = 512
    codes, scales = RNG.integers(0, 16, (inputs, 16)), RNG.random((1, 16)).astype(np.float16)
    zeros = words(np.full((1, 16), 7), 4)
    arrays = {"a.qweight": np.ascontiguousarray(words(codes.T, 4).T), "a.qzeros": zeros, "a.scales": scales}
    info, tensor = opened(tmp_path / "m", arrays)
    assert (info.fidelity, str(info.scheme)) == ("lossless", "q4f/u32:1/b128x1:f16")
    assert np.array_equal(tensor.dequantize(), scales.astype(np.float32) * (codes - 8).astype(np.float32))


@pytest.mark.parametrize("config", [declared(sym=False), None])
def test_other_zero_points_decode_only(tmp_path, config):
    zeros = RNG.integers(1, 16, (INPUTS // GROUP, OUTPUTS))
    arrays, values = gptq(zero=zeros)
    info, tensor = opened(tmp_path / "m", arrays, config)
    assert isinstance(tensor, AffineTensor)
    assert "zero points" in info.origin
    assert np.array_equal(tensor.dequantize(), values)
    assert np.array_equal(tensor.zeros, zeros)


def test_a_permuted_order_of_groups_decodes_only(tmp_path):
    order = RNG.permutation(np.arange(INPUTS) // GROUP)
    arrays, values = gptq(order=order)
    _, tensor = opened(tmp_path / "m", arrays, declared(desc_act=True))
    assert np.array_equal(tensor.dequantize(), values)
    arrays["a.g_idx"] = arrays["a.g_idx"] + 1
    with pytest.raises(qcore.errors.FormatError, match="a group is 1 to 2"):
        opened(tmp_path / "n", arrays, declared(desc_act=True))


@pytest.mark.parametrize("lie", ["zero points", "order", "bits"])
def test_a_configuration_that_lies_is_found_out(tmp_path, lie):
    arrays, _ = gptq()
    config = declared(bits=8) if lie == "bits" else declared()
    if lie == "zero points":
        arrays["a.qzeros"] = arrays["a.qzeros"] ^ 1
    if lie == "order":
        arrays["a.g_idx"] = arrays["a.g_idx"][::-1].copy()
    with pytest.raises(qcore.errors.FormatError, match="declared"):
        opened(tmp_path / "m", arrays, config)


@pytest.mark.parametrize("told", [{"bits": 3}, {"checkpoint_format": "marlin"}])
def test_forms_of_gptq_that_are_not_read_stay_arrays(tmp_path, told):
    arrays, _ = gptq()
    arrays["a.qweight"] = arrays["a.qweight"][:, :-1].copy()
    with qcore.open(folder(tmp_path / "m", arrays, declared(**told))) as file:
        assert set(file.names()) == set(arrays)
    with pytest.raises(qcore.errors.FormatError, match="packed weights"):
        opened(tmp_path / "n", arrays, declared())


def test_awq_arrays_that_contradict_each_other_are_an_error_where_declared(tmp_path):
    arrays = {
        "a.qweight": np.zeros((64, 3), np.int32),
        "a.qzeros": np.zeros((2, 3), np.int32),
        "a.scales": np.ones((3, 24), np.float16),
    }
    with pytest.raises(qcore.errors.FormatError, match="packed weights"):
        qcore.open(folder(tmp_path / "m", arrays, quantized_by("awq", bits=4)))
    for number, config in enumerate((None, quantized_by("awq", version="gemv"))):
        with qcore.open(folder(tmp_path / f"n{number}", arrays, config)) as file:
            assert set(file.names()) == set(arrays)


def test_awq_columns_are_shuffled_within_a_word(tmp_path):
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    codes = RNG.integers(0, 16, (INPUTS, OUTPUTS))
    zeros = RNG.integers(0, 16, (INPUTS // GROUP, OUTPUTS))
    scales = RNG.random((INPUTS // GROUP, OUTPUTS)).astype(np.float16)

    def shuffled(columns):
        return words(columns.reshape(-1, OUTPUTS // 8, 8)[:, :, order].reshape(-1, OUTPUTS), 4)

    arrays = {"a.qweight": shuffled(codes), "a.qzeros": shuffled(zeros), "a.scales": scales}
    values = np.repeat(scales, GROUP, 0).astype(np.float32) * (codes - np.repeat(zeros, GROUP, 0)).astype(
        np.float32
    )
    for number, config in enumerate((quantized_by("awq", bits=4, group_size=GROUP), None)):
        info, tensor = opened(tmp_path / f"m{number}", arrays, config)
        assert info.origin == "awq, zero points [in, out]"
        assert np.array_equal(tensor.dequantize(), values)


@pytest.mark.parametrize("config", [quantized_by("awq", bits=4, group_size=GROUP), None])
@pytest.mark.parametrize("group", [GROUP, INPUTS])
def test_awq_is_exact_where_every_zero_point_is_the_middle(tmp_path, config, group):
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    codes = RNG.integers(0, 16, (INPUTS, OUTPUTS))
    scales = RNG.random((INPUTS // group, OUTPUTS)).astype(np.float16)
    arrays = {
        "a.qweight": words(codes.reshape(-1, OUTPUTS // 8, 8)[:, :, order].reshape(-1, OUTPUTS), 4),
        "a.qzeros": np.full((INPUTS // group, OUTPUTS // 8), 0x88888888, np.uint32).view(np.int32),
        "a.scales": scales,
    }
    info, tensor = opened(tmp_path / "m", arrays, config)
    assert (str(info.scheme), info.origin, info.fidelity) == (f"q4f/u32/b{group}x1:f16", "awq [in, out]", "exact")
    assert np.array_equal(tensor.codes, codes - 8)
    assert np.array_equal(tensor.dequantize(), np.repeat(scales, group, 0).astype(np.float32) * (codes - 8))


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_mlx_affine_adds_a_bias(tmp_path, bits):
    codes = RNG.integers(0, 1 << bits, (6, 128))
    scales, biases = (RNG.standard_normal((6, 2)).astype(ml_dtypes.bfloat16) for _ in range(2))
    arrays = {"a.weight": words(codes, bits).view(np.uint32), "a.scales": scales, "a.biases": biases}
    config = {"quantization": {"group_size": 32, "bits": 4, "a": {"group_size": 64, "bits": bits}}}
    info, tensor = opened(tmp_path / "m", arrays, config)
    scale, bias = (np.repeat(part.astype(np.float32), 64, 1) for part in (scales, biases))
    assert info.origin == "mlx affine, minima"
    assert np.array_equal(tensor.dequantize(), codes.astype(np.float32) * scale + bias)
    assert (
        repr(tensor)
        == "AffineTensor(shape=(6, 128), origin='mlx affine', 768 codes, grid (6, 2), with minima: decodes only)"
    )
    with pytest.raises(qcore.errors.FormatError, match="a row"):
        opened(tmp_path / "n", arrays, {"quantization": {"group_size": 32, "bits": bits}})


def test_what_only_decodes_is_written_and_quantized_as_floats(tmp_path):
    arrays, values = gptq(zero=RNG.integers(1, 16, (INPUTS // GROUP, OUTPUTS)))
    with qcore.open(folder(tmp_path / "m", arrays)) as file:
        qcore.save(tmp_path / "out.safetensors", file)
        quantized = qcore.quantize(np.asarray(file.tensor("a.weight")), "int8")
    with qcore.open(tmp_path / "out.safetensors") as file:
        assert np.array_equal(file.tensor("a.weight"), values)
    assert quantized.shape == values.shape


def test_a_folder_keeps_weights_the_other_way_round(tmp_path):
    arrays, values = gptq()
    with qcore.open(folder(tmp_path / "m", arrays, declared(), {"format": "pt"})) as file:
        qcore.save(tmp_path / "out", file, convention="compressed-tensors")
    with qcore.open(tmp_path / "out") as file:
        info = file.info("a.weight")
        assert str(info.scheme) == "q4f/u32/b32:f16"
        assert info.origin == "compressed-tensors pack-quantized"
        assert np.array_equal(file.tensor("a.weight").dequantize(), values.T)
    arrays, values = gptq(zero=RNG.integers(1, 16, (INPUTS // GROUP, OUTPUTS)))
    with qcore.open(folder(tmp_path / "n", arrays, declared(sym=False))) as file:
        qcore.save(tmp_path / "floats", file, convention="compressed-tensors")
        assert np.array_equal(file.tensor("a.weight").T.dequantize(), values.T)
    with qcore.open(tmp_path / "floats") as file:
        assert np.array_equal(file.tensor("a.weight"), values.T)
        assert file.settings.method == ""


def test_a_permuted_tensor_can_be_turned(tmp_path):
    order = RNG.permutation(np.arange(INPUTS) // GROUP)
    arrays, values = gptq(order=order)
    _, tensor = opened(tmp_path / "m", arrays, declared(desc_act=True))
    assert np.array_equal(tensor.T.dequantize(), values.T)
    assert np.array_equal(tensor.T.T.dequantize(), values)


@pytest.mark.parametrize("zero", [False, True])
def test_burn_keeps_them_as_they_lie(tmp_path, zero):
    arrays, values = gptq(zero=RNG.integers(1, 16, (INPUTS // GROUP, OUTPUTS)) if zero else None)
    arrays["b.weight"] = RNG.random((4, 6)).astype(np.float32)
    with qcore.open(folder(tmp_path / "m", arrays, declared(sym=not zero))) as file:
        qcore.save(tmp_path / "m.bpk", file, layout="torch-to-burn")
    with qcore.open(tmp_path / "m.bpk") as file:
        tensor = file.tensor("a.weight")
        assert np.array_equal(np.asarray(tensor), values)
        assert np.array_equal(file.tensor("b.weight"), arrays["b.weight"].T)
        if not zero:
            assert str(tensor.scheme) == "q4f/u32/b32x1:f16"
