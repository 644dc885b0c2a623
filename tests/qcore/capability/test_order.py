"""Which refusal comes first, and that the data's own errors are no rules."""

import pytest

import qcore
from qcore.capability import Problem, backend_row, check_problem

OWN = ("cpu", "opencl", "reference")


def codes(scheme, shape=None, on="cpu", **question):
    problem = Problem(qcore.QuantScheme.parse(scheme), shape, **question)
    return [error.code for error in check_problem(problem, backend_row(on)).refusals]


# ---- cpu, opencl, reference ----

MEANINGLESS = [
    ("q8s/packed", None, "native-packing-unsupported"),
    ("q4f/packed/lookup", None, "native-packing-unsupported"),
    ("e4m3/native/lookup", None, "lookup-minifloat"),
    ("e2m1/packed/lookup", None, "lookup-minifloat"),
    ("q8s/native/b32:f16/t:f16", None, "global-scale-not-f32"),
    ("q8s/native/b2x16:f16", (64,), "block-rank"),
    ("q8s/native/b32:f16", (), None),
    ("q8s/native/b2x16:f16", (), "block-rank"),
    ("q8s/u32:1", (64,), "packing-axis"),
    ("q8s/u32", (), None),
    ("q8s/u32:1", (), "packing-axis"),
]


@pytest.mark.parametrize("on", OWN)
@pytest.mark.parametrize("op", ["quantize", "load", "dequantize", "strategy", "permute", "reshape", "flip"])
@pytest.mark.parametrize(("text", "shape", "code"), MEANINGLESS)
def test_what_means_nothing_is_refused_whatever_is_done_with_it(on, op, text, shape, code):
    found = codes(text, shape, on, op=op, codebook=True)
    found = [found for found in found if found != "table-without-lookup"]
    assert found[:1] == ([] if code is None else [code])


def test_the_meaningless_rules_have_an_order():
    assert codes("e4m3/packed:1/lookup/b2x16:f16/t:f16", (64,), codebook=True) == [
        "native-packing-unsupported",
        "lookup-minifloat",
        "global-scale-not-f32",
        "block-rank",
        "packing-axis",
        # those of the calibration would come after
    ]


def test_loading_a_lookup_without_its_table_is_said_before_all_else():
    assert codes("e4m3/packed/lookup/b32:f16/t:f16", op="load", on="opencl") == [
        "lookup-does-not-travel",
        "native-packing-unsupported",
        "lookup-minifloat",
        "global-scale-not-f32",
    ]
    assert codes("q4f/native/lookup", op="load", on="opencl") == ["lookup-does-not-travel", "native-sub-byte"]
    assert codes("q4f/native/lookup", op="load", on="opencl", codebook=True) == ["native-sub-byte"]
    assert codes("q4f/native/lookup", op="load", codebook=True) == []


def test_quantizing_asks_arguments_then_meaning_then_device_then_calibration_then_params():
    assert codes("e2m1/native/b32:bf16/t:f16", on="opencl", calibration="absmean", scale_rounding="even") == [
        "global-scale-not-f32",
        "native-sub-byte",
        "absmean-two-level",
        "two-level-block-dtype",
        "scale-rounding-needs-ue8m0",
    ]
    assert codes(
        "q4s/native/b32:f16/t:f32", on="opencl", params=True, global_given=False, calibration="mse"
    ) == [
        "params-and-calibration",
        "native-sub-byte",
        "missing-global-scale",
    ]
    assert codes("q8s/packed", dtype="I8")[0] == "input-dtype"


@pytest.mark.parametrize("dtype", ["f32", "bf16", "ue8m0"])
def test_calibrating_two_levels_needs_a_narrow_block_dtype_and_explicit_scales_do_not(dtype):
    text = f"q8s/native/b32:{dtype}/t:f32"
    for on in OWN:
        assert codes(text, on=on) == ["two-level-block-dtype"]
        assert codes(text, on=on, params=True, global_given=True) == []
        assert codes(text, on=on, op="load") == []


