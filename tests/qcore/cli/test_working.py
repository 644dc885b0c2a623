"""Commands that work: quantize, dequantize, verify."""

import json

import numpy as np
import pytest

import qcore
from qcore.cli import exits
from qcore.formats.digests import digest

X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)


def tensors(path):
    with qcore.open(path) as f:
        return {name: f.tensor(name) for name in f.names()}


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
@pytest.mark.parametrize(
    "scheme", ["int4-b32", "nvfp4", "nf4", "int8-channel", "q4_0", "q4f/u32/lookup:iq4-nl/b32:f16"]
)
def test_quantize_writes_what_the_library_gives(run, model, scheme, suffix):
    code, out, err = run("quantize", model, "-o", f"o.{suffix}", "--scheme", scheme)
    assert code == 0, err
    got = tensors(f"o.{suffix}")
    assert got["enc.weight"] == qcore.quantize(X, scheme)
    assert got["enc.bias"] == qcore.quantize(X[0], scheme)
    assert got["half"] == qcore.quantize(X.astype(np.float16), scheme)
    assert dict(got["enc.weight"].rules) == dict(qcore.quantize(X, scheme).rules)
    assert np.array_equal(got["ids"], np.arange(9))
    assert "kept ids: int64" in out
    assert "3 of 4 tensors" in out
    with qcore.open(f"o.{suffix}") as f:
        assert f.metadata == {"format": "pt"}


def test_every_option_of_quantize_reaches_the_library(run, model):
    options = {
        "calibration": "percentile:99",
        "rounding": "half-even",
        "scale_rounding": "nearest",
        "tied": "row",
    }
    words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
    code, _, err = run("quantize", model, "-o", "o.npz", "--scheme", "q8s/native/b16:f16", *words)
    assert code == 0, err
    assert tensors("o.npz")["enc.weight"] == qcore.quantize(X, "q8s/native/b16:f16", **options)
    for key, value in options.items():
        assert f"  {key}: {value}" in err


def test_the_settings_in_force_are_told_before_the_work(run, model):
    _, _, err = run("quantize", model, "-o", "o.npz", "--scheme", "nvfp4")
    for line in (
        "scheme: e2m1/packed/b16:ue4m3/t:f32",
        "asked: nvfp4",
        "scale_rounding: nearest",
        "backend: cpu",
    ):
        assert f"  {line}" in err
    assert "nvfp4" not in run("quantize", model, "-o", "p.npz", "--scheme", "nvfp4", "-q")[2]


def test_a_codebook_may_come_from_a_file(run, model):
    table = np.linspace(-1, 1, 16, dtype=np.float32)
    np.save("table.npy", table) if run("limits") else None
    code, _, err = run(
        "quantize", model, "-o", "o.npz", "-s", "q4f/u32/lookup/b32:f16", "--codebook", "table.npy"
    )
    assert code == 0, err
    assert np.array_equal(tensors("o.npz")["enc.weight"].codebook.table, table)


def test_globs_choose_and_a_glob_that_matches_nothing_is_told(run, model):
    code, out, err = run(
        "quantize",
        model,
        "-o",
        "o.npz",
        "-s",
        "int8",
        "--include",
        "enc.*",
        "--exclude",
        "*.bias",
        "--include",
        "x*",
    )
    assert code == 0
    got = tensors("o.npz")
    assert [name for name, value in got.items() if isinstance(value, qcore.QTensor)] == ["enc.weight"]
    assert "kept enc.bias: excluded" in out
    assert "kept half: not included" in out
    assert "warning: --include x* matches nothing" in err


def test_a_tensor_that_the_scheme_cannot_take_stops_everything_unless_it_may_stay(run, model, tmp_path):
    code, _, err = run("quantize", model, "-o", "o.npz", "-s", "q8s/native/b2x2:f16")
    assert code == exits.REFUSED
    assert "error[block-rank]: enc.bias:" in err
    assert not (tmp_path / "o.npz").exists()
    code, out, _ = run("quantize", model, "-o", "o.npz", "-s", "q8s/native/b2x2:f16", "--on-invalid", "float")
    assert code == 0
    assert "kept enc.bias: [block-rank]" in out
    assert np.array_equal(tensors("o.npz")["enc.bias"], X[0])


def test_nothing_to_quantize_is_an_error(run, model):
    assert run("quantize", model, "-o", "o.npz", "-s", "int8", "--include", "nothing*")[0] == exits.USAGE
    run("quantize", model, "-o", "o.npz", "-s", "int8")
    assert run("quantize", "o.npz", "-o", "p.npz", "-s", "int8")[0] == exits.USAGE


