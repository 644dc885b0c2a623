"""Commands about formats: convert, upgrade, layouts and maps of every command that writes, check without a scheme."""

import shutil

import bpk
import numpy as np
import pytest
import source

import qcore
from qcore.cli import exits

X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)
MNIST = source.ROOT / "tests/data/burn-mnist.bpk"


def tensors(path):
    with qcore.open(path) as f:
        return {name: f.tensor(name) for name in f.names()}


@pytest.mark.parametrize("suffix", ["safetensors", "npz", "bpk"])
def test_convert_writes_equal_tensors_and_says_exact(document, model, suffix):
    told = document("convert", model, "-o", f"o.{suffix}", "--layout", "keep")
    assert told["totals"] == {"exact": 4, "lossless": 0, "requantized": 0}
    assert [row["fidelity"] for row in told["tensors"]] == ["exact"] * 4
    before, after = tensors(model), tensors(f"o.{suffix}")
    assert before.keys() == after.keys()
    assert all((after[name] == before[name]).all() for name in before)
    with qcore.open(f"o.{suffix}") as f:
        assert f.stored.digests.keys() == before.keys()


def test_convert_refuses_a_bpk_of_unstated_layout_before_any_work(run, model, tmp_path):
    code, _, err = run("convert", model, "-o", "o.bpk")
    assert code == exits.USAGE
    assert "error[state-the-layout]" in err
    assert "enc.weight [8, 64]" in err
    assert "--layout torch-to-burn" in err
    assert "--layout keep" in err
    assert not (tmp_path / "o.bpk").exists()


def test_convert_turns_linear_weights_and_tells_why(run, document, model):
    code, out, err = run("convert", model, "-o", "o.bpk", "--layout", "torch-to-burn")
    assert code == 0, err
    assert "to 64x8 (a linear weight)" in out
    assert "half 8x64 float16 exact (no linear weight by its name)" in " ".join(out.split())
    assert (tensors("o.bpk")["enc.weight"] == X.T).all()
    told = document("convert", "o.bpk", "-o", "back.safetensors", "--layout", "burn-to-torch")
    assert [row["transposed"] for row in told["tensors"]] == [False, True, False, False]
    assert (tensors("back.safetensors")["enc.weight"] == X).all()


def test_a_map_settles_what_its_rules_speak_of_and_nothing_else(run, document, model, tmp_path):
    (tmp_path / "m.toml").write_text(
        'version = 1\n[[rule]]\nmatch = "enc.*"\nrename = "dec.*"\n[[rule]]\nmatch = "no"\n'
    )
    code, _, err = run("convert", model, "-o", "o.bpk", "--map", "m.toml")
    assert code == exits.USAGE
    assert "half [8, 64]" in err
    (tmp_path / "m.toml").write_text(
        'version = 1\n[[rule]]\nmatch = "enc.weight"\nrename = "dec"\ntranspose = true\n'
        '[[rule]]\nmatch = "half"\ntranspose = false\n[[rule]]\nmatch = "no"\n'
    )
    code, _, err = run("convert", model, "-o", "o.bpk", "--map", "m.toml")
    assert code == 0, err
    assert "the map's rule no matches nothing" in err
    assert (tensors("o.bpk")["dec"] == X.T).all()
    told = document("info", "o.bpk")["files"][0]
    assert "map_digest" in json_of(told, "o.bpk")


def json_of(told, path):
    with qcore.open(path) as f:
        return f.stored.metadata["qcore.provenance"]


def test_convert_takes_a_format_without_a_suffix_and_a_burn_version(run, model):
    code, _, err = run("convert", model, "-o", "o.bin", "--to", "bpk", "--layout", "keep", "--burn", "0.21")
    assert code == 0, err
    with qcore.open("o.bin") as f:
        assert f.format == "burnpack"
        assert f.stored.metadata["qcore.burn"] == "0.21"
    code, _, err = run("convert", model, "-o", "o.npz", "--burn", "0.21")
    assert code == exits.USAGE
    code, _, err = run("convert", model, "-o", "p.bin", "--to", "zip")
    assert code == exits.USAGE or "unknown-name" in err


def test_what_burn_lies_like_goes_out_with_a_note_and_comes_back_without_a_word(run):
    code, _, err = run("convert", MNIST, "-o", "m.safetensors")
    assert code == 0
    assert "--layout burn-to-torch" in err
    code, out, err = run("convert", "m.safetensors", "-o", "b.bpk")
    assert code == 0, err
    assert "0 transposed" in out
    before, after = tensors(MNIST), tensors("b.bpk")
    assert all((after[name] == before[name]).all() for name in before)


def test_convert_within_bpk_keeps_identities_and_scalars(run):
    root = {"tensors": {"a.weight": bpk.tensor("F32", (1, 2), 0, 8, param_id=2**64 - 1)},
            "scalars": {"epoch": {"UInt": 7}}, "later": [1]}  # fmt: skip
    with open("x.bpk", "wb") as file:
        file.write(bpk.file(root, b"\0\0\x80\x3f" * 2))
    for words in (("convert", "x.bpk"), ("convert", "x.bpk", "--layout", "burn-to-torch")):
        code, _, err = run(*words, "-o", "y.bpk", "--overwrite")
        assert code == 0, err
        with qcore.open("y.bpk") as f:
            assert f.info("a.weight").extra == {"param_id": 2**64 - 1}
            assert f.stored.header.keys["scalars"] == bpk.cbor(root["scalars"])
            assert f.stored.header.keys["later"] == bpk.cbor([1])
    assert f.info("a.weight").shape == (2, 1)


