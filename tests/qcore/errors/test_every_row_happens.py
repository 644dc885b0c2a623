"""Every documented error happens through the public API. Those of files, devices and cancelled work have tests of
their own, beside what raises them."""

import sys
from pathlib import Path

import numpy as np
import pytest

import qcore
from qcore import QuantParams, TensorData, errors
from qcore.formats.protocol import TensorInfo
from qcore.recipe import Recipe, Rule

RAMP = np.linspace(-1, 1, 64, dtype=np.float32)
TABLE = np.linspace(-1, 1, 16, dtype=np.float32)
TWO_LEVELS = "q8s/native/b32:f16/t:f32"
LOOKUP = "q4f/u32/lookup/b32:f16"


def quantize(scheme, x=RAMP, **options):
    """Quantize where no compiled kernel is needed; the rules are those of cpu."""
    return qcore.quantize(x, scheme, **{"backend": "reference"} | options)


def refused(scheme, shape=(64,), **question):
    qcore.check(scheme, shape, **question).demand()


def data(scheme, nbytes, shape=(64,)):
    return TensorData(bytes(nbytes), shape, scheme)


def weight(name):
    return TensorInfo(name, (64,), "float32", None, 256, (name,))


def lookup():
    return quantize(LOOKUP, codebook=TABLE)


class OnDevice:
    """What looks like a tensor of another library, on a GPU."""

    device = type("Device", (), {"type": "cuda", "__str__": lambda self: "cuda:0"})()
    dtype = "torch.float32"
    requires_grad = False

    def detach(self):
        return self


OnDevice.__module__ = "torch"
OnDevice.__name__ = OnDevice.__qualname__ = "Tensor"