def test_not_a_number_stops_everything_and_names_its_tensor(run, tmp_path):
    bad = X.copy()
    bad[3, 5] = np.nan
    qcore.save(tmp_path / "x.npz", {"fine": X, "w": bad})
    code, _, err = run("quantize", "x.npz", "-o", "o.npz", "-s", "int8")
    assert code == exits.CORRUPT
    assert "error[non-finite]: w: " in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npz"]
    assert run("quantize", "x.npz", "-o", "o.npz", "-s", "int8", "--nonfinite", "saturate")[0] == 0


def test_a_dry_run_tells_the_sizes_and_writes_nothing(run, document, model, tmp_path):
    before = sorted(tmp_path.iterdir())
    code, out, _ = run("quantize", model, "-o", "o.safetensors", "-s", "int4-b32", "--dry-run")
    assert code == 0
    assert "enc.weight  8x64    2,048    288" in out
    found = document("quantize", model, "-o", "o.safetensors", "-s", "int4-b32", "--dry-run")
    assert sorted(tmp_path.iterdir()) == before
    run("quantize", model, "-o", "o.safetensors", "-s", "int4-b32")
    with qcore.open("o.safetensors") as f:
        sizes = {name: f.info(name).nbytes for name in f.names()}
    assert {row["name"]: row["nbytes_after"] for row in found["tensors"]} == sizes


def test_the_document_of_quantize_keeps_its_keys(document, model):
    found = document("quantize", model, "-o", "o.npz", "-s", "int4-b32")
    assert found.keys() == {
        "schema", "source", "out", "settings", "dry_run", "rules", "dead_rules", "tensors", "totals",
    }  # fmt: skip
    assert found["totals"].keys() == {"tensors", "nbytes_before", "nbytes_after"}
    assert found["tensors"][0].keys() == {
        "name", "shape", "before", "after", "nbytes_before", "nbytes_after", "bits_per_weight", "kept", "report",
    }  # fmt: skip
    report = next(row["report"] for row in found["tensors"] if row["name"] == "enc.weight")
    assert report["sqnr_db"] == pytest.approx(qcore.compare(X, qcore.quantize(X, "int4-b32")).sqnr_db)


def test_an_output_that_exists_is_kept_unless_told_otherwise(run, model, tmp_path):
    (tmp_path / "o.npz").write_bytes(b"old")
    assert run("quantize", model, "-o", "o.npz", "-s", "int8")[0] == exits.USAGE
    assert (tmp_path / "o.npz").read_bytes() == b"old"
    assert run("quantize", model, "-o", "o.npz", "-s", "int8", "--overwrite")[0] == 0


def test_a_file_can_be_quantized_onto_itself(run, model):
    run("quantize", model, "-o", "elsewhere.safetensors", "-s", "int4-b32")
    assert run("quantize", model, "-o", model, "-s", "int4-b32", "--overwrite")[0] == 0
    with open("elsewhere.safetensors", "rb") as file:
        assert model.read_bytes() == file.read()


