"""Inputs: what counts as floats, what is refused by name, and what is never touched."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qcore import errors
from qcore.tensor import arrays


class FakeTorch:
    """A tensor that behaves like torch's where qcore looks."""

    def __init__(
        self, array: np.ndarray, dtype: str, device: str = "cpu", stored: np.ndarray | None = None
    ) -> None:
        self.array, self.dtype, self.stored = array, dtype, stored
        self.device = SimpleNamespace(type=device, __str__=lambda: device)
        self.detached = False

    def detach(self) -> FakeTorch:
        self.detached = True
        return self

    def view(self, dtype: Any) -> FakeTorch:
        assert dtype in ("int16", getattr(sys.modules.get("torch"), "int16", "int16"))
        return FakeTorch(self.array.view(np.int16), "torch.int16")

    def numpy(self) -> np.ndarray:
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array


@pytest.mark.parametrize("dtype", arrays.FLOAT_DTYPES)
def test_a_native_float_array_of_any_strides_is_not_copied(dtype: np.dtype) -> None:
    base = np.arange(64).reshape(8, 8).astype(dtype)
    for view in (base, base.T, base[::-1, ::2], np.broadcast_to(base[0], (3, 8)), base[:0], base[2, 3, ...]):
        assert np.shares_memory(arrays.as_floats(view), view) or view.size == 0


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">f2"])
def test_byte_swapped_input_gives_the_native_numbers(dtype: str) -> None:
    x = np.linspace(-3, 3, 17).astype(dtype)
    found = arrays.as_floats(x)
    assert found.dtype.isnative
    assert np.array_equal(found, x)


def test_unaligned_input_is_copied_to_where_it_may_be_read() -> None:
    raw = np.zeros(4 * 9 + 1, np.uint8)
    unaligned = raw[1:].view(np.float32)
    assert not unaligned.flags.aligned
    assert arrays.as_floats(unaligned).flags.aligned


@pytest.mark.parametrize(
    ("x", "name"),
    [
        (np.arange(3), "int64"),
        (np.zeros(3, np.uint8), "uint8"),
        (np.zeros(3, bool), "bool"),
        (np.zeros(3, complex), "complex128"),
        (np.array(["a"]), "str"),
        (np.array([None]), "object"),
        (np.zeros(2, "M8[s]"), "datetime64"),
        (np.zeros(2, ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
        (np.zeros(2, ml_dtypes.float8_e5m2), "float8_e5m2"),
        (np.zeros(2, np.longdouble), "longdouble" if np.dtype(np.longdouble).itemsize == 8 else "float128"),
        ([1, 2], "int64"),
        ("text", "str"),
        (None, "object"),
        ([[1.0], [1.0, 2.0]], "list"),
    ],
)
def test_anything_but_floats_is_refused_by_name(x: Any, name: str) -> None:
    with pytest.raises(errors.DTypeError, match=name) as caught:
        arrays.as_floats(x)
    assert caught.value.code == "input-dtype"
    assert isinstance(caught.value, TypeError)


def test_lists_buffers_and_subclasses_are_arrays() -> None:
    assert arrays.as_floats([1.0, 2.5]).dtype == np.float64
    assert arrays.as_floats(memoryview(np.arange(4, dtype=np.float32))).tolist() == [0, 1, 2, 3]
    subclass = np.arange(4, dtype=np.float32).view(type("Own", (np.ndarray,), {}))
    assert type(arrays.as_floats(subclass)) is np.ndarray


def test_a_torch_tensor_is_taken_by_its_behaviour_and_detached() -> None:
    x = np.linspace(-1, 1, 6, dtype=np.float32)
    tensor = FakeTorch(x, "torch.float32")
    assert np.array_equal(arrays.as_floats(tensor), x)
    assert tensor.detached


def test_a_bfloat16_torch_tensor_comes_through_an_integer_view() -> None:
    x = np.linspace(-1, 1, 6).astype(ml_dtypes.bfloat16)
    found = arrays.as_floats(FakeTorch(x, "torch.bfloat16"))
    assert found.dtype == arrays.BFLOAT16
    assert found.tobytes() == x.tobytes()


@pytest.mark.parametrize("device", ["cuda", "meta", "xpu"])
def test_a_tensor_on_another_device_is_refused(device: str) -> None:
    with pytest.raises(errors.DTypeError) as caught:
        arrays.as_floats(FakeTorch(np.zeros(2, np.float32), "torch.float32", device))
    assert caught.value.code == "input-device"


def test_a_cuda_array_is_refused_before_anything_reads_it() -> None:
    class OnDevice:
        @property
        def __cuda_array_interface__(self) -> dict:
            raise AssertionError("nothing may be read")

    with pytest.raises(errors.DTypeError) as caught:
        arrays.as_floats(OnDevice())
    assert caught.value.code == "input-device"


def test_torch_is_never_imported() -> None:
    arrays.as_floats(FakeTorch(np.zeros(2, np.float32), "torch.float32"))
    assert "torch" not in sys.modules or sys.modules["torch"] is not None


@pytest.mark.parametrize(
    "word", ["float32", np.float32, "f16", "bfloat16", "bf16", ml_dtypes.bfloat16, np.dtype("f8")]
)
def test_result_dtypes_are_read_from_names_and_types(word: Any) -> None:
    assert arrays.out_dtype(word, None) in arrays.FLOAT_DTYPES


@pytest.mark.parametrize("word", ["int8", "nonsense", np.int32, "float8_e4m3fn", ">f4"])
def test_other_result_dtypes_are_refused(word: Any) -> None:
    with pytest.raises(errors.DTypeError) as caught:
        arrays.out_dtype(word, None)
    assert caught.value.code == "out-dtype"
