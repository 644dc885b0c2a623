import math
import pickle

import ml_dtypes
import numpy as np
import pytest

from qcore import errors
from qcore.scheme import QuantValue, ScaleDtype

ROWS = {
    # name: bits, lowest, highest, symmetric, native packing, half range
    "Q8F": (8, -128, 127, False, 1, 127.5),
    "Q8S": (8, -127, 127, True, 1, 127),
    "Q4F": (4, -8, 7, False, 1, 7.5),
    "Q4S": (4, -7, 7, True, 1, 7),
    "Q2F": (2, -2, 1, False, 1, 1.5),
    "Q2S": (2, -1, 1, True, 1, 1),
    "E4M3": (8, -448, 448, False, 1, 448),
    "E5M2": (8, -57344, 57344, False, 1, 57344),
    "E2M1": (4, -6, 6, False, 2, 6),
}
MINIFLOATS = {"E4M3": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2, "E2M1": ml_dtypes.float4_e2m1fn}


@pytest.mark.parametrize(("name", "row"), ROWS.items())
def test_a_value_has_the_numbers_of_its_row(name, row):
    v = QuantValue[name]
    assert (v.bits, v.lo, v.hi, v.is_symmetric, v.native_packing, v.half_range) == row
    assert v.span == v.hi - v.lo == 2 * v.half_range
    assert v.name == v.debug() == str(v) == name
    assert v.is_integer is not v.is_minifloat


def test_values_stand_in_burns_order():
    assert [v.name for v in QuantValue] == ["Q8F", "E5M2", "E4M3", "Q4F", "E2M1", "Q2F", "Q8S", "Q4S", "Q2S"]


@pytest.mark.parametrize(("name", "dtype"), MINIFLOATS.items())
def test_the_numbers_of_a_minifloat_are_those_of_ml_dtypes(name, dtype):
    v, info = QuantValue[name], ml_dtypes.finfo(dtype)
    assert (v.mbits, v.emin, v.hi) == (info.nmant, info.minexp, float(info.max))
    assert v.emax == math.frexp(float(info.max))[1] - 1
    assert v.bias == 1 - v.emin


def test_integers_have_no_mantissa_and_no_bias():
    assert {(v.mbits, v.emin, v.emax, v.bias) for v in QuantValue if v.is_integer} == {(0, 0, 0, 0)}


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("q8s", "Q8S"),
        ("Q8s", "Q8S"),
        (" int8 ", "Q8S"),
        ("INT4", "Q4S"),
        ("int2", "Q2S"),
        ("fp8", "E4M3"),
        ("fp4", "E2M1"),
        ("float8_e4m3fn", "E4M3"),
        ("float8-e5m2", "E5M2"),
        ("float4_e2m1fn", "E2M1"),
    ],
)
def test_the_names_of_the_field_are_understood(word, name):
    assert QuantValue(word) is QuantValue[name]


@pytest.mark.parametrize("wrong", ["q9", "", "f32", 8, None, True, ("Q8S",)])
def test_anything_else_is_a_documented_error(wrong):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantValue(wrong)
    assert caught.value.code == "unknown-name"
    assert "q8f" in caught.value.params["choices"]


@pytest.mark.parametrize("member", [*QuantValue, *ScaleDtype])
def test_members_survive_pickling_and_print_what_evaluates_to_them(member):
    assert pickle.loads(pickle.dumps(member)) is member
    assert eval(repr(member)) is member


SCALES = {
    # name: bytes, largest, smallest positive, NumPy dtype
    "F32": (4, 3.4028234663852886e38, 2.0**-149, np.float32),
    "F16": (2, 65504.0, 2.0**-24, np.float16),
    "BF16": (2, 3.3895313892515355e38, 2.0**-133, ml_dtypes.bfloat16),
    "UE8M0": (1, 2.0**127, 2.0**-127, ml_dtypes.float8_e8m0fnu),
    "UE4M3": (1, 448.0, 2.0**-9, ml_dtypes.float8_e4m3fn),
}


@pytest.mark.parametrize(("name", "row"), SCALES.items())
def test_a_scale_dtype_has_the_numbers_of_its_row(name, row):
    s = ScaleDtype[name]
    assert (s.nbytes, s.max_representable, s.smallest, s.numpy_dtype) == row
    assert s.numpy_dtype.itemsize == s.nbytes
    assert float(np.array(s.smallest).astype(s.numpy_dtype)) == s.smallest
    assert float(np.array(s.max_representable).astype(s.numpy_dtype)) == s.max_representable
    info = ml_dtypes.finfo(s.numpy_dtype)
    assert (s.mbits, s.emin) == (info.nmant, info.minexp)


@pytest.mark.parametrize(
    ("word", "name"),
    [("bf16", "BF16"), ("float16", "F16"), ("FP32", "F32"), ("e8m0", "UE8M0"), ("float8_e4m3fn", "UE4M3")],
)
def test_scale_dtypes_have_their_names_of_the_field(word, name):
    assert ScaleDtype(word) is ScaleDtype[name]


def test_an_unknown_scale_dtype_is_a_documented_error():
    with pytest.raises(
        errors.InvalidSchemeError, match="unknown scale dtype 'f8', expected one of: f32, f16, bf16"
    ):
        ScaleDtype("f8")
