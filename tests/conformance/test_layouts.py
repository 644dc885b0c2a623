"""Any layout of the input gives the bytes of its contiguous native copy, and is left as it was."""

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import qcore

BACKENDS = ("cpu", "opencl", "reference", "burn-ndarray")
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SCHEMES = (
    "q8s/native/t:f32",
    "q8f/native/b16:f16",
    "q8s/native/b3x5:f32",
    "q4s/u32/b32:f16",
    "q4f/u32:1/b4x8:bf16",
    "q2f/u32/t:f32",
    "e2m1/packed/b16:ue4m3/t:f32",
    "e4m3/native/b32:ue8m0",
    "nf4",
)
SHAPE = (12, 64)


class Sub(np.ndarray):
    """A subclass that adds nothing."""


def unaligned(x: np.ndarray) -> np.ndarray:
    room = np.zeros(x.nbytes + 1, np.uint8)
    view = room[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def read_only(x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def with_gaps(x: np.ndarray) -> np.ndarray:
    room = np.full((x.shape[0] * 3, x.shape[1] * 2), np.nan, x.dtype)
    room[1::3, ::2] = x
    return room[1::3, ::2]


def odd_strides(x: np.ndarray) -> np.ndarray:
    """A unit axis in front whose stride means nothing."""
    return np.lib.stride_tricks.as_strided(x, (1, *x.shape), (12345 * x.itemsize, *x.strides))[0]


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "contiguous": lambda x: x,
    "fortran": np.asfortranarray,
    "sliced": with_gaps,
    "reversed rows": lambda x: x[::-1].copy()[::-1],
    "reversed columns": lambda x: x[:, ::-1].copy()[:, ::-1],
    "reversed both": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda x: x.T.copy().T,
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "swapped and strided": lambda x: with_gaps(x.astype(x.dtype.newbyteorder("S"))),
    "unaligned": unaligned,
    "read-only": read_only,
    "subclass": lambda x: x.view(Sub),
    "odd unit stride": odd_strides,
    "memoryview": memoryview,
    "masked nothing": lambda x: np.ma.MaskedArray(x).view(np.ndarray),
}
#: The buffer protocol has no bfloat16, and bfloat16 only comes in native order.
IMPOSSIBLE = {("memoryview", "bf16"), ("swapped bytes", "bf16"), ("swapped and strided", "bf16")}


def weights(dtype: str, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.random.default_rng(7).normal(size=shape).astype(DTYPES[dtype])


def parts(q: qcore.QTensor) -> tuple[bytes, tuple[int, ...], str]:
    return q.to_data().bytes, q.shape, str(q.scheme)


def schemes_of(backend: str, dtype: str) -> list[str]:
    if backend != "burn-ndarray":
        return list(SCHEMES)
    return [text for text in SCHEMES[:2] if dtype == "f32"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("layout", "dtype"), [pair for pair in itertools.product(LAYOUTS, DTYPES) if pair not in IMPOSSIBLE]
)
def test_any_layout_gives_the_bytes_of_the_contiguous_copy(layout: str, dtype: str, backend: str) -> None:
    plain = weights(dtype)
    given = LAYOUTS[layout](plain)
    before = np.asarray(given).tobytes()
    for text in schemes_of(backend, dtype):
        wanted = qcore.quantize(np.ascontiguousarray(plain), text, backend=backend)
        found = qcore.quantize(given, text, backend=backend)
        assert parts(found) == parts(wanted), text
        assert np.asarray(given).tobytes() == before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", SCHEMES)
def test_cpu_equals_reference_for_every_input_dtype(text: str, dtype: str) -> None:
    for shape in (SHAPE, (5, 33)):
        x = weights(dtype, shape)
        assert parts(qcore.quantize(x, text)) == parts(qcore.quantize(x, text, backend="reference"))
        assert parts(qcore.quantize(x, text)) == parts(qcore.quantize(x.astype(np.float32), text))


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
@pytest.mark.parametrize("text", SCHEMES)
def test_broadcast_input_gives_the_bytes_of_what_it_stands_for(text: str, backend: str) -> None:
    row = weights("f32", (1, 64))
    for given in (
        np.broadcast_to(row, SHAPE),
        np.broadcast_to(row[:, :1], SHAPE),
        np.broadcast_to(np.float32(0.3), SHAPE),
    ):
        wanted = qcore.quantize(np.ascontiguousarray(given), text, backend=backend)
        assert parts(qcore.quantize(given, text, backend=backend)) == parts(wanted)


def test_a_list_of_floats_is_float64() -> None:
    x = [[0.1, -0.25, 3.0], [1e-3, 0.0, -0.0]]
    assert parts(qcore.quantize(x, "q8s/native/b3:f32")) == parts(
        qcore.quantize(np.array(x), "q8s/native/b3:f32")
    )


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
@pytest.mark.parametrize("text", [t for t in SCHEMES if ":1" not in t])
def test_zero_size_tensors_have_no_codes(text: str, backend: str) -> None:
    for shape in ((0,), (0, 64), (3, 0), (2, 0, 32), (0, 0)):
        if "x" in text and len(shape) < 2:
            continue
        q = qcore.quantize(np.zeros(shape, np.float32), text, backend=backend)
        assert q.codes.shape == q.dequantize().shape == q.shape == shape
        assert q.codes.size == q.values.size == 0
        assert q.bits_per_weight == 0.0
        assert q.nbytes == len(q.to_data().bytes) == qcore.quantized_data_len(q.scheme, shape)
        if q.scheme.block_size is None:
            assert np.asarray(q.scales, np.float32).tolist() == [0.0]
        else:
            assert q.scales.size == 0
        assert qcore.from_data(q.to_data(), backend=backend, codebook=q.codebook).shape == shape


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
@pytest.mark.parametrize("value", [-2.5, 0.0, np.float32(7)])
def test_a_scalar_tensor_has_one_code(value: float, backend: str) -> None:
    for text in (
        "q8s/native/t:f32",
        "q4s/u32",
        "e2m1/packed/t:f16",
        "q8s/native/b1:f32",
        "q4f/u32/lookup:nf4/t:f32",
    ):
        q = qcore.quantize(np.array(value, np.float32), text, backend=backend)
        assert q.shape == q.codes.shape == q.dequantize().shape == ()
        assert q.values.shape == (1,)
        assert q.scales.shape == (() if "b1" in text else (1,))
        assert abs(float(q.dequantize()) - value) <= 0.01 * abs(value)


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
def test_unit_axes_change_nothing(backend: str) -> None:
    x = weights("f32", (6, 40))
    for text in ("q8s/native/b16:f32", "q4s/u32/b32:f16", "e2m1/packed/b16:ue4m3/t:f32", "q2s/u32"):
        wanted = qcore.quantize(x, text, backend=backend)
        for shape in ((1, 6, 40), (6, 1, 40), (1, 6, 1, 40), (1, 1, 1, 6, 40)):
            found = qcore.quantize(x.reshape(shape), text, backend=backend)
            assert found.to_data().bytes == wanted.to_data().bytes
        strided = np.lib.stride_tricks.as_strided(x, (6, 1, 40), (x.strides[0], 4444, x.strides[1]))
        assert qcore.quantize(strided, text, backend=backend).to_data().bytes == wanted.to_data().bytes


@pytest.mark.parametrize("given", [
    np.arange(6), np.array([True, False]), np.array([1 + 2j]), np.array(["a"]), np.array([1, None], object),
    np.array(["2024-01-01"], "M8[D]"), np.zeros(4, ml_dtypes.float8_e4m3fn), np.zeros(4, np.longdouble), [1, 2],
    object(),
], ids=lambda given: str(getattr(given, "dtype", type(given).__name__)))  # fmt: skip
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_no_float_is_refused_by_name(given: Any, backend: str) -> None:
    with pytest.raises(TypeError) as caught:
        qcore.quantize(given, "q8s/native/t:f32", backend=backend)
    assert caught.value.code == "input-dtype"


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16"])
def test_burn_ndarray_takes_float32_only(dtype: str) -> None:
    with pytest.raises(TypeError) as caught:
        qcore.quantize(weights(dtype), "q8s/native/t:f32", backend="burn-ndarray")
    assert caught.value.code == "ndarray-needs-f32"


def test_float64_is_rounded_once_and_overflow_is_infinite() -> None:
    x = np.array([1 + 2**-24 + 2**-50, -3.0, 1e-320, 0.1])
    wanted = qcore.quantize(x.astype(np.float32), "q8s/native/b1:f32")
    assert parts(qcore.quantize(x, "q8s/native/b1:f32")) == parts(wanted)
    with pytest.raises(qcore.errors.NonFiniteError) as caught:
        qcore.quantize(np.array([0.0, 1e39]), "q8s/native/t:f32")
    assert caught.value.params["index"] == 1
    assert "1e+39" in str(caught.value)


class TestOut:
    q = qcore.quantize(weights("f32"), "q4s/u32/b32:f16")

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_any_strides_and_dtype_are_written_through(self, dtype: str) -> None:
        wanted = self.q.dequantize().astype(DTYPES[dtype])
        for out in (
            np.zeros(SHAPE, DTYPES[dtype]),
            with_gaps(np.zeros(SHAPE, DTYPES[dtype])),
            np.zeros(SHAPE[::-1], DTYPES[dtype]).T,
        ):
            assert self.q.dequantize(dtype=None, out=out) is out
            np.testing.assert_array_equal(out, wanted)
            np.testing.assert_array_equal(self.q.dequantize(dtype=DTYPES[dtype]), wanted)

    @pytest.mark.parametrize(("out", "code"), [
        (np.zeros(SHAPE, np.int32), "out-dtype"),
        (np.zeros((3, 3), np.float32), "out-shape"),
        (read_only(np.zeros(SHAPE, np.float32)), "out-shape"),
        (np.broadcast_to(np.zeros(64, np.float32), SHAPE), "out-shape"),
    ])  # fmt: skip
    def test_what_does_not_fit_is_refused_before_writing(self, out: np.ndarray, code: str) -> None:
        before = out.tobytes()
        with pytest.raises(qcore.errors.QuantError) as caught:
            self.q.dequantize(dtype=None, out=out)
        assert caught.value.code == code
        assert out.tobytes() == before
