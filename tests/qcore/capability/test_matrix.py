"""The support matrix of Burn's backends, row by row, as it was read from their sources."""

import itertools

import pytest

import qcore
from qcore.capability import TABLE

SHAPE = (64, 128)
BURN_GPU = ("burn-cuda", "burn-wgpu", "burn-metal", "burn-vulkan", "burn-cubecl")
INTEGERS = ("q8f", "q8s", "q4f", "q4s", "q2f", "q2s")
SUB_BYTE = INTEGERS[2:]
MINIFLOATS = ("e4m3", "e5m2", "e2m1")
FINE = "fine"
MISREAD = "would misread"
D2 = "lookup-does-not-travel"
D3 = "quantize-unsupported-scheme"
D4 = "from-data-unsupported-scheme"

# (operation, texts of schemes, burn-ndarray, burn-flex, burn-cubecl); an answer is FINE, MISREAD or a code
ROWS = [
    # quantize
    ("quantize", [f"{v}/native/lookup" for v in INTEGERS], D3, MISREAD, "unsupported-scheme"),
    ("quantize", ["q8f/u32/lookup", "q4s/u32/lookup/b32:f16"], D3, MISREAD, "unsupported-scheme"),
    ("quantize", ["q8f/native", "q8s/native", "q8s/native/t:f16", "q8f/native/t:bf16"], FINE, FINE, FINE),
    ("quantize", ["q2s/native"], FINE, FINE, "native-sub-byte"),
    ("quantize", ["q4f/native", "q4s/native", "q2f/native"], D3, FINE, "native-sub-byte"),
    ("quantize", [f"{v}/u32/t:f32" for v in INTEGERS], D3, FINE, FINE),
    ("quantize", [f"{v}/u32:1/t:f32" for v in INTEGERS], D3, FINE, FINE),
    ("quantize", ["q8f/native/b32:f32", "q8s/native/b2x16:f16"], FINE, FINE, FINE),
    ("quantize", ["q8s/native/b32:f16/t:f32"], FINE, FINE, FINE),
    ("quantize", [f"{v}/native/b32:f32" for v in SUB_BYTE], D3, FINE, "native-sub-byte"),
    ("quantize", ["q2s/native/b32:f16/t:f32"], D3, FINE, "native-sub-byte"),
    ("quantize", [f"{v}/u32/b32:f16" for v in INTEGERS], D3, FINE, FINE),
    ("quantize", ["q8s/u32/b2:f32", "q4f/u32/b4:f32", "q2s/u32/b8:f32"], D3, FINE, "block-not-packed"),
    ("quantize", [f"{v}/packed" for v in INTEGERS], D3, "native-packing-unsupported", "native-packing-unsupported"),
    ("quantize", ["e4m3/native", "e5m2/native", "e4m3/u32", "e5m2/u32/b32:f16"], D3, MISREAD, MISREAD),
    ("quantize", ["e2m1/u32"], D3, MISREAD, MISREAD),
    ("quantize", ["e2m1/native"], D3, MISREAD, "native-sub-byte"),
    ("quantize", ["e2m1/packed", "nvfp4"], D3, MISREAD, "unsupported-scheme"),
    ("quantize", ["q8s/native/t:ue8m0", "q8s/native/b32:ue8m0"], *("ue8m0-unsupported",) * 3),
    ("quantize", ["q8s/native/b32:f32/t:f32", "q8s/native/b32:bf16/t:f32"], *("two-level-block-dtype", MISREAD),
     "two-level-block-dtype"),
    ("quantize", ["q8s/native/b32:f16/t:f16", "q8s/native/b32:ue4m3/t:bf16"], *("global-scale-not-f32",) * 3),
    # load
    ("load", ["q8s/native/lookup", "q4f/u32/lookup"], D4, MISREAD, D2),
    ("load", ["q8f/native", "q8s/native/b32:f16", "q8f/u32", "q8s/u32/b32:f32"], FINE, FINE, FINE),
    ("load", ["q8s/native/b2x16:f16/t:f32"], FINE, FINE, FINE),
    ("load", ["q8s/u32:1", "q8f/u32:1/b32:f16"], "packing-not-innermost", "packing-not-innermost", MISREAD),
    ("load", ["q8s/packed", "q8f/packed"], *("native-packing-unsupported",) * 3),
    ("load", [f"{v}/native" for v in SUB_BYTE], D4, FINE, "native-sub-byte"),
    ("load", [f"{v}/u32/b32:f16" for v in SUB_BYTE], D4, FINE, FINE),
    ("load", ["e4m3/native", "e5m2/native/b32:f16"], D4, MISREAD, FINE),
    ("load", ["e2m1/native"], D4, MISREAD, "native-sub-byte"),
    ("load", [f"{v}/u32" for v in MINIFLOATS], D4, "unsupported-scheme", FINE),
    ("load", ["e2m1/packed", "e2m1/packed/b16:f16"], D4, "unsupported-scheme", MISREAD),
    ("load", ["q8s/native/b32:ue8m0", "q8s/native/t:ue8m0"], *("ue8m0-unsupported",) * 3),
    # strategy and dequantize
    ("strategy", ["q8s/native/lookup", "q4f/u32/lookup/b32:f16"], "lookup-not-on-ndarray", MISREAD, FINE),
    ("dequantize", ["q8s/native/lookup"], "lookup-not-on-ndarray", MISREAD, "lookup-needs-u32"),
    ("dequantize", ["q4f/u32/lookup/b32:f16"], "lookup-not-on-ndarray", MISREAD, "unsupported-scheme"),
    ("dequantize", ["q8s/native", "q8s/u32/b32:f16"], FINE, FINE, FINE),
    ("dequantize", ["q4s/u32"], FINE, FINE, FINE),
    ("dequantize", ["e2m1/packed"], FINE, MISREAD, "unsupported-scheme"),
    ("flip", ["q8s/native", "q4s/u32"], FINE, FINE, "operation-not-implemented"),
]  # fmt: skip
CASES = [
    (op, text, on, answer)
    for op, texts, *answers in ROWS
    for text, (on, answer) in itertools.product(
        texts, zip(("burn-ndarray", "burn-flex", "burn-cubecl"), answers, strict=True)
    )
]


