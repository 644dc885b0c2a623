"""Commands that look: info, inspect, schemes, check, explain, limits, doctor, demo."""

import json

import numpy as np
import pytest

import qcore
from qcore import errors
from qcore.cli.commands import demo, doctor
from qcore.cli.portrait import corner, histogram, statistics

X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)


def keys(value):
    """The shape of a document: keys all the way down, the first element of each list standing for all."""
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None


def test_info_lists_tensors_with_their_sizes(run, model, small):
    code, out, _ = run("info", model, small)
    assert code == 0
    assert "enc.weight  8x64   float32" in out
    assert "e2m1/packed/b16:ue4m3/t:f32" in out
    assert "q4f/u32/lookup/b64:f32" in out
    assert f"{X.size + 64 + X.size + 9:,} parameters" in out
    assert "w.scale" not in out


def test_info_selects_by_a_pattern_and_indents_by_dots(run, model):
    _, out, _ = run("info", model, "--pattern", "enc.*")
    assert "half" not in out
    _, out, _ = run("info", model, "--tree")
    assert "\nenc\n" in out
    assert "\n  weight " in out


def test_the_document_of_info_keeps_its_keys(document, small):
    assert keys(document("info", small)) == {
        "schema": None,
        "files": [
            {
                "path": None,
                "format": None,
                "metadata": {"format": None},
                "notes": None,
                "tensors": [
                    {
                        "name": None,
                        "shape": None,
                        "dtype": None,
                        "scheme": None,
                        "parameters": None,
                        "nbytes": None,
                        "bits_per_weight": None,
                        "rules": {},
                        "origin": None,
                        "fidelity": None,
                    }
                ],
                "parameters": None,
                "nbytes": None,
            }
        ],
    }


def test_inspect_shows_statistics_blocks_and_bits(run, small, model):
    code, out, _ = run("inspect", small, "w", "--block", "1,2", "--bits")
    assert code == 0
    assert "max_abs" in out
    assert "block 1,2: 1x16 elements from 1,32" in out
    code, out, _ = run("inspect", model, "enc.weight", "--scheme", "q4s/u32/b2x16:f16", "--block", "3,1")
    assert code == 0
    assert "block 3,1: 2x16 elements from 6,16" in out
    assert "SQNR" in out


def test_what_inspect_shows_of_a_block_is_what_is_stored(document, model):
    q = qcore.quantize(X, "q4s/u32/b2x16:f16")
    block = document("inspect", model, "enc.weight", "-s", "q4s/u32/b2x16:f16", "--block", "3,1", "--bits")[
        "block"
    ]
    assert block["codes"] == q.codes[6:8, 16:32].reshape(-1).tolist()
    assert block["decoded"] == q.dequantize()[6:8, 16:32].reshape(-1).tolist()
    assert block["scale"] == float(q.effective_scales[3, 1])
    assert block["bits"][0] == f"{int(q.codes[6, 16]) & 15:04b}"
    whole = document("inspect", model, "enc.weight", "-s", "int8", "--block", "0")["block"]
    assert whole["codes"] == qcore.quantize(X, "int8").codes.reshape(-1).tolist()


def test_the_document_of_inspect_keeps_its_keys(document, model):
    shape = keys(document("inspect", model, "enc.weight", "-s", "nvfp4", "--block", "0,0"))
    assert shape.keys() == {
        "schema", "path", "name", "shape", "dtype", "scheme", "nbytes", "rules", "statistics", "histogram",
        "quantized", "block",
    }  # fmt: skip
    assert shape["block"].keys() == {"block", "start", "shape", "scale", "codes", "decoded"}
    assert shape["quantized"].keys() == {
        "scheme", "nbytes", "bits_per_weight", "grid", "scales", "global_scale", "report",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("enc.weigth",), 2),
        ((), 2),
        (("enc.weight", "--bits"), 2),
        (("enc.weight", "-s", "nvfp4", "--block", "8,0"), 2),
        (("enc.weight", "-s", "nvfp4", "--block", "0"), 2),
        (("enc.weight", "-s", "nvfp4", "--block", "a"), 2),
        (("enc.weight", "-s", "nvfp5"), 3),
        (("ids", "-s", "int8"), 3),
    ],
)
def test_inspect_refuses_what_is_not_there(run, model, words, code):
    assert run("inspect", model, *words)[0] == code


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((0, 3)),
        np.array(1.5),
        np.array([np.nan, np.inf, -np.inf]),
        np.full(5, 2.0),
        np.array([-1.7e308, 1.7e308]),
        np.array([1.0, np.nextafter(1.0, 2)]),
        np.array([5e-324, 1e-323]),
        np.array([1 + 2j, 3j]),
        np.array([True, False]),
        np.array([-(2**63), 2**63 - 1]),
        np.zeros((2, 2, 2, 2)),
    ],
    ids=str,
)
def test_awkward_tensors_have_a_portrait(x):
    facts = statistics(x)
    counts, lines = histogram(x)
    assert sum(counts["counts"]) == facts["elements"] - facts["nan"] - facts["infinite"]
    assert counts["edges"] == sorted(counts["edges"])
    assert lines
    assert corner(x)


def test_a_portrait_drawn_in_pieces_is_that_of_the_whole():
    x = np.random.default_rng(2).normal(size=(3, 300_001))
    x[1, 5], x[2, 7], x[0, 0] = np.nan, np.inf, 0
    finite = x[np.isfinite(x)]
    facts, (counts, _) = statistics(x), histogram(x)
    assert (facts["nan"], facts["infinite"], facts["zeros"]) == (1, 1, 1)
    assert (facts["min"], facts["max"]) == (finite.min(), finite.max())
    assert facts["mean"] == pytest.approx(finite.mean(), rel=1e-9, abs=1e-12)
    assert facts["std"] == pytest.approx(finite.std(), rel=1e-12)
    assert np.abs(np.array(counts["counts"]) - np.histogram(finite, bins=counts["edges"])[0]).max() <= 2


