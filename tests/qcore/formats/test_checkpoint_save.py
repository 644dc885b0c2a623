"""A folder in gives a folder out: the forms of compressed-tensors, shards, configuration, and the same bytes again."""

import json
import os

import ml_dtypes
import numpy as np
import pytest
from checkpoints import folder, quantized_by, shape_of

import qcore

RNG = np.random.default_rng(3)
X = RNG.standard_normal((64, 512), dtype=np.float32)
FORMS = [
    ("int4-b32", "pack-quantized", "group", "q4f/u32/b32:f16"),
    ("q4s/native/b64:bf16", "pack-quantized", "group", "q4f/u32/b64:bf16"),
    ("q4f/u32:1/b32:f32", "pack-quantized", "group", "q4f/u32/b32:f32"),
    ("q2s/u32/b32:f16", "pack-quantized", "group", "q2f/u32/b32:f16"),
    ("q4s/u32", "pack-quantized", "channel", "q4f/u32/b128:f32"),
    ("int8", "int-quantized", "tensor", "q8f/native/t:f32"),
    ("int8-channel", "int-quantized", "channel", "q8f/native/b128:f32"),
    ("q8s/u32/b64:bf16", "int-quantized", "group", "q8f/native/b64:bf16"),
    ("fp8", "float-quantized", "tensor", "e4m3/native/t:f32"),
    ("fp8-channel", "float-quantized", "channel", "e4m3/native/b128:f32"),
    ("e4m3/native/b64:f32", "float-quantized", "group", "e4m3/native/b64:f32"),
    ("e4m3/native/b100x96:f32", "float-quantized", "block", "e4m3/native/b100x96:f32"),
    ("nvfp4", "nvfp4-pack-quantized", "tensor_group", "e2m1/packed/b16:ue4m3/t:f32"),
    ("e2m1/native/b16:ue4m3", "nvfp4-pack-quantized", "tensor_group", "e2m1/packed/b16:ue4m3/t:f32"),
    ("mxfp4", "mxfp4-pack-quantized", "group", "e2m1/packed/b32:ue8m0"),
    ("mxfp8", "mxfp8-quantized", "group", "e4m3/native/b32:ue8m0"),
]


def contents(path):
    return {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}


def block_of(path):
    return json.loads((path / "config.json").read_text())["quantization_config"]


@pytest.mark.parametrize(("scheme", "form", "strategy", "back"), FORMS)
def test_a_scheme_takes_its_form_and_comes_back_with_its_values(tmp_path, scheme, form, strategy, back):
    q = qcore.quantize(X, scheme)
    out, again = tmp_path / "out", tmp_path / "again"
    qcore.save(f"{out}/", {"l.weight": q, "l.bias": X[0], "head.weight": X})
    block = block_of(out)
    assert block["format"] == form
    assert block["ignore"] == ["head"]
    (group,) = block["config_groups"].values()
    assert (group["format"], group["weights"]["strategy"], group["targets"]) == (form, strategy, ["Linear"])
    with qcore.open(out) as file:
        info, tensor = file.info("l.weight"), file.tensor("l.weight")
        assert info.origin == f"compressed-tensors {form}"
        assert str(info.scheme) == back
        assert np.array_equal(tensor.dequantize(), q.dequantize())
        assert np.array_equal(file.tensor("head.weight"), X)
        assert file.metadata["format"] == "pt"
        qcore.save(f"{again}/", file, convention="compressed-tensors")
    assert contents(again) == contents(out)


