"""GGUF on the command line: what is stored is told, what is foreign decodes, what is kept is kept as it is."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, quants

import qcore

X = np.random.default_rng(5).standard_normal((4, 256)).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.gguf"
    w = GGUFWriter(path, "llama")
    w.add_uint32("llama.block_count", 1)
    w.add_file_type(0)
    w.add_tensor("token_embd.weight", X)
    for name in ("Q8_0", "Q4_1", "Q5_0"):
        w.add_tensor(f"blk.{name}.weight", quants.quantize(X, GGMLQuantizationType[name]),
                     raw_dtype=GGMLQuantizationType[name])  # fmt: skip
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def test_info_tells_the_type_that_a_tensor_is_stored_in(run, model):
    code, out, _ = run("info", model)
    assert code == 0
    assert "float32 (Q4_1)" in out
    assert "q8s/native/b32:f16 (Q5_0)" in out
    assert "llama.block_count: 1" in out


def test_inspect_shows_the_parts_of_a_foreign_tensor(run, document, model):
    code, out, _ = run("inspect", model, "blk.Q4_1.weight")
    assert code == 0
    assert "stored as Q4_1, which no scheme expresses" in out
    found = document("inspect", model, "blk.Q4_1.weight")["foreign"]
    assert found["scales"]["elements"] == found["minima"]["elements"] == 32


def test_convert_to_the_same_format_takes_everything_over(run, document, model, tmp_path):
    found = document("convert", model, "-o", tmp_path / "m.gguf")
    assert found["totals"] == {"exact": 4, "lossless": 0, "requantized": 0}
    with qcore.open(model) as f, qcore.open(tmp_path / "m.gguf") as g:
        for name in f.names():
            assert b"".join(f.stored.raw(name)) == b"".join(g.stored.raw(name))


def test_convert_to_another_format_grades_every_tensor(document, model, tmp_path):
    found = document("convert", model, "-o", tmp_path / "m.safetensors")
    assert found["totals"] == {"exact": 2, "lossless": 1, "requantized": 1}
    with qcore.open(model) as f, qcore.open(tmp_path / "m.safetensors") as g:
        for name in f.names():
            assert np.array_equal(np.asarray(f.tensor(name)), np.asarray(g.tensor(name)))


def test_quantize_keeps_what_it_does_not_touch_and_the_file_type_follows(run, model, tmp_path):
    code, _, err = run(
        "quantize", model, "-o", tmp_path / "q.gguf", "--scheme", "q8_0", "--include", "token*"
    )
    assert code == 0, err
    with qcore.open(model) as f, qcore.open(tmp_path / "q.gguf") as g:
        assert g.info("token_embd.weight").origin == "Q8_0"
        assert g.tensor("token_embd.weight") == qcore.quantize(X, "q8_0")
        assert g.tensor("blk.Q4_1.weight") == f.tensor("blk.Q4_1.weight")
        assert g.info("blk.Q5_0.weight").origin == "Q5_0"
        assert (f.metadata["general.file_type"], g.metadata["general.file_type"]) == ("0", "7")
    assert run("verify", tmp_path / "q.gguf")[0] == 0


def test_dequantize_decodes_foreign_tensors_too(run, model, tmp_path):
    code, _, err = run("dequantize", model, "-o", tmp_path / "d.gguf", "--dtype", "f16")
    assert code == 0, err
    with qcore.open(model) as f, qcore.open(tmp_path / "d.gguf") as g:
        assert {g.info(name).dtype for name in g.names()} == {"float16", "float32"}
        expected = f.tensor("blk.Q4_1.weight").dequantize(np.float16)
        assert np.array_equal(g.tensor("blk.Q4_1.weight"), expected)


def test_tensors_without_a_models_keys_are_said_to_be_no_model(run, tmp_path, caplog):
    np.save(tmp_path / "w.npy", X)
    assert run("convert", tmp_path / "w.npy", "-o", tmp_path / "w.gguf")[0] == 0
    assert "tensors only: llama.cpp will not load this" in caplog.text