def test_a_global_scale_is_asked_for_exactly_where_there_are_two_levels():
    assert codes("q8s/native/b32:f16/t:f32", params=True, global_given=False) == ["missing-global-scale"]
    assert codes("q8s/native/b32:f16/t:f32", params=True) == []
    assert codes("q8s/native/b32:f16", params=True, global_given=True) == ["superfluous-global-scale"]
    assert codes("q8s/native/b32:f16", params=True, global_given=False) == []


def test_a_table_is_asked_for_exactly_where_something_is_looked_up():
    assert codes("q4f/u32/lookup") == ["lookup-needs-table"]
    assert codes("q4f/u32", codebook=True) == ["table-without-lookup"]
    assert codes("q4f/u32/lookup", op="dequantize") == []


@pytest.mark.parametrize("rule", ["floor", "even"])
def test_the_ocp_rules_take_ue8m0_scales_of_minifloats_only(rule):
    assert codes("e2m1/packed/b32:ue8m0", scale_rounding=rule) == []
    for text in ("q8s/native/b32:ue8m0", "e4m3/native/b32:f16", "e4m3/native/t:f32"):
        assert codes(text, scale_rounding=rule) == ["scale-rounding-needs-ue8m0"]


# ---- burn-ndarray ----


def test_quantize_on_burn_ndarray_keeps_burns_order():
    assert codes("e4m3/packed/b2x16:ue8m0/t:f16", (5,), "burn-ndarray", params=True, global_given=True) == [
        "ue8m0-unsupported",
        "quantize-unsupported-scheme",
        "native-packing-unsupported",
        "global-scale-not-f32",
        "block-rank",
    ]
    assert codes("q4s/native/b4:f16", (2, 5), "burn-ndarray", params=True, global_given=True) == [
        "superfluous-global-scale",
        "quantize-unsupported-scheme",
    ]
    assert codes("q8s/native/b4:f32/t:f32", (2, 5), "burn-ndarray", calibration="absmean", dtype="F64") == [
        "absmean-two-level",
        "not-divisible",
        "two-level-block-dtype",
        "ndarray-needs-f32",
    ]
    assert codes(
        "q8s/native/b4:f16/t:f32", (2, 5), "burn-ndarray", params=True, global_given=False, dtype="F16"
    ) == [
        "missing-global-scale",
        "ndarray-needs-f32",
    ]


def test_a_two_level_scheme_that_burn_ndarray_cannot_quantize_is_refused_as_such():
    found = codes("e4m3/native/b4:f16/t:f32", on="burn-ndarray", params=True, global_given=False)
    assert found[0] == "quantize-unsupported-scheme"
    assert codes("q4f/u32/lookup", on="burn-ndarray")[0] == "quantize-unsupported-scheme"


def test_from_data_on_burn_ndarray_keeps_burns_order():
    assert codes("q8s/packed:1", (4, 4), "burn-ndarray", op="load")[0] == "native-packing-unsupported"
    assert codes("q4s/packed", (4, 4), "burn-ndarray", op="load")[0] == "from-data-unsupported-scheme"
    assert codes("q8s/u32:1/lookup", (4, 4), "burn-ndarray", op="load")[0] == "from-data-unsupported-scheme"
    assert codes("q8s/u32:3", (4, 4), "burn-ndarray", op="load") == ["packing-not-innermost", "packing-axis"]


@pytest.mark.parametrize("op", ["strategy", "dequantize"])
def test_strategy_and_dequantize_on_burn_ndarray_refuse_lookup_only(op):
    assert codes("q4s/u32:1/lookup/b32:f16", (64, 64), "burn-ndarray", op=op) == ["lookup-not-on-ndarray"]
    for text in ("q4s/u32:1", "nvfp4", "e5m2/native", "q2f/native/b32:ue8m0"):
        assert codes(text, (64, 64), "burn-ndarray", op=op) == []