def answer_of(verdict: qcore.Verdict) -> str:
    if verdict:
        return FINE
    first = verdict.refusals[0]
    return MISREAD if first.variant == "misread" else first.code


@pytest.mark.parametrize(("op", "text", "on", "answer"), CASES)
def test_a_burn_backend_answers_as_its_source_says(op, text, on, answer):
    # a table is never what is missing here: Burn's backends refuse lookup itself
    verdict = qcore.check(qcore.QuantScheme.parse(text), SHAPE, op=op, on=on, codebook="lookup" in text)
    assert answer_of(verdict) == answer, verdict


@pytest.mark.parametrize(("op", "text", "on", "answer"), [case for case in CASES if case[2] == "burn-cubecl"])
def test_what_runs_on_cubecl_answers_alike(op, text, on, answer):
    del on
    for device in BURN_GPU:
        verdict = qcore.check(
            qcore.QuantScheme.parse(text), SHAPE, op=op, on=device, codebook="lookup" in text
        )
        assert answer_of(verdict) == answer, verdict


@pytest.mark.parametrize("op", ["quantize", "load", "dequantize"])
@pytest.mark.parametrize("text", ["q8s/native/t:ue4m3", "q8s/u32/b32:ue4m3/t:f32"])
def test_a_ue4m3_scale_is_nan_under_wgsl_and_so_not_portable(op, text):
    answers = {device: answer_of(qcore.check(text, SHAPE, op=op, on=device)) for device in BURN_GPU}
    assert answers == {
        device: MISREAD if device in ("burn-wgpu", "burn-cubecl") else FINE for device in BURN_GPU
    }


def test_what_burn_cubecl_takes_is_what_all_of_its_devices_take():
    for (op, texts, *_), shape in itertools.product(ROWS, [SHAPE, (3, 6), None]):
        for text in texts:
            scheme = qcore.QuantScheme.parse(text)
            answers = [bool(qcore.check(scheme, shape, op=op, on=device)) for device in BURN_GPU[:-1]]
            assert bool(qcore.check(scheme, shape, op=op, on="burn-cubecl")) is all(answers)


