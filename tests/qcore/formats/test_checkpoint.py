"""Folders and indices: what is opened, and every rule of an index that is broken."""

import json

import numpy as np
import pytest
from checkpoints import folder, quantized_by

import qcore
from qcore.formats.table import FORMATS

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def sharded(path, weights=None, text=None):
    path.mkdir()
    qcore.save(path / ONE, {"b": X + 1, "unlisted": X})
    qcore.save(path / TWO, {"a": X, "b": X - 1}, {"format": "pt"})
    index = {"metadata": {"total_size": 96}, "weight_map": weights or {"a": TWO, "b": ONE}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index) if text is None else text)
    return path


def test_the_index_alone_says_what_lies_where(tmp_path):
    path = sharded(tmp_path / "m")
    for opened in (path, path / "model.safetensors.index.json", str(path) + "/"):
        with qcore.open(opened) as file:
            assert file.names() == ("b", "a")
            assert np.array_equal(file.tensor("b"), X + 1)
            assert np.array_equal(file.tensor("a"), X)
            assert dict(file.metadata) == {"format": "pt"}
            assert file.format == "checkpoint"


def test_the_parts_of_a_tensor_may_lie_in_different_shards(tmp_path):
    q = qcore.quantize(np.ones((4, 64), np.float32), "int4-b32")
    qcore.save(tmp_path / "whole/", {"l.weight": q})
    with qcore.open(tmp_path / "whole" / "model.safetensors") as file:
        parts = {name: file.stored.array(name) for name in file.stored.entries}
    path = tmp_path / "m"
    path.mkdir()
    names = sorted(parts)
    for shard, name in enumerate(names):
        qcore.save(path / f"{shard}.safetensors", {name: parts[name]})
    weights = {name: f"{shard}.safetensors" for shard, name in enumerate(names)}
    (path / "x.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    with qcore.open(path) as file:
        assert np.array_equal(file.tensor("l.weight").dequantize(), q.dequantize())


def test_a_quantized_tensor_of_ours_lies_in_a_shard_with_its_record(tmp_path):
    q = qcore.quantize(X, "q4s/u32/b4:f16")
    path = tmp_path / "m"
    path.mkdir()
    qcore.save(path / ONE, {"w": q})
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": ONE, "w.scale": ONE}}))
    with qcore.open(path) as file:
        assert file.tensor("w") == q


@pytest.mark.parametrize(
    "weights",
    [
        {"a": "../secret.safetensors"},
        {"a": "/etc/x.safetensors"},
        {"a": "sub/x.safetensors"},
        {"a": "sub\\x.safetensors"},
        {"a": "c:x.safetensors"},
        {"a": ".hidden.safetensors"},
        {"a": "x\0.safetensors"},
        {"a": "model.bin"},
        {"a": ""},
        {"a": 1},
        {"a": None},
        {"a": [ONE]},
        {"a" * 5000: ONE},
    ],
)
def test_the_name_of_a_shard_is_a_name_and_never_a_path(tmp_path, weights):
    with pytest.raises(qcore.errors.FormatError) as caught:
        qcore.open(sharded(tmp_path / "m", weights))
    assert caught.value.code == "file-malformed"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"weight_map": []}',
        f'{{"weight_map": {{"a": "{ONE}", "a": "{TWO}"}}}}',
        '{"weight_map": {}, "weight_map": {}}',
        '{"weight_map": {}} x',
        '{"weight_map": {"\\ud800": "x.safetensors"}}',
        '{"metadata": NaN, "weight_map": {}}',
        '{"metadata": ' + "[" * 200 + "]" * 200 + ', "weight_map": {}}',
    ],
)
def test_an_index_that_breaks_a_rule_is_refused(tmp_path, text):
    with pytest.raises(qcore.errors.FormatError) as caught:
        qcore.open(sharded(tmp_path / "m", text=text))
    assert caught.value.code == "file-malformed"


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = sharded(tmp_path / "m")
    (path / "model.safetensors.index.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(qcore.errors.FormatError, match="UTF-8"):
        qcore.open(path)
    (path / "config.json").write_bytes(b"\xff")
    with pytest.raises(qcore.errors.FormatError, match="UTF-8"):
        qcore.open(path)


def test_a_tensor_that_its_shard_lacks_is_named(tmp_path):
    with pytest.raises(qcore.errors.FormatError, match="no tensor 'c'") as caught:
        qcore.open(sharded(tmp_path / "m", {"a": TWO, "c": ONE}))
    assert caught.value.code == "file-tensor-missing"
    with pytest.raises(FileNotFoundError):
        qcore.open(sharded(tmp_path / "n", {"a": "gone.safetensors"}))


@pytest.mark.parametrize(("limit", "number"), [("shards", 1), ("config-json", 20)])
def test_an_index_is_held_to_limits(tmp_path, limit, number):
    path = sharded(tmp_path / "m")
    with pytest.raises(qcore.errors.LimitError, match=limit):
        qcore.open(path, limits={limit: number})
    allowed = 2 if limit == "shards" else (path / "model.safetensors.index.json").stat().st_size
    qcore.open(path, limits={limit: allowed}).close()


def test_a_folder_is_opened_by_its_only_file(tmp_path):
    path = folder(tmp_path / "m", {"a": X}, name="weights.safetensors")
    with qcore.open(path) as file:
        assert file.names() == ("a",)
    qcore.save(path / "other.safetensors", {"a": X})
    with pytest.raises(qcore.errors.FormatError) as caught:
        qcore.open(path)
    assert caught.value.code == "folder-not-a-checkpoint"
    qcore.save(path / "model.safetensors", {"b": X})
    with qcore.open(path) as file:
        assert file.names() == ("b",)


def test_an_empty_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(qcore.errors.FormatError, match="0 indices and 0 safetensors files"):
        qcore.open(tmp_path)


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1, "a": 2}', '{"a": NaN}', "\ufeff{}"])
def test_a_broken_configuration_matters_to_the_folder_and_not_to_the_file(tmp_path, text):
    path = folder(tmp_path / "m", {"a": X})
    (path / "config.json").write_text(text)
    with pytest.raises(qcore.errors.FormatError, match=r"config\.json"):
        qcore.open(path)
    with qcore.open(path / "model.safetensors") as file:
        assert np.array_equal(file.tensor("a"), X)


