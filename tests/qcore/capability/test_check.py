"""The public questions: words, hints, verdicts and surveys."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import qcore
from qcore import errors
from qcore.calibration import methods
from qcore.capability import TABLE, BackendRow, Problem, backend_row, check_problem, row_of, tied_scheme
from qcore.capability.problem import CALIBRATIONS, OPS

ANY = qcore.QuantScheme.parse("q8s/native/t:f32")


def test_a_verdict_is_true_or_knows_why_not():
    fine = qcore.check(ANY)
    assert fine
    assert fine.refusals == ()
    assert fine.demand() is None
    refused = qcore.check("q4s/native", on="opencl")
    assert not refused
    assert [error.code for error in refused.refusals] == ["native-sub-byte"]
    with pytest.raises(errors.UnsupportedSchemeError, match="Can't store native sub-byte values") as caught:
        refused.demand("encoder.weight")
    assert caught.value.tensor == "encoder.weight"


def test_raising_a_shared_verdict_leaves_no_trace_in_it():
    verdict = qcore.check("q4s/native", on="opencl")
    for _ in range(2):
        with pytest.raises(errors.QuantError):
            verdict.demand()
    assert verdict.refusals[0].__traceback__ is None
    assert qcore.check("q4s/native", on="opencl") is verdict


def test_a_verdict_survives_pickle_and_copy():
    verdict = qcore.check("q4s/native", on="opencl")
    assert pickle.loads(pickle.dumps(verdict)) == verdict == copy.deepcopy(verdict)


def test_a_verdict_shows_what_was_asked_and_what_to_do():
    fine, refused = qcore.check(ANY), qcore.check("q4s/native", on="opencl")
    assert repr(fine) == "<Verdict: quantize q8s/native/t:f32 on cpu is fine>"
    assert repr(refused) == (
        "<Verdict: quantize q4s/native on opencl is refused: [native-sub-byte] Can't store native sub-byte values>"
    )
    assert "fine" in fine._repr_html_()
    html = refused._repr_html_()
    assert "native-sub-byte" in html
    assert "Can&#x27;t store" in html
    assert "Stay on the cpu backend." in html


@pytest.mark.parametrize(
    ("word", "question"),
    [
        ("op", {"op": "sort"}),
        ("op", {"op": 3}),
        ("on", {"on": "gpu"}),
        ("on", {"on": 3}),
        ("on", {"on": "cpu@0.22"}),
        ("on", {"on": "burn-flex@"}),
        ("on", {"on": "burn-flex@no such version"}),
        ("calibration", {"calibration": "median"}),
        ("calibration", {"calibration": "percentile:0"}),
        ("calibration", {"calibration": "minmax:3"}),
        ("calibration", {"calibration": "percentile:x"}),
        ("dtype", {"dtype": "f24"}),
    ],
)
def test_an_unknown_word_is_named_with_the_choices(word, question):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        qcore.check(ANY, **question)
    assert caught.value.code == "unknown-name"
    assert caught.value.params["name"] == str(question[word])
    assert len(caught.value.params["choices"]) > 1


def test_an_unknown_backend_is_not_a_target():
    with pytest.raises(
        errors.InvalidSchemeError, match="unknown backend 'gguf', expected one of: cpu, opencl, "
    ):
        backend_row("gguf")
    for word in ("NDARRAY", "burn_ndarray", "ndarray"):
        assert backend_row(word).name == "burn-ndarray"


@pytest.mark.parametrize("shape", [(2, -1), "ab", (2.5,), 1.5, [None]])
def test_what_is_not_a_shape_is_refused(shape):
    with pytest.raises(errors.ShapeError) as caught:
        qcore.check(ANY, shape)
    assert caught.value.code == "shape-invalid"


@pytest.mark.parametrize("shape", [None, (), 5, [2, 3], (np.int64(2), 3), np.zeros((2, 3)).shape])
def test_a_shape_is_whatever_numpy_takes_for_one(shape):
    assert qcore.check(ANY, shape)


@pytest.mark.parametrize(
    "dtype", ["f32", "F64", "float16", "bf16", np.float32, np.dtype("float64"), "bfloat16"]
)
def test_float_dtypes_are_taken_under_any_name(dtype):
    assert qcore.check(ANY, dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "shown"), [("i8", "I8"), (np.uint16, "U16"), (np.dtype(bool), "bool"), (object, "object")]
)
def test_other_dtypes_are_refused_by_name(dtype, shown):
    refusals = qcore.check(ANY, dtype=dtype).refusals
    assert [error.code for error in refusals] == ["input-dtype"]
    assert refusals[0].params == {"dtype": shown}


def test_a_table_named_by_the_text_or_the_preset_counts_as_given():
    assert qcore.check("nf4")
    assert qcore.check(qcore.PRESETS["nf4"])
    assert qcore.check("q4f/u32/lookup:nf4/b64:f32")
    assert qcore.check("q4f/u32/lookup/b64:f32", codebook=True)
    assert qcore.check("q4f/u32/lookup/b64:f32", codebook=qcore.Codebook.nf4())
    assert not qcore.check("q4f/u32/lookup/b64:f32")
    assert not qcore.check(qcore.PRESETS["nf4"].scheme)


def test_a_calibration_given_wins_over_a_presets_and_only_a_given_one_conflicts_with_params():
    assert qcore.check("bitnet")
    assert qcore.check("bitnet", params=True)
    assert qcore.check("bitnet", params=True, calibration="mse").refusals[0].code == "params-and-calibration"
    assert qcore.check("nvfp4", calibration="absmean").refusals[0].code == "absmean-two-level"
    assert qcore.check("nvfp4", calibration="percentile:99")


def test_tied_rows_are_asked_about_with_the_blocks_they_repeat_over():
    assert str(tied_scheme(ANY, (8, 4096))) == "q8s/native/b128:f32"
    assert str(tied_scheme(ANY, (8, 257))) == "q8s/native/b1:f32"
    assert str(tied_scheme(ANY, (8, 0))) == "q8s/native/b1:f32"
    assert str(tied_scheme(ANY, ())) == "q8s/native/b1:f32"
    assert tied_scheme(ANY, None) is ANY
    assert qcore.check("int8-channel", (8, 4096), op="load", on="gguf").scheme == "q8s/native/b128:f32"


def test_a_version_may_follow_a_targets_name():
    verdict = qcore.check("nvfp4", (64, 64), op="load", on="burn-flex@0.22")
    assert verdict.on == "burn-flex@0.22"
    assert verdict.revision == row_of("burn-flex")[0].revision
    assert qcore.check(ANY, on="ndarray").on == "burn-ndarray"


def test_a_survey_asks_backends_to_quantize_and_targets_to_load_in_the_tables_order():
    answers = qcore.survey("q8s/native/t:f32", (64, 64))
    assert list(answers) == list(TABLE)
    order = (
        "cpu opencl burn-ndarray reference burn-flex burn-cuda burn-wgpu burn-metal burn-vulkan burn-cubecl"
    )
    assert " ".join(TABLE) == f"{order} gguf compressed-tensors vllm"
    for name, answer in answers.items():
        assert answer.op == ("quantize" if isinstance(TABLE[name], BackendRow) else "load")
        assert answer == qcore.check("q8s/native/t:f32", (64, 64), op=answer.op, on=name)
    assert answers["ndarray"] is answers["burn-ndarray"]
    assert "burn-flex: fine" in repr(answers)
    assert answers._repr_html_().count("<tr") == len(TABLE) + 1
    with pytest.raises(errors.InvalidSchemeError):
        answers["nowhere"]


def test_every_row_answers_every_operation_and_says_what_it_was_taken_from():
    for row in TABLE.values():
        assert set(row.rules) == set(OPS)
        assert row.summary
        assert row.revision
        assert row.survey_op in OPS
    assert {row.zero_substitute for row in TABLE.values() if isinstance(row, BackendRow)} == {
        0.0,
        float(np.float32(0.1)),
    }
    assert [row.name for row in TABLE.values() if getattr(row, "loads_native", False)] == ["burn-ndarray"]


def test_the_words_of_calibrations_are_those_of_their_table():
    words = [word for row in methods.CALIBRATIONS.values() for word in (row.name, *row.aliases)]
    assert sorted(CALIBRATIONS) == sorted(words)
    narrow = [row.name for row in methods.CALIBRATIONS.values() if not row.two_level]
    two = qcore.QuantScheme.parse("q8s/native/b32:f16/t:f32")
    refused = [
        word for word in CALIBRATIONS if not check_problem(Problem(two, calibration=word), backend_row("cpu"))
    ]
    assert refused == narrow


def test_asking_needs_no_numpy():
    code = "import sys, qcore; qcore.check('nvfp4', (4, 4)); qcore.survey('mxfp4'); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
