"""Element and scale formats against ml_dtypes and a brute-force nearest search."""

from functools import cache

import numpy as np
import pytest
from matrix import exactly_equal
from peer_data import load

import qcore

BACKENDS = ("cpu", "reference")
FORMATS = {"e4m3": ("e4m3fn", 448.0), "e5m2": ("e5m2", 57344.0), "e2m1": ("e2m1", 6.0)}
ONE = qcore.QuantParams(scales=[1.0])


@cache
def encoded(value: str, backend: str) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    data = load(f"encode_{FORMATS[value][0]}")
    x = data["x"]
    kept = np.isfinite(x)
    q = qcore.quantize(x[kept], f"{value}/native/t:f32", params=ONE, backend=backend)
    return x[kept], q.codes, {key: array[kept] for key, array in data.items()}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", FORMATS)
def test_codes_equal_ml_dtypes_in_range_and_saturate_beyond(value: str, backend: str) -> None:
    x, codes, data = encoded(value, backend)
    top = FORMATS[value][1]
    inside = np.abs(x) <= top
    assert inside.sum() > 15000
    np.testing.assert_array_equal(codes[inside], data["code_mldtypes"][inside])
    np.testing.assert_array_equal(codes, data["code_sat"])
    limit = load("decode_tables")[FORMATS[value][0]]
    np.testing.assert_array_equal(limit[codes[~inside]], np.copysign(np.float32(top), x[~inside]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", FORMATS)
def test_infinities_saturate_and_nan_is_the_zero_code(value: str, backend: str) -> None:
    data = load(f"encode_{FORMATS[value][0]}")
    special = ~np.isfinite(data["x"])
    x = data["x"][special]
    infinite = np.isinf(x)
    q = qcore.quantize(x, f"{value}/native/t:f32", params=ONE, backend=backend, nonfinite="saturate")
    np.testing.assert_array_equal(q.codes[infinite], data["code_sat"][special][infinite])
    assert not q.codes[~infinite].any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [*FORMATS, "q4f", "q2f"])
def test_every_code_decodes_to_its_value(value: str, backend: str) -> None:
    name = {"q4f": "int4", "q2f": "int2"}.get(value) or FORMATS[value][0]
    table = load("decode_tables")[name]
    codes = np.arange(table.size)
    if value.startswith("q"):
        codes = np.where(codes < table.size // 2, codes, codes - table.size)
    data = qcore.TensorData.quantized(codes, (table.size,), f"{value}/native/t:f32", [1.0])
    found = qcore.from_data(data, backend=backend).dequantize()
    np.testing.assert_array_equal(found, table)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(table[found == 0]))


def stored(scales: np.ndarray, dtype: str, rule: str, backend: str) -> np.ndarray:
    x = np.ones(scales.shape, np.float32)
    params = qcore.QuantParams(scales=scales)
    return qcore.quantize(
        x, f"e4m3/native/b1:{dtype}", params=params, scale_rounding=rule, backend=backend
    ).scales


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("dtype", "rule", "field"), [
    ("ue8m0", "up", "e8m0 code_sat_ceil"),
    ("ue8m0", "nearest", "e8m0 code_sat_nearest_tiesup"),
    ("ue8m0", "floor", "e8m0 code_sat_floor"),
    ("ue4m3", "nearest", "ue4m3 code_e4m3_sat"),
    ("f16", "nearest", "f16 code_sat"),
    ("bf16", "nearest", "bf16 code_sat"),
])  # fmt: skip
def test_stored_scales_equal_the_nearest_search(dtype: str, rule: str, field: str, backend: str) -> None:
    name, key = field.split()
    data = load(f"encode_{name}")
    x = data["x"]
    # the search floors what lies beyond the largest scale to the one below it; the rule saturates
    kept = np.isfinite(x) & (x > 0) & ((rule != "floor") | (x <= 2.0**127))
    found = stored(x[kept], dtype, rule, backend)
    exactly_equal(found.view(data[key].dtype), data[key][kept], field)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "ue4m3", "ue8m0"])
def test_rounding_up_is_one_step_above_nearest_or_equal_to_it(dtype: str, backend: str) -> None:
    x = load("encode_bf16")["x"]
    x = np.unique(np.abs(x[np.isfinite(x)]))[1:]
    up = stored(x, dtype, "up", backend).astype(np.float32)
    near = stored(x, dtype, "nearest", backend).astype(np.float32)
    top = np.float32(qcore.ScaleDtype(dtype).max_representable)
    assert ((up >= x) | (up == top)).all()
    width = np.uint8 if dtype.startswith("u") else np.uint16
    steps = stored(x, dtype, "up", backend).view(width).astype(int) - stored(
        x, dtype, "nearest", backend
    ).view(width)
    assert set(np.unique(steps)) <= {0, 1}
    assert ((near >= x) <= (up == near)).all()