@pytest.mark.parametrize("block", [3, [], {}, {"quant_method": 4}, {"quant_method": "unheard-of"}])
def test_a_configuration_that_names_no_known_convention_changes_nothing(tmp_path, block):
    with qcore.open(folder(tmp_path / "m", {"a": X}, {"quantization_config": block})) as file:
        assert file.names() == ("a",)
        assert file.info("a").origin == ""


def test_a_file_is_read_by_the_configuration_beside_it(tmp_path):
    arrays = {"a.weight": np.zeros((2, 4), np.uint32), "a.scales": np.ones((2, 1), np.float16)}
    arrays["a.biases"] = arrays["a.scales"]
    path = folder(tmp_path / "m", arrays, {"quantization": {"group_size": 32, "bits": 4}})
    with qcore.open(path / "model.safetensors") as file:
        assert file.names() == ("a.weight",)
        assert file.format == "safetensors"


def test_every_convention_is_found_by_what_a_configuration_calls_it(tmp_path):
    for number, method in enumerate(
        ("compressed-tensors", "fp8", "modelopt", "gptq", "awq", "bitsandbytes", "mxfp4", "torchao", "quanto")
    ):
        with qcore.open(folder(tmp_path / str(number), {"a": X}, quantized_by(method))) as file:
            assert file.settings.method == method
            assert file.names() == ("a",)


def test_a_checkpoint_is_no_row_of_formats():
    assert "checkpoint" not in {row.name for row in FORMATS}