RAGGED = [
    # operation, scheme, shape, explicit params, burn-ndarray, burn-flex, burn-cubecl
    ("quantize", "q8s/native/b4:f32", (2, 5), False, "not-divisible", FINE, "not-divisible"),
    ("quantize", "q8s/native/b4:f32", (2, 5), True, FINE, FINE, "not-divisible"),
    ("quantize", "q8f/u32", (3, 2), False, D3, FINE, "u32-line"),
    ("quantize", "q8f/u32:1", (4, 2), False, D3, FINE, "u32-line"),
    ("quantize", "q8f/u32:1", (2, 4), False, D3, FINE, FINE),
    ("load", "q8s/u32", (3, 6), False, FINE, "u32-line", "u32-line"),
    ("load", "q4s/u32", (4, 12), False, D4, "u32-line", "u32-line"),
    ("load", "q4s/u32", (4, 16), False, D4, FINE, FINE),
    ("load", "q2f/u32", (4, 24), False, D4, "u32-line", "u32-line"),
    ("load", "q4s/u32/b32x1:f16", (64, 64), False, D4, FINE, "block-not-packed"),
    ("load", "q8s/native/b32x1:f16", (64, 64), False, FINE, FINE, FINE),
    ("load", "q8s/native/b64:f16", (4, 96), False, FINE, FINE, "not-divisible"),
    ("load", "q8s/native", (), False, FINE, FINE, FINE),
]


@pytest.mark.parametrize(("op", "text", "shape", "params", "ndarray", "flex", "cubecl"), RAGGED)
def test_lines_and_blocks_that_do_not_come_out_even(op, text, shape, params, ndarray, flex, cubecl):
    for on, answer in (("burn-ndarray", ndarray), ("burn-flex", flex), ("burn-cubecl", cubecl)):
        verdict = qcore.check(text, shape, op=op, on=on, params=params)
        assert answer_of(verdict) == answer, verdict


FORMATS = [
    # scheme, shape, gguf, compressed-tensors, vllm
    ("q8s/native/b32:f16", (64, 96), True, True, True),
    ("q8f/u32/b32:f16", (64, 96), True, True, True),
    ("q4f/u32/b32:f16", (64, 96), True, True, True),
    ("q4s/native/b32:f16", (64, 96), True, True, True),
    ("q4s/u32/b128:bf16", (64, 256), False, True, True),
    ("q4s/u32/b192:bf16", (64, 384), False, True, False),
    ("q2s/u32/b32:f16", (64, 96), False, True, False),
    ("q8s/native/t:f32", (64, 96), False, True, True),
    ("q4s/u32/t:f32", (64, 96), False, False, False),
    ("e4m3/native/t:f32", (64, 96), False, True, True),
    ("e4m3/native/b128x128:f32", (200, 300), False, True, True),
    ("e5m2/native/t:f32", (64, 96), False, False, False),
    ("mxfp8", (64, 96), False, True, False),
    ("mxfp4", (64, 96), True, True, True),
    ("nvfp4", (64, 128), True, True, True),
    ("nvfp4", (64, 96), False, True, True),
    ("e2m1/packed/b16:ue4m3", (64, 128), True, False, False),
    ("nf4", (64, 128), False, False, False),
    ("q8s/native/b32:f16", (64, 100), False, False, False),
    ("q8s/native/b32:f16", (96,), True, False, False),
    ("q8s/native/b32:f16", (2, 2, 2, 2, 32), False, False, False),
    ("q8s/native/b2x16:f16", (64, 96), False, False, False),
    ("q8s/packed/b32:f16", (64, 96), False, False, False),
]


@pytest.mark.parametrize(("text", "shape", "gguf", "ct", "vllm"), FORMATS)
def test_an_exchange_format_takes_the_forms_it_has(text, shape, gguf, ct, vllm):
    for on, wanted in (("gguf", gguf), ("compressed-tensors", ct), ("vllm", vllm)):
        verdict = qcore.check(text, shape, op="load", on=on)
        assert bool(verdict) is wanted, verdict


@pytest.mark.parametrize("on", ["gguf", "compressed-tensors", "vllm"])
def test_a_format_is_only_loaded(on):
    verdict = qcore.check("q8s/native/b32:f16", op="quantize", on=on)
    assert verdict.refusals[0].code == "operation-not-implemented"
    assert verdict.refusals[0].params == {"operation": "quantize", "backend": on}


@pytest.mark.parametrize("name", ["burn-int8", "burn-int4"])
def test_the_portable_presets_load_on_every_burn_target(name):
    for row in TABLE.values():
        if row.name.startswith("burn-"):
            verdict = qcore.check(name, (48, 96), op="load", on=row.name)
            assert bool(verdict) is not (name == "burn-int4" and row.name == "burn-ndarray"), verdict
