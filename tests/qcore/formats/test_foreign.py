"""Tensors that no scheme expresses: looked at, decoded, never mistaken for something else."""

import pickle
import sys

import numpy as np
import pytest
from gguf_bytes import File, Tensor

import qcore
from qcore import errors
from qcore.formats.foreign import ForeignTensor

BLOCK = np.float16(0.5).tobytes() + np.float16(-2).tobytes() + bytes(j | (15 - j) << 4 for j in range(16))


@pytest.fixture
def q4_1(tmp_path):
    (tmp_path / "x.gguf").write_bytes(File([Tensor(b"w", (32, 2), 3, BLOCK + BLOCK)]).build())
    with qcore.open(tmp_path / "x.gguf") as f:
        return f.tensor("w")


def test_its_parts_are_there_to_look_at(q4_1):
    assert (q4_1.kind, q4_1.shape, q4_1.ndim, q4_1.size, q4_1.nbytes, q4_1.block) == (
        "Q4_1",
        (2, 32),
        2,
        64,
        40,
        32,
    )
    assert q4_1.bits_per_weight == 5.0
    assert q4_1.codes[1].tolist() == [*range(16), *range(15, -1, -1)]
    assert q4_1.scales.tolist() == [[0.5], [0.5]]
    assert q4_1.minima.tolist() == [[-2.0], [-2.0]]
    assert repr(q4_1) == "ForeignTensor(shape=(2, 32), kind='Q4_1', 40 bytes, 5.00 bits/weight)"


def test_it_decodes_to_any_float_and_into_any_array(q4_1):
    expected = q4_1.codes * np.float32(0.5) - np.float32(2)
    assert np.array_equal(q4_1.dequantize(), expected)
    for dtype in (np.float16, np.float64, "bfloat16"):
        found = q4_1.dequantize(dtype)
        assert found.dtype == np.dtype(dtype)
        assert np.array_equal(found.astype(np.float32), expected)
    strided = np.zeros((2, 64), np.float32)[:, ::2]
    assert q4_1.dequantize(out=strided) is strided
    assert np.array_equal(strided, expected)
    assert np.array_equal(np.asarray(q4_1), expected)
    assert np.asarray(q4_1, np.int32).dtype == np.int32


def test_an_output_that_does_not_fit_is_refused(q4_1):
    for wrong, code in (
        (np.zeros((2, 31), np.float32), "out-shape"),
        (np.zeros((2, 32), np.int32), "out-dtype"),
        (q4_1.stored, "out-dtype"),
    ):
        with pytest.raises(errors.QuantError) as caught:
            q4_1.dequantize(None, out=wrong)
        assert caught.value.code == code
    with pytest.raises(errors.QuantError):
        np.asarray(q4_1, copy=False)


def test_it_cannot_be_changed_and_is_equal_by_its_content(q4_1):
    with pytest.raises(AttributeError):
        q4_1.shape = (1,)
    with pytest.raises(ValueError, match="read-only"):
        q4_1.stored[0] = 1
    same = ForeignTensor("Q4_1", (2, 32), 32, q4_1.stored.copy(), lambda rows: rows)
    assert same == q4_1
    assert same != ForeignTensor("Q4_1", (64,), 32, q4_1.stored.copy(), lambda rows: rows)
    assert same != 3


def test_long_rows_and_many_rows_decode_alike(tmp_path):
    tensors = [
        Tensor(b"long", (1 << 21,), 3, BLOCK * (1 << 16)),
        Tensor(b"many", (32, 1 << 16), 3, BLOCK * (1 << 16)),
    ]
    (tmp_path / "x.gguf").write_bytes(File(tensors).build())
    with qcore.open(tmp_path / "x.gguf") as f:
        assert f.tensor("long").dequantize().tobytes() == f.tensor("many").dequantize().tobytes()


def test_codebooks_of_vectors_need_the_package_and_say_so(tmp_path, monkeypatch):
    (tmp_path / "x.gguf").write_bytes(File([Tensor(b"w", (256,), 16, bytes(66))]).build())
    with qcore.open(tmp_path / "x.gguf") as f:
        found = f.tensor("w")
    assert not found.dequantize().any()
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(errors.DeviceError, match="IQ2_XXS needs the package gguf") as caught:
        found.dequantize()
    assert caught.value.code == "package-missing"
    assert pickle.loads(pickle.dumps(caught.value)).code == "package-missing"


def test_it_is_no_input_to_quantize_until_it_is_decoded(q4_1):
    assert qcore.quantize(q4_1.dequantize(), "q8_0").shape == (2, 32)
    assert qcore.quantize(np.asarray(q4_1), "q8_0") == qcore.quantize(q4_1.dequantize(), "q8_0")