@pytest.mark.parametrize("scheme", ["int8-channel", "int8-b32", "q8s/native/t:f16"])
def test_integers_of_eight_bits_take_the_form_that_is_asked_for_and_keep_it(tmp_path, scheme):
    q = qcore.quantize(X, scheme)
    qcore.save(tmp_path / "a/", {"l.weight": q}, convention="compressed-tensors:pack-quantized")
    with qcore.open(tmp_path / "a") as file:
        assert file.info("l.weight").origin == "compressed-tensors pack-quantized"
        assert np.array_equal(file.tensor("l.weight").dequantize(), q.dequantize())
        qcore.save(tmp_path / "b/", file, convention="compressed-tensors")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_row_that_does_not_fill_its_words_is_padded_as_the_library_pads(tmp_path):
    q = qcore.quantize(X[:3, :77], "q4s/u32", tied="row")
    qcore.save(tmp_path / "a/", {"weight": q})
    with qcore.open(tmp_path / "a") as file:
        words = file.stored.array("weight_packed").view(np.uint32)
        assert not (words[:, -1] >> np.uint32(4 * (77 % 8))).any()
        assert np.array_equal(file.tensor("weight").dequantize(), q.dequantize())
        assert file.stored.array("weight_scale").shape == (3, 1)


def test_rows_under_one_scale_are_recognised_without_being_told(tmp_path):
    q = qcore.quantize(X, "int8-channel")
    untold = qcore.QTensor.from_parts(values=q.values, scales=q.scales, scheme=q.scheme, shape=q.shape)
    assert not untold.rules
    qcore.save(tmp_path / "a/", {"l.weight": untold})
    assert block_of(tmp_path / "a")["config_groups"]["group_0"]["weights"]["strategy"] == "channel"
    lying = qcore.quantize(X, "q8s/native/b128:f32")
    lying = qcore.QTensor.from_parts(
        values=lying.values,
        scales=lying.scales,
        scheme=lying.scheme,
        shape=lying.shape,
        rules={"tied": "row"},
    )
    with pytest.raises(qcore.errors.UnsupportedSchemeError, match="differ within a row"):
        qcore.save(tmp_path / "b/", {"l.weight": lying})
    assert os.listdir(tmp_path) == ["a"]


def test_the_divisor_of_nvfp4_survives_even_where_its_reciprocal_does_not_lead_back(tmp_path):
    divisors = np.random.default_rng(0).uniform(1, 5000, 400).astype(np.float32)
    lost = [d for d in divisors if np.float32(1) / (np.float32(1) / d) != d]
    assert lost
    arrays = {
        "l.weight_packed": RNG.integers(0, 256, (4, 16), np.uint8),
        "l.weight_scale": RNG.random((4, 2)).astype(ml_dtypes.float8_e4m3fn),
        "l.weight_global_scale": np.array([lost[0]], np.float32),
    }
    path = folder(tmp_path / "m", arrays, quantized_by("compressed-tensors"), {"format": "pt"})
    with qcore.open(path) as file:
        assert file.info("l.weight").fidelity == "lossless"
        qcore.save(tmp_path / "ours.safetensors", file)
    with qcore.open(tmp_path / "ours.safetensors") as file:
        qcore.save(tmp_path / "out/", file)
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == (path / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("l.weight", "nf4"),
        ("l.weight", "fp8-e5m2"),
        ("l.weight", "q4s/u32/b32x1:f16"),
        ("l.weight", "q8s/native/b2x32:f16"),
        ("l.weight", "q4s/u32/b32:ue8m0"),
        ("l.weight", "e2m1/packed/b32:f16"),
        ("l.weight", "q4s/u32/b33:f16"),
        ("l.kernel", "int4-b32"),
    ],
)
def test_what_the_convention_has_no_form_for_is_refused_before_anything_is_written(tmp_path, name, scheme):
    q = qcore.quantize(X, scheme)
    with pytest.raises(qcore.errors.UnsupportedSchemeError) as caught:
        qcore.save(tmp_path / "out/", {name: q})
    assert (caught.value.code, caught.value.tensor) == ("file-cannot-hold", name)
    assert os.listdir(tmp_path) == []
    qcore.save(tmp_path / "out/", {name: q}, convention="qcore")
    with qcore.open(tmp_path / "out") as file:
        assert file.tensor(name) == q


