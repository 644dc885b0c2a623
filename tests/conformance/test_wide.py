"""Tensors wide enough for the vector bodies of the kernels, and bytes nobody wrote: cpu equals reference."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import oracle
import pytest
from matrix import STORES, exactly_equal, expected_refusal, table_for
from oracle import Fields

import qcore

SHAPE = (37, 1030)
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
BLOCKS = (None, (32,), (16,), (7,), (255,), (7, 100), (37, 1), (64, 255))
LEVELS = (("f32", None), ("f16", None), ("ue8m0", None), ("ue4m3", "f32"), ("bf16", None))


def weights(dtype: str) -> np.ndarray:
    rng = np.random.default_rng(11)
    x = rng.normal(size=SHAPE) * np.exp2(rng.integers(-6, 7, SHAPE))
    x[5], x[:, 32:64] = 0, 0
    return x.astype(DTYPES[dtype])


def assert_same(q: qcore.QTensor, wanted: qcore.QTensor, what: str) -> None:
    exactly_equal(q.values, wanted.values, what)
    exactly_equal(q.scales, wanted.scales, what)
    assert q.global_scale == wanted.global_scale, what


def options(fields: Fields) -> dict[str, Any]:
    return {"codebook": qcore.Codebook(table_for(fields.value))} if fields.lookup else {}


def legal(value: str, store: str, lookup: bool) -> list[Fields]:
    found = []
    for number, block in enumerate(BLOCKS):
        dtype, tensor = LEVELS[(number + len(store) + len(value)) % len(LEVELS)]
        block_dtype, level = (dtype, tensor) if block is not None else ("f32", dtype)
        fields = Fields(value, store, lookup, block, block_dtype, level)
        if expected_refusal(fields, SHAPE, "quantize", "cpu") is None:
            found.append(fields)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("value", oracle.VALUES)
def test_wide_tensors_of_every_dtype_agree(value: str, store: str, dtype: str) -> None:
    x = weights(dtype)
    for lookup in (False, True):
        for number, fields in enumerate(legal(value, store, lookup)):
            asked = options(fields) | {"scale_rounding": ("up", "nearest")[number % 2]}
            asked |= {"rounding": ("half-away", "half-even")[number // 2 % 2]}
            what = f"{fields.text} {asked['scale_rounding']} {asked['rounding']}"
            wanted = qcore.quantize(x, fields.text, backend="reference", **asked)
            found = qcore.quantize(x, fields.text, threads=1 + number % 3, **asked)
            assert_same(found, wanted, what)
            exactly_equal(found.dequantize(DTYPES[dtype]), wanted.dequantize(DTYPES[dtype]), what)
            turned = qcore.quantize(x.T, fields.text, **asked)
            assert_same(turned, qcore.quantize(x.T, fields.text, backend="reference", **asked), what)


def any_bytes(fields: Fields, shape: tuple[int, ...]) -> qcore.TensorData:
    """Random values, random scale bits: NaN, infinite, negative and subnormal scales among them."""
    scheme = qcore.QuantScheme.parse(fields.text)
    length = qcore.quantized_data_len(scheme, shape)
    raw = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8)
    level = 4 * fields.two_level
    nbytes = math.prod(scheme.params_shape(shape)) * scheme.scale_dtype.nbytes
    scales = raw[length - level - nbytes : length - level]
    if scheme.scale_dtype.nbytes == 1:
        scales[: min(256, nbytes)] = np.arange(min(256, nbytes))
    bits = scheme.value.bits
    if scheme.store.is_native and bits < 8:
        # more than the bits is refused, so every byte is one that the type has: sign-extended, or unsigned
        values = raw[: length - level - nbytes]
        values &= (1 << bits) - 1
        if scheme.value.is_integer and not scheme.is_lookup:
            values[:] = (values ^ (1 << (bits - 1))) - (1 << (bits - 1))
    return qcore.TensorData(raw.tobytes(), shape, scheme)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("value", oracle.VALUES)
def test_bytes_nobody_wrote_decode_alike(value: str, store: str) -> None:
    for lookup in (False, True):
        for block in (None, (4,), (3, 7)):
            for dtype, tensor in LEVELS:
                fields = (
                    Fields(value, store, lookup, block, dtype, tensor)
                    if block
                    else Fields(value, store, lookup, tensor=dtype)
                )
                shape = (19, 77)
                if expected_refusal(fields, shape, "load", "cpu"):
                    continue
                data = any_bytes(fields, shape)
                found, wanted = (
                    qcore.from_data(data, backend=b, **options(fields)) for b in ("cpu", "reference")
                )
                np.testing.assert_array_equal(found.codes, wanted.codes)
                for out in (np.float32, np.float16, ml_dtypes.bfloat16, np.float64):
                    with np.errstate(all="ignore"):
                        ours, theirs = found.dequantize(out), wanted.dequantize(out)
                    number = ~np.isnan(theirs.astype(np.float64))
                    np.testing.assert_array_equal(~np.isnan(ours.astype(np.float64)), number)
                    assert ours[number].tobytes() == theirs[number].tobytes(), (
                        f"{fields.text} {np.dtype(out)}"
                    )
                assert found.to_data() == data


@pytest.mark.parametrize("exponent", [-149, -130, -126, -20, 0, 20, 100, 127])
def test_scales_at_both_ends_of_float32_agree(exponent: int) -> None:
    rng = np.random.default_rng(exponent + 200)
    x = np.exp2(exponent + rng.uniform(-4, 0.9999, (8, 96))).astype(np.float32) * rng.choice(
        [-1, 1], (8, 96)
    ).astype(np.float32)
    for value in oracle.VALUES:
        for dtype, tensor in (*LEVELS, ("f16", "f32")):
            fields = Fields(value, "native", False, (16,), dtype, tensor)
            answer = oracle.quantize(x, fields)
            for backend in ("cpu", "reference"):
                q = qcore.quantize(x, fields.text, backend=backend)
                np.testing.assert_array_equal(q.codes, answer.codes, err_msg=fields.text)
                exactly_equal(np.asarray(q.scales).astype(np.float32), answer.scales, fields.text)
                assert np.isfinite(answer.scales).all()
                np.testing.assert_array_equal(q.dequantize(), answer.decoded, err_msg=fields.text)