HAPPENS = {
    # D1 to D5, R1 to R5
    "lookup-not-on-ndarray": [
        lambda: lookup().dequantize(backend="ndarray"),
        lambda: lookup().strategy(backend="burn-ndarray"),
    ],
    "lookup-does-not-travel": [lambda: qcore.from_data(lookup().to_data(), backend="reference")],
    "quantize-unsupported-scheme": [
        lambda: quantize("q4s/u32", backend="burn-ndarray"),
        lambda: quantize("q2s/native/b32:f16", backend="ndarray"),
        lambda: quantize("nvfp4", backend="ndarray"),
    ],
    "from-data-unsupported-scheme": [
        lambda: qcore.from_data(quantize("q4s/u32").to_data(), backend="ndarray"),
        lambda: lookup().to("burn-ndarray"),
    ],
    "missing-global-scale": [
        lambda: quantize(TWO_LEVELS, params=QuantParams([1.0, 1.0])),
        lambda: quantize(TWO_LEVELS, params=QuantParams([1.0, 1.0]), backend="ndarray"),
    ],
    "lookup-not-iterable": [lambda: list(lookup().to_data())],
    "native-sub-byte": [
        lambda: quantize("q4s/native", backend="opencl"),
        lambda: refused("q2f/native", op="load", on="burn-cubecl"),
    ],
    "native-packing-unsupported": [
        lambda: quantize("q8s/packed"),
        lambda: qcore.from_data(data("q8s/packed", 68), backend="ndarray"),
        lambda: qcore.pack([1, 2], "q4s", "packed"),
    ],
    "not-quantized-data": [lambda: qcore.from_data(TensorData(RAMP.tobytes(), (64,), "F32"))],
    "operation-not-implemented": [
        lambda: refused("q8s/u32", op="flip", on="burn-cubecl"),
        lambda: qcore.compute_qparams(RAMP, "q8_0"),
    ],
    # what a backend or target cannot do
    "packing-not-innermost": [
        lambda: qcore.from_data(data("q8s/u32:1", 68, (8, 8)), backend="ndarray"),
        lambda: refused("q4s/u32:1", (8, 8), op="load", on="burn-flex"),
    ],
    "ue8m0-unsupported": [
        lambda: quantize("q8s/native/b32:ue8m0", backend="ndarray"),
        lambda: refused("mxfp8", op="load", on="burn-cuda"),
    ],
    "u32-line": [
        lambda: refused("q4s/u32", (3, 3), op="load", on="burn-flex"),
        lambda: refused("q4s/u32", (3, 3), op="load", on="burn-cubecl"),
    ],
    "block-not-packed": [lambda: refused("q4s/u32/b4:f16", (8, 8), on="burn-cubecl")],
    "lookup-needs-u32": [lambda: refused("q4f/native/lookup", op="dequantize", on="burn-cubecl")],
    "unsupported-scheme": [
        lambda: refused("nf4", on="burn-cuda"),
        lambda: refused("nf4", op="load", on="burn-flex"),
        lambda: refused("e2m1/packed", op="load", on="burn-flex"),
        lambda: refused("q4s/u32", op="load", on="gguf"),
    ],
    "absmean-two-level": [lambda: quantize(TWO_LEVELS, calibration="absmean")],
    "two-level-block-dtype": [
        lambda: quantize("q8s/native/b32:f32/t:f32"),
        lambda: qcore.compute_qparams(RAMP, "q8s/native/b32:f32/t:f32"),
    ],
    # schemes, codebooks and words
    "scheme-text": [
        lambda: qcore.QuantScheme.parse("q8s/nowhere"),
        lambda: qcore.QuantScheme.from_dict({"value": "Q8S"}),
        lambda: quantize("q9"),
    ],
    "unknown-name": [
        lambda: qcore.PRESETS["nf5"],
        lambda: qcore.QuantValue("q9"),
        lambda: quantize("int8", backend="gpu"),
        lambda: quantize("int8", calibration="median"),
        lambda: quantize("int8", rounding="down"),
        lambda: quantize("int8", nonfinite="ignore"),
        lambda: quantize("int8", tied="column"),
        lambda: refused("int8", on="nowhere"),
    ],
    "block-cap": [lambda: qcore.BlockSize([2] * 6)],
    "block-extent": [lambda: qcore.BlockSize([0]), lambda: qcore.QuantScheme.parse("q8s/b256:f16")],
    "lookup-minifloat": [lambda: quantize("e2m1/u32/lookup/b32:f16", codebook=TABLE)],
    "global-scale-not-f32": [lambda: quantize("q8s/native/b32:f16/t:f16")],
    "scale-rounding-needs-ue8m0": [lambda: quantize("int8", scale_rounding="floor")],
    "params-and-calibration": [lambda: quantize("int8", params=QuantParams([1.0]), calibration="minmax")],
    "lookup-needs-table": [lambda: quantize(LOOKUP)],
    "table-without-lookup": [
        lambda: quantize("int8", codebook=TABLE),
        lambda: qcore.from_data(quantize("int8").to_data(), codebook=TABLE),
    ],
    "table-length": [lambda: quantize(LOOKUP, codebook=TABLE[:4])],
    "bad-codebook": [lambda: qcore.Codebook(TABLE[:15]), lambda: qcore.Codebook([0.0] * 4)],
    "code-out-of-range": [
        lambda: qcore.pack([8], "q4s", "u32"),
        lambda: TensorData.quantized([200], (1,), "q8s/native", [1.0]),
    ],
    "tied-needs-rows": [lambda: quantize("q8s/native/b2x16:f16", RAMP.reshape(4, 16), tied="row")],
    "option-value": [lambda: quantize("int8", threads=0)],
    # scales
    "superfluous-global-scale": [
        lambda: quantize("int8", params=QuantParams([1.0], 1.0)),
        lambda: quantize("int8", params=QuantParams([1.0], 1.0), backend="ndarray"),
    ],
    "global-scale-size": [lambda: quantize(TWO_LEVELS, params=QuantParams([1.0, 1.0], [1.0, 2.0]))],
    "wrong-scale-count": [
        lambda: quantize("int8", params=QuantParams([1.0, 1.0])),
        lambda: quantize("int8-b32", params=QuantParams([1.0] * 3)),
        lambda: quantize("int8-b32", params=QuantParams([1.0]), backend="ndarray"),
        lambda: TensorData.quantized([0] * 64, (64,), "q8s/native/b32:f16", [1.0] * 3),
    ],
    "negative-scale": [
        lambda: quantize("int8", params=QuantParams([-1.0])),
        lambda: quantize(TWO_LEVELS, params=QuantParams([1.0, 1.0], -1.0)),
    ],
    "non-finite-scale": [
        lambda: quantize("int8", params=QuantParams([np.nan])),
        lambda: quantize(TWO_LEVELS, params=QuantParams([1.0, 1.0], np.inf)),
    ],
    # data
    "data-short": [
        lambda: qcore.from_data(data("q8s/native", 3)),
        lambda: qcore.from_data(data("q8s/native", 60)),
        lambda: qcore.unpack(np.zeros(1, np.uint32), (9,), "q4s", "u32"),
    ],
    "global-short": [lambda: qcore.from_data(data(TWO_LEVELS, 3))],
    "block-scales-short": [lambda: qcore.from_data(data(TWO_LEVELS, 6))],
    "data-long": [lambda: qcore.from_data(data("q8s/native", 69))],
    "data-values-count": [lambda: TensorData.quantized([0] * 3, (4,), "q8s/native", [1.0])],
    "data-needs-global": [lambda: TensorData.quantized([0] * 64, (64,), TWO_LEVELS, [1.0, 1.0])],
    "data-superfluous-global": [lambda: TensorData.quantized([0], (1,), "q8s/native", [1.0], 1.0)],
    "data-value-type": [
        lambda: TensorData.quantized([0.5], (1,), "q8s/native", [1.0]),
        lambda: qcore.pack([0.5], "q8s", "u32"),
    ],
    # shapes and layout
    "block-rank": [lambda: quantize("q8s/native/b2x16:f16")],
    "packing-axis": [lambda: quantize("q8s/u32:1"), lambda: qcore.pack([1], "q8s", "u32:1")],
    "not-divisible": [lambda: quantize("q8s/native/b48:f16", backend="ndarray")],
    "would-split-block": [
        lambda: quantize("int8-b32", np.zeros((4, 48), np.float32)).reshape(192),
        lambda: quantize("int8-b32")[3:40],
    ],
    "axis-invalid": [lambda: quantize("int8").transpose(0, 0), lambda: quantize("int8").transpose(1)],
    "shape-invalid": [
        lambda: TensorData(b"", (-1,), "F32"),
        lambda: quantize("int8").reshape(3, 3),
        lambda: refused("int8", (-1,)),
    ],
    "index-invalid": [lambda: quantize("int8")[64], lambda: quantize("int8")[0, 0]],
    "shape-mismatch": [lambda: qcore.compare(RAMP[:3], quantize("int8"))],
    "concat-mismatch": [
        lambda: qcore.concat([]),
        lambda: qcore.concat([quantize("int8"), quantize("int4-b32")]),
    ],
    "array-needs-copy": [lambda: np.asarray(quantize("int8"), copy=False)],
    # inputs and outputs
    "input-dtype": [
        lambda: quantize("int8", np.arange(4)),
        lambda: quantize("int8", np.array(["a"])),
        lambda: quantize("int8", np.array([True])),
        lambda: refused("int8", dtype="i8"),
    ],
    "input-device": [lambda: quantize("int8", OnDevice())],
    "argument-type": [
        lambda: quantize(3),
        lambda: qcore.from_data(b""),
        lambda: quantize("int8", params=[1.0]),
    ],
    "ndarray-needs-f32": [lambda: quantize("int8", RAMP.astype(np.float64), backend="ndarray")],
    "out-dtype": [lambda: quantize("int8").dequantize(out=np.empty(64, np.float64))],
    "out-shape": [
        lambda: quantize("int8").dequantize(out=np.empty(63, np.float32)),
        lambda: quantize("int8").dequantize(out=np.broadcast_to(np.float32(0), 64)),
    ],
    "recipe-text": [
        lambda: Recipe.loads("version = 2"),
        lambda: Recipe.loads("version = 1\n[[rule]]\nmatch = '*'\naction = 'drop'"),
    ],
    "recipe-refused": [lambda: Recipe.of("q4s/u32/b2x32:f16").plan([weight("a"), weight("b")]).demand()],
    "recipe-tied-apart": [
        lambda: Recipe(rules=(Rule.of(match="a.wq", scheme="int8"),), ties=("qkv",))
        .plan([weight("a.wq"), weight("a.wk")])
        .demand()
    ],
    "non-finite": [
        lambda: quantize("int8", np.array([1, np.nan], np.float32)),
        lambda: quantize("int8-b32", np.array([1, np.inf, np.nan], np.float64)),
        lambda: quantize("int8", np.array([1, 1e300])),
    ],
}


@pytest.mark.parametrize(
    ("code", "action"),
    [
        pytest.param(code, action, id=f"{code}-{at}")
        for code, actions in HAPPENS.items()
        for at, action in enumerate(actions)
    ],
)
def test_an_error_happens_where_its_row_says(code, action):
    with pytest.raises(errors.QuantError) as caught:
        action()
    assert caught.value.code == code
    assert type(caught.value) is errors.CATALOG[code].family


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(errors.DeviceError, match="torch"):
        quantize("int8").to_torch()


def test_every_row_that_needs_no_file_and_no_device_happens():
    elsewhere = {
        code
        for name in ("rows_files", "rows_formats", "rows_device", "rows_opencl")
        for code in errors.CATALOG
        if f'code="{code}"' in (Path(errors.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    }
    assert set(errors.CATALOG) - elsewhere == set(HAPPENS)