def test_schemes_lists_every_preset_with_its_size(document, run):
    rows = document("schemes")["presets"]
    assert [row["name"] for row in rows] == list(qcore.PRESETS)
    assert {row["name"]: row["bits_per_weight"] for row in rows}["int4-b32"] == 4.5
    assert "q8s/native/b32:f16" in run("schemes")[1]


@pytest.mark.parametrize(
    "text", [*qcore.PRESETS, "q4f/lookup:nf4/b2x16:f16", "e5m2/native/t:f32", "q8f/u32:1", "fp8"]
)
def test_every_scheme_is_explained(document, run, text):
    found = document("schemes", "explain", text)
    assert found["debug"].startswith("QuantScheme {")
    assert list(found["places"]) == list(qcore.survey(text, (4096, 4096)))
    assert found["scheme"] in run("schemes", "explain", text)[1]


def test_check_ends_with_three_on_any_refusal(run, document, model):
    assert run("check", "--shape", "64,64", "--scheme", "int4-b32", "--on", "gguf")[0] == 0
    code, out, _ = run("check", "--shape", "40x41", "-s", "int4-b32", "--on", "gguf")
    assert code == 3
    assert "error[unsupported-scheme]: [40x41] 40x41:" in out
    found = document("check", model, "--scheme", "q8s/u32:1", "--on", "cpu", code=3)
    assert {row["name"]: row["ok"] for row in found["tensors"]} == {
        "enc.bias": False,
        "enc.weight": True,
        "half": True,
    }
    assert found["tensors"][0]["refusals"] or found["tensors"][1]["refusals"]


def test_check_says_what_quantize_would_say(run, model):
    _, checked, _ = run("check", model, "--scheme", "q8s/u32:1", "--on", "cpu")
    _, _, quantized = run("quantize", model, "-o", "x.npz", "--scheme", "q8s/u32:1")
    message = quantized.splitlines()[0].split(": ", 2)[2]
    assert message in checked


def test_check_without_a_place_asks_them_all(document, model):
    found = document("check", model, "--scheme", "nvfp4")
    assert list(found["places"]) == list(qcore.survey("nvfp4", (8, 64)))
    assert found["places"]["cpu"] == {"op": "quantize", "fine": 3, "refused": []}


def test_check_needs_a_file_or_a_shape_and_a_float(run, model, tmp_path):
    assert run("check", model, "--shape", "4", "-s", "int8")[0] == 2
    qcore.save(tmp_path / "i.npy", {"i": np.arange(3)})
    assert run("check", "i.npy", "-s", "int8")[0] == 2


def test_every_error_has_a_page(run):
    for code in errors.CATALOG:
        got, out, _ = run("explain", code)
        assert got == 0
        assert out.startswith(f"error[{code}]")
    listed = run("explain")[1]
    assert all(code in listed for code in errors.CATALOG)


def test_limits_are_listed(document, run):
    assert {row["name"] for row in document("limits")["limits"]} == set(qcore.formats.LIMITS)
    assert "safetensors-header" in run("limits")[1]


def test_doctor_tells_versions_levels_and_threads(document):
    facts = document("doctor")["facts"]
    assert facts["qcore"] == qcore.__version__
    assert facts["numpy"] == np.__version__
    assert facts["cpu kernels"].startswith("level ")
    assert "for qcore" in facts["threads"]


def test_doctor_names_another_distribution_that_brings_qcore(run, tmp_path, monkeypatch):
    for name, files in {
        "qcore": {"top_level.txt": "qcore\n"},
        "other": {"RECORD": "qcore/__init__.py,,\n"},
    }.items():
        info = tmp_path / "site" / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        for file, text in files.items():
            (info / file).write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert doctor.other_distributions() == ["other", "qcore"]
    code, out, _ = run("doctor")
    assert code == 5
    assert "the distribution qcore installs an import package named qcore, too" in out
    assert "pip uninstall other qcore" in out


def test_the_demo_compares_a_dozen_schemes_on_real_weights(run, document):
    code, out, _ = run("demo", "minilm_l0_query")
    assert code == 0
    assert "int4-b32" in out
    rows = document("demo")["rows"]
    assert len(rows) == 2 * len(demo._PRESETS)
    assert len(demo._PRESETS) >= 12
    assert keys(rows[0]).keys() == {
        "sample", "preset", "scheme", "implies", "bits_per_weight", "nbytes", "sqnr_db", "max_abs",
        "loads", "milliseconds", "equal_bytes",
    }  # fmt: skip
    by_preset = {row["preset"]: row for row in rows if row["sample"] == "minilm_l0_query"}
    assert (
        by_preset["int8-b32"]["sqnr_db"] > by_preset["int4-b32"]["sqnr_db"] > by_preset["int2-b32"]["sqnr_db"]
    )
    assert by_preset["int4-b32"]["bits_per_weight"] == 4.5


def test_the_demo_gives_the_same_numbers_on_every_backend(document):
    def numbers(backend):
        rows = document("demo", "minilm_l0_query", "--backend", backend)["rows"]
        return [{key: row[key] for key in row if key != "milliseconds"} for row in rows]

    assert json.dumps(numbers("cpu")) == json.dumps(numbers("reference"))