def test_quantize_for_burn_turns_first_and_keeps_identities(run, tmp_path):
    code, _, err = run("quantize", MNIST, "-o", "q.bpk", "--scheme", "burn-int4", "--include", "fc[12].weight")
    assert code == 0, err
    with qcore.open(MNIST) as f, qcore.open("q.bpk") as g:
        assert g.tensor("fc1.weight") == qcore.quantize(f.tensor("fc1.weight"), "burn-int4")
        assert g.info("fc1.weight").extra == f.info("fc1.weight").extra
    code, _, err = run("convert", MNIST, "-o", "t.safetensors", "--layout", "burn-to-torch")
    code, _, err = run("quantize", "t.safetensors", "-o", "r.bpk", "--scheme", "burn-int4", "--include", "fc[12].*t")
    assert "state-the-layout" in err
    words = ("--include", "fc[12].*t", "--layout", "torch-to-burn")
    code, _, err = run("quantize", "t.safetensors", "-o", "r.bpk", "--scheme", "burn-int4", *words)
    assert code == 0, err
    assert tensors("r.bpk")["fc1.weight"] == tensors("q.bpk")["fc1.weight"]
    code, _, err = run("dequantize", "r.bpk", "-o", "d.safetensors", "--layout", "burn-to-torch")
    assert code == 0, err
    assert (tensors("d.safetensors")["fc1.weight"] == tensors("q.bpk")["fc1.weight"].dequantize().T).all()


def test_upgrade_replaces_an_older_file_and_leaves_a_new_one_alone(run, document, tmp_path):
    q = qcore.quantize(X, "q4s/u32/b32:f16")
    qcore.save("x.bpk", {"q": q, "t": X > 0}, burn="0.20")
    told = document("upgrade", "x.bpk")
    assert told["upgraded"]
    assert told["respelled"] == ["q", "t"]
    assert tensors("x.bpk")["q"] == q
    before = (tmp_path / "x.bpk").read_bytes()
    told = document("upgrade", "x.bpk")
    assert not told["upgraded"]
    assert (tmp_path / "x.bpk").read_bytes() == before
    shutil.copy(MNIST, "m.bpk")
    code, out, _ = run("upgrade", "m.bpk")
    assert code == 0
    assert "already" in out


def test_upgrade_reads_the_oldest_form_when_told_to(run, tmp_path):
    root = {"tensors": {"a": bpk.tensor("U8", (3,), 0, 3)}}
    (tmp_path / "x.bpk").write_bytes(bpk.file(root, b"\1\2\3", aligned=False))
    code, _, err = run("upgrade", "x.bpk", "-o", "y.bpk")
    assert code == exits.CORRUPT
    assert 'burn="0.19"' in err
    code, out, _ = run("upgrade", "x.bpk", "-o", "y.bpk", "--burn", "0.19")
    assert code == 0
    assert "data aligned" in out
    assert (tmp_path / "y.bpk").read_bytes() == bpk.file(root, b"\1\2\3")
    code, _, err = run("upgrade", "x.npz")
    assert code != 0


def test_upgrade_takes_no_other_format(run, model):
    code, _, err = run("upgrade", model)
    assert code == exits.USAGE
    assert "a .bpk file" in err


def test_check_without_a_scheme_asks_about_the_file_as_it_is(run, document):
    tensors_of_two = {"good": qcore.quantize(X, "burn-int4"), "bad": qcore.quantize(X, "nf4")}
    qcore.save("q.bpk", tensors_of_two)
    told = document("check", "q.bpk", "--on", "burn-flex", code=exits.REFUSED)
    assert told["places"]["burn-flex"]["fine"] == 1
    assert [row["name"] for row in told["places"]["burn-flex"]["refused"]] == ["bad"]
    told = document("check", "q.bpk")
    assert told["places"]["cpu"]["refused"] == []
    code, _, err = run("check", MNIST, "--on", "burn-flex")
    assert code == exits.USAGE
    assert "nothing-selected" in err
    code, _, err = run("check")
    assert code == exits.USAGE


def test_info_says_what_is_unusual(run, document):
    root = {"tensors": {"a": bpk.tensor("U8", (3,), 0, 3), "b": bpk.tensor("Bool", (2,), 3, 5)}}
    with open("x.bpk", "wb") as file:
        file.write(bpk.file(root, b"\1\2\3\1\0", aligned=False))
    code, _, err = run("info", "x.bpk")
    assert code == 0
    assert "0.19" in err
    assert "0.19" in document("info", "x.bpk")["files"][0]["notes"][0]


@pytest.mark.parametrize("layouts", [("keep", "keep"), ("torch-to-burn", "burn-to-torch")])
def test_exact_blocks_of_gguf_survive_the_way_through_a_bpk_byte_for_byte(run, tmp_path, layouts):
    tensors_of_ggml = {"a.weight": "q8_0", "b.weight": "q4_0", "c.weight": "mxfp4", "d.weight": "e2m1/packed/b16:ue4m3"}
    qcore.save("m.gguf", {name: qcore.quantize(X, scheme) for name, scheme in tensors_of_ggml.items()} | {"n": X[0]})
    there, back = layouts
    code, _, err = run("convert", "m.gguf", "-o", "b.bpk", "--layout", there)
    assert code == 0, err
    code, _, err = run("convert", "b.bpk", "-o", "back.gguf", "--layout", back)
    assert code == 0, err
    with qcore.open("m.gguf") as f, qcore.open("back.gguf") as g:
        for name in f.names():
            assert g.info(name).shape == f.info(name).shape
            assert b"".join(g.stored.raw(name)) == b"".join(f.stored.raw(name)), name