def test_outputs_that_cannot_hold_the_result_are_refused_before_the_work(run, model, tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert run("quantize", "x.npy", "-o", "o.npy", "-s", "int8")[0] == exits.REFUSED
    assert run("quantize", model, "-o", "o.txt", "-s", "int8")[0] == exits.USAGE
    assert run("quantize", model, "-o", "none/o.npz", "-s", "int8")[0] == exits.CORRUPT


def test_the_output_says_how_it_was_made_and_is_the_same_every_time(program, model, tmp_path):
    outputs = []
    for seed, threads in (("0", "1"), ("1", "2")):
        out = tmp_path / f"{seed}.safetensors"
        words = ("quantize", model, "-o", out, "-s", "nf4", "--threads", threads)
        assert (
            program(*words, env={"PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": f"UTC+{seed}"}).returncode == 0
        )
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    with qcore.open(out) as f:
        made = json.loads(f.stored.metadata["qcore.provenance"])
    assert made["command"] == "quantize"
    assert made["qcore"] == qcore.__version__
    assert made["asked"] == "nf4"
    assert made["source_bytes"] == str(model.stat().st_size)
    assert made["source_ends"] == digest([model.read_bytes()])


def test_a_digest_of_the_whole_input_is_recorded_when_asked_for(program, tmp_path):
    """The ends alone do not see a change in between; the whole does."""
    x = np.zeros((3, 1 << 18), np.float32)
    source, out = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    told = []
    for value in (1, 2):
        x[1, 1000] = value
        qcore.save(source, {"w": x}, overwrite=True)
        for words in ((), ("--source-digest",)):
            assert program("quantize", source, "-o", out, "-s", "int8", "--overwrite", *words).returncode == 0
            with qcore.open(out) as f:
                made = json.loads(f.stored.metadata["qcore.provenance"])
            told.append(made.get("source_digest", made.get("source_ends")))
    assert told[0] == told[2]
    assert told[1] != told[3] == digest([source.read_bytes()])


@pytest.mark.parametrize(("dtype", "name"), [("f32", "float32"), ("bf16", "bfloat16"), ("f16", "float16")])
def test_dequantize_writes_what_the_library_gives(run, small, dtype, name):
    from qcore.formats.dtypes import numpy_dtype

    before = tensors(small)
    for out in ("o.safetensors", "o.npz"):
        code, text, err = run("dequantize", small, "-o", out, "--dtype", dtype)
        assert code == 0, err
        assert "kept b: not quantized" in text
        got = tensors(out)
        for key in ("w", "l"):
            expected = before[key].dequantize(numpy_dtype(name))
            assert got[key].dtype == expected.dtype
            assert got[key].tobytes() == expected.tobytes()


def test_one_tensor_is_dequantized_to_a_bare_npy(run, tmp_path):
    q = qcore.quantize(X, "int4-b32")
    qcore.save(tmp_path / "q.npz", {"w": q})
    assert run("dequantize", "q.npz", "-o", "w.npy")[0] == 0
    assert np.array_equal(np.load(tmp_path / "w.npy"), q.dequantize())
    assert run("dequantize", "q.npz", "-o", "h.npy", "--dtype", "bf16")[0] == exits.REFUSED
    assert run("dequantize", "w.npy", "-o", "x.npz")[0] == exits.USAGE
    assert run("dequantize", "q.npz", "-o", "x.npz", "--dtype", "i8")[0] == exits.USAGE


def test_a_backend_that_cannot_decode_refuses_before_the_work(run, small, tmp_path):
    code, _, err = run("dequantize", small, "-o", "o.npz", "--backend", "ndarray")
    assert code == exits.REFUSED
    assert "error[lookup-not-on-ndarray]: l: " in err
    assert not (tmp_path / "o.npz").exists()


def test_a_fresh_file_is_fine(run, document, small, model):
    assert run("verify", small)[0] == 0
    found = document("verify", small)
    assert (found["ok"], found["tensors"], found["digests"], found["findings"]) == (True, 3, 7, [])
    assert document("verify", model)["digests"] == 0


def test_a_flipped_bit_is_found(run, small):
    data = bytearray(small.read_bytes())
    data[-1] ^= 1
    small.write_bytes(data)
    code, out, _ = run("verify", small)
    assert code == exits.FAILED
    assert "error[file-checksum]: w: " in out


def test_a_broken_structure_ends_with_four(run, small):
    small.write_bytes(small.read_bytes()[:-1])
    code, out, err = run("verify", small)
    assert (code, out) == (exits.CORRUPT, "")
    assert "error[file-truncated]" in err


def test_scales_that_are_not_finite_and_codes_out_of_range_are_found(document, tmp_path):
    values = np.array([[-128, 1, 2, 3]], np.int8)
    scales = np.array([[1.0, np.nan]], np.float32)
    q = qcore.QTensor.from_parts(
        values=values, scales=scales, scheme=qcore.QuantScheme.parse("q8s/native/b2:f32"), shape=(1, 4)
    )
    nan = np.array([0x7F, 0], np.uint8)
    fp8 = qcore.QTensor.from_parts(
        values=nan,
        scales=np.full(1, -1, np.float32),
        scheme=qcore.QuantScheme.parse("e4m3/native/t:f32"),
        shape=(2,),
    )
    qcore.save(tmp_path / "x.npz", {"w": q, "f": fp8})
    found = document("verify", "x.npz", code=exits.FAILED)
    assert [(row["code"], row["tensor"]) for row in found["findings"]] == [
        ("code-out-of-range", "f"),
        ("non-finite-scale", "w"),
        ("code-out-of-range", "w"),
    ]
    assert found["notes"] == ["f: 1 scales are negative, as ggml writes them"]