def test_several_forms_are_mixed_and_their_modules_named(tmp_path):
    tensors = {"a.weight": qcore.quantize(X, "int4-b32"), "b.weight": qcore.quantize(X, "fp8"), "c.weight": X}
    qcore.save(tmp_path / "out/", tensors)
    block = block_of(tmp_path / "out")
    assert block["format"] == "mixed-precision"
    assert sorted(group["targets"] for group in block["config_groups"].values()) == [["a"], ["b"]]
    with qcore.open(tmp_path / "out") as file:
        assert np.array_equal(file.tensor("a.weight").dequantize(), tensors["a.weight"].dequantize())


def model(path, **kwargs):
    """A folder as people have it: two shards, an index, a configuration, a tokenizer."""
    path.mkdir()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    qcore.save(path / names[0], {"a.weight": X}, {"format": "pt"})
    qcore.save(path / names[1], {"b.weight": X * 2}, {"format": "pt"})
    index = {
        "metadata": {"total_size": 2 * X.nbytes},
        "weight_map": {"a.weight": names[0], "b.weight": names[1]},
    }
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    (path / "config.json").write_text('{\n  "eps": 1e-05,\n  "layers": 2\n}\n')
    (path / "tokenizer.json").write_text("{}")
    (path / "merges.txt").write_text("a b\n")
    (path / "training.log").write_text("no\n")
    return path


def test_a_folder_with_nothing_to_change_is_copied_byte_for_byte(tmp_path):
    path = model(tmp_path / "m")
    with qcore.open(path) as file:
        qcore.save(tmp_path / "out/", file)
    expected = contents(path)
    del expected["training.log"]
    assert contents(tmp_path / "out") == expected


def test_only_the_quantization_of_a_configuration_is_edited(tmp_path):
    path = model(tmp_path / "m")
    with qcore.open(path) as file:
        tensors = {name: qcore.quantize(file.tensor(name), "int4-b32") for name in file.names()}
    qcore.save(tmp_path / "out/", tensors, companions=path, shard_bytes=20_000)
    names = set(os.listdir(tmp_path / "out"))
    shards = {f"model-0000{n}-of-00002.safetensors" for n in (1, 2)}
    assert names == {*shards, "model.safetensors.index.json", "config.json", "tokenizer.json", "merges.txt"}
    text = (tmp_path / "out" / "config.json").read_text()
    assert text.startswith(
        '{\n  "eps": 1e-05,\n  "layers": 2,\n  "quantization_config": {\n    "config_groups"'
    )
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(q.nbytes + 16 for q in tensors.values())
    assert set(index["weight_map"].values()) == shards
    with qcore.open(tmp_path / "out") as file:
        floats = {name: file.tensor(name).dequantize() for name in file.names()}
    qcore.save(tmp_path / "back/", floats, companions=tmp_path / "out")
    assert (tmp_path / "back" / "config.json").read_text() == (path / "config.json").read_text()


def test_a_configuration_that_stays_true_stays_word_for_word(tmp_path):
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}
    config = quantized_by(
        "compressed-tensors", config_groups={"g": {"targets": ["re:.*"], "weights": weights}}
    )
    arrays = {
        "l.weight_packed": RNG.integers(0, 1 << 31, (4, 8), np.int32),
        "l.weight_scale": RNG.random((4, 2)).astype(np.float16),
        "l.weight_shape": shape_of(4, 64),
    }
    path = folder(tmp_path / "m", arrays, config, {"format": "pt"})
    with qcore.open(path) as file:
        qcore.save(tmp_path / "out/", file, convention="compressed-tensors")
    assert contents(tmp_path / "out") == contents(path)


