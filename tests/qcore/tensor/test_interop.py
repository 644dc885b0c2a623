"""Handing parts to torch, held to a stand-in that has just the functions torch documents."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qcore
from qcore import errors


class Tensor:
    def __init__(self, array: np.ndarray, dtype: str) -> None:
        self.array, self.dtype = array, dtype

    def view(self, dtype: str) -> Tensor:
        return Tensor(self.array, dtype)


def stand_in(**dtypes: str) -> Any:
    def from_numpy(array: np.ndarray) -> Tensor:
        assert array.flags.writeable, "torch warns about memory that it must not write"
        assert array.dtype.name in ("int8", "uint8", "int16", "int32", "float32")
        return Tensor(array, array.dtype.name)

    return SimpleNamespace(from_numpy=from_numpy, **dtypes)


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)


def test_parts_become_tensors_of_torchs_own_dtypes(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("int8", "uint8", "uint32", "float32", "float16", "bfloat16", "float8_e8m0fnu", "float8_e4m3fn")
    monkeypatch.setitem(sys.modules, "torch", stand_in(**{name: name for name in names}))
    q = qcore.quantize(x, "nvfp4")
    parts = q.to_torch()
    assert {name: part.dtype for name, part in parts.items()} == {
        "values": "uint8", "scales": "float8_e4m3fn", "global_scale": "float32",
    }  # fmt: skip
    assert parts["scales"].array.tobytes() == q.scales.tobytes()
    q = qcore.quantize(x, "int4-b32")
    assert q.to_torch()["values"].dtype == "uint32"
    assert q.to_torch()["scales"].dtype == "float16"


def test_a_dtype_that_torch_lacks_stays_the_integer_that_carries_its_bits(
    x: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", stand_in(uint8="uint8"))
    assert qcore.quantize(x, "mxfp4").to_torch()["scales"].dtype == "uint8"
    assert qcore.quantize(x, "int4-b32").to_torch()["values"].dtype == "int32"


def test_a_missing_torch_is_a_documented_error(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(errors.QuantError) as caught:
        qcore.quantize(x, "int8").to_torch()
    assert caught.value.code == "package-missing"
    assert "torch" in str(caught.value)
