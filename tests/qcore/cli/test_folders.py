"""Folders on the command line: quantized for other programs, listed, checked, decoded."""

import json

import numpy as np
import pytest
from checkpoints import folder, words

import qcore
from qcore.cli import exits

X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)


@pytest.fixture
def whole(tmp_path):
    """A model's folder."""
    tensors = {"a.weight": X, "norm.weight": X[0], "a.bias": X[1]}
    return folder(tmp_path / "m", tensors, {"layers": 1}, {"format": "pt"}, tokenizer={"v": 1})


def test_a_folder_is_quantized_into_a_folder_that_says_how(run, document, whole):
    done = document("quantize", whole, "-o", "out", "--scheme", "int4-b32", "--on-invalid", "float")
    kept = {row["name"]: row["kept"] for row in done["tensors"]}
    assert kept["a.weight"] is None
    assert "file-cannot-hold" in kept["norm.weight"]
    with qcore.open("out") as file:
        q = qcore.quantize(X, "int4-b32")
        assert np.array_equal(file.tensor("a.weight").dequantize(), q.dequantize())
        assert file.settings.block["format"] == "pack-quantized"
    listed = document("info", "out")["files"][0]
    assert [row["origin"] for row in listed["tensors"] if row["scheme"]] == [
        "compressed-tensors pack-quantized"
    ]
    assert document("verify", "out")["ok"]
    code, _, err = run("dequantize", "out", "-o", "back", "--dtype", "bf16")
    assert code == 0, err
    with open("back/config.json") as file:
        assert json.load(file) == {"layers": 1}
    with qcore.open("back") as file:
        assert file.info("a.weight").dtype == "bfloat16"


def test_a_scheme_without_a_form_is_refused_before_any_work_unless_ours_is_asked_for(run, whole):
    words = ("quantize", whole, "-o", "out", "--scheme", "nf4", "--include", "a.weight")
    code, _, err = run(*words, "--dry-run")
    assert code == exits.REFUSED
    assert "error[file-cannot-hold]: a.weight" in err
    code, _, err = run(*words, "--convention", "qcore")
    assert code == 0, err
    with qcore.open("out") as file:
        assert file.tensor("a.weight") == qcore.quantize(X, "nf4")


def test_a_folder_that_exists_is_refused_before_any_work(run, whole):
    code, _, err = run("quantize", whole, "-o", whole, "--scheme", "int8", "--include", "a.weight")
    assert code != 0
    assert "file-exists" in err
    code, _, err = run(
        "quantize", whole, "-o", whole, "--scheme", "int8", "--include", "a.weight", "--overwrite"
    )
    assert code == 0, err
    with qcore.open(whole) as file:
        assert str(file.info("a.weight").scheme) == "q8f/native/t:f32"


def test_what_has_minima_is_listed_and_decoded(run, document, tmp_path):
    codes = np.random.default_rng(1).integers(0, 16, (6, 128))
    grid = np.ones((6, 2), np.float16)
    arrays = {"a.weight": words(codes, 4).view(np.uint32), "a.scales": grid, "a.biases": grid}
    path = folder(tmp_path / "mlx", arrays, {"quantization": {"group_size": 64, "bits": 4}})
    (row,) = document("info", path)["files"][0]["tensors"]
    assert (row["origin"], row["fidelity"]) == ("mlx affine, minima", "requantized")
    code, out, err = run("dequantize", path, "-o", "out", "--dtype", "f16")
    assert code == 0, err
    assert "1 of 1 tensors" in out
    with qcore.open("out") as file:
        assert np.array_equal(file.tensor("a.weight"), (codes + 1).astype(np.float16))


def test_a_folder_is_converted_and_keeps_its_configuration(run, document, whole):
    code, _, err = run("quantize", whole, "-o", "q", "--scheme", "int4-b32", "--include", "a.weight")
    assert code == 0, err
    told = document("convert", "q", "-o", "again")
    assert {row["name"]: row["fidelity"] for row in told["tensors"]}["a.weight"] == "exact"
    with open("q/config.json") as before, open("again/config.json") as after:
        assert before.read() == after.read()
    told = document("convert", "q", "-o", "q.safetensors")
    assert told["format"] == "safetensors"
    with qcore.open("q") as file, qcore.open("again") as again, qcore.open("q.safetensors") as single:
        assert file.tensor("a.weight") == again.tensor("a.weight") == single.tensor("a.weight")
    code, _, err = run("convert", "q", "-o", "q.bpk", "--layout", "torch-to-burn")
    assert code == 0, err


def test_a_folder_is_written_the_usual_way_round_whatever_command_writes_it(run, document, tmp_path):
    rng = np.random.default_rng(4)
    codes, scales = rng.integers(0, 16, (64, 32)), rng.random((2, 32)).astype(np.float16)
    arrays = {
        "a.qweight": np.ascontiguousarray(words(codes.T, 4).T),
        "a.qzeros": words(np.full((2, 32), 7), 4),
        "a.scales": scales,
    }
    told = {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True, "desc_act": False}
    path = folder(tmp_path / "gptq", arrays, {"quantization_config": told})
    values = (np.repeat(scales, 32, 0).astype(np.float32) * (codes - 8)).T
    rows = document("convert", path, "-o", "ct")["tensors"]
    assert [(row["shape"], row["transposed"]) for row in rows] == [([32, 64], True)]
    assert run("dequantize", path, "-o", "floats")[0] == 0
    with qcore.open("ct") as file, qcore.open("floats") as floats:
        assert file.settings.method == "compressed-tensors"
        assert np.array_equal(file.tensor("a.weight").dequantize(), values)
        assert np.array_equal(floats.tensor("a.weight"), values)