def test_a_folder_is_replaced_only_when_asked_and_only_if_it_is_a_checkpoint(tmp_path):
    q = qcore.quantize(X, "int8")
    out = tmp_path / "out"
    qcore.save(f"{out}/", {"l.weight": q})
    before = contents(out)
    with pytest.raises(qcore.errors.FormatError) as caught:
        qcore.save(out, {"l.weight": X})
    assert caught.value.code == "file-exists"
    assert contents(out) == before
    qcore.save(out, {"l.weight": X}, overwrite=True)
    with qcore.open(out) as file:
        qcore.save(out, {"l.weight": qcore.quantize(file.tensor("l.weight"), "int8")}, overwrite=True)
    assert contents(out) == before
    (out / "sub").mkdir()
    with pytest.raises(qcore.errors.FormatError):
        qcore.save(out, {"l.weight": X}, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["out"]


def test_what_is_no_weight_stays_when_a_folder_is_replaced(tmp_path):
    path = model(tmp_path / "m")
    qcore.save(path, {"l.weight": qcore.quantize(X, "int8")}, overwrite=True)
    names = {"config.json", "tokenizer.json", "merges.txt", "training.log", "model.safetensors"}
    assert set(os.listdir(path)) == names
    assert (path / "training.log").read_text() == "no\n"
    assert json.loads((path / "config.json").read_text())["layers"] == 2
    assert block_of(path)["format"] == "int-quantized"


def test_an_error_on_the_way_leaves_the_old_folder_and_nothing_else(tmp_path):
    from qcore.formats.content import Deferred
    from qcore.formats.protocol import TensorInfo

    out = tmp_path / "out"
    qcore.save(f"{out}/", {"l.weight": X})
    before = contents(out)

    def fails():
        raise KeyboardInterrupt

    late = Deferred(TensorInfo("z", (2,), "float32", None, 8, ("z",)), fails)
    with pytest.raises(KeyboardInterrupt):
        qcore.save(out, {"l.weight": X, "z": late}, overwrite=True)
    assert contents(out) == before
    assert os.listdir(tmp_path) == ["out"]


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    from qcore.formats.new_folder import new_folder

    with new_folder(tmp_path / "out", overwrite=False) as living:
        dead = living.with_name(living.name[:-8] + "dead.tmp")
        dead.mkdir()
        (dead / "model.safetensors").write_bytes(b"half")
        other = living.with_name(".qcore-0-0.tmp")
        other.mkdir()
        qcore.save(tmp_path / "out", {"l.weight": X})
        assert sorted(os.listdir(tmp_path)) == sorted([other.name, living.name, "out"])
        (living / "x.safetensors").write_bytes(b"")
        (tmp_path / "out" / "model.safetensors").unlink()
    assert os.listdir(tmp_path / "out") == ["x.safetensors"]


def test_a_single_file_in_the_convention_keeps_the_configuration_in_its_texts(tmp_path):
    q = qcore.quantize(X, "mxfp4")
    path = tmp_path / "m.safetensors"
    qcore.save(path, {"l.weight": q}, convention="compressed-tensors")
    with qcore.open(path) as file:
        assert file.tensor("l.weight") == q
        assert (
            json.loads(file.stored.metadata["qcore.quantization_config"])["format"] == "mxfp4-pack-quantized"
        )
    with pytest.raises(qcore.errors.UnsupportedSchemeError, match="npz files cannot hold"):
        qcore.save(tmp_path / "m.npz", {"l.weight": q}, convention="compressed-tensors")
    with pytest.raises(qcore.errors.InvalidSchemeError, match="convention to write"):
        qcore.save(path, {"l.weight": q}, convention="gptq", overwrite=True)


def test_digests_and_provenance_are_in_every_shard(tmp_path):
    tensors = {f"{name}.weight": qcore.quantize(X, "int4-b32") for name in "ab"}
    qcore.save(tmp_path / "out/", tensors, provenance={"command": "test"}, shard_bytes=20_000)
    with qcore.open(tmp_path / "out") as file:
        assert set(file.stored.digests) == set(file.stored.entries)
        assert "qcore.provenance" in file.stored.metadata
