"""Host data: bytes, iteration, and building them from parts."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import qcore
from qcore import TensorData, errors


def test_bytes_are_values_then_scales_then_the_global_scale() -> None:
    d = TensorData.quantized(range(16), (1, 16), "nvfp4", [448.0], 2.0**-9)
    assert d.bytes.hex() == "1032547698badcfe" + "7e" + "0000003b"
    d = TensorData.quantized([0, 25, 51, 76, 102, 127], (2, 3), "q8s/native", [0.03937008])
    assert d.bytes.hex() == "0019334c667f8542213d"


def test_iteration_gives_raw_codes_as_python_integers() -> None:
    d = TensorData.quantized([-8, 7, 3, -1, 0], (5,), "q4f/u32", [0.5])
    assert list(d) == [-8, 7, 3, -1, 0]
    assert all(type(code) is int for code in d)
    assert list(TensorData.quantized([0x7E, 0x80], (2,), "e4m3/native", [1.0])) == [0x7E, 0x80]


def test_iteration_follows_any_packing_axis() -> None:
    codes = np.arange(-8, 7).reshape(5, 3)
    d = TensorData.quantized(codes, (5, 3), "q4f/u32:1", [1.0])
    assert list(d) == codes.reshape(-1).tolist()


def test_iterating_lookup_data_is_refused() -> None:
    d = TensorData.quantized([15, 0], (2,), "q4f/u32/lookup", [1.0])
    with pytest.raises(
        errors.UnsupportedSchemeError, match="lookup quantization is not supported for iteration"
    ):
        list(d)


def test_plain_data_iterates_scalars_and_knows_burns_names() -> None:
    d = TensorData(np.array([1.5, -2.0], np.float32), (2,), "F32")
    assert list(d) == [1.5, -2.0]
    assert TensorData(b"\x01\x00", (2,), np.int8).dtype == "I8"
    assert TensorData(b"\x00\x01", (2,), bool).dtype == "Bool(Native)"
    assert TensorData(b"", (0,), "BF16").to_numpy().shape == (0,)


@pytest.mark.parametrize(("data", "code"), [(b"\0" * 7, "data-short"), (b"\0" * 9, "data-long")])
def test_plain_data_of_the_wrong_length_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(errors.FormatError) as caught:
        TensorData(data, (2,), "F32")
    assert caught.value.code == code


def test_a_mutable_buffer_is_copied() -> None:
    buffer = bytearray(b"\x01\x02\x00\x00\x80\x3f")
    d = TensorData(buffer, (2,), "q8s/native")
    buffer[0] = 99
    assert list(d) == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([0] * 8, (8,), "q8s/native/b4:ue4m3/t:f32", [0.5, 0.125]), "data-needs-global"),
        (([0] * 8, (8,), "q8s/native/b4:ue4m3", [0.5, 0.125], 1.0), "data-superfluous-global"),
        (([0] * 8, (8,), "q8s/native/b4:ue4m3/t:f16", [0.5, 0.125], 1.0), "global-scale-not-f32"),
        (([0.5] * 8, (8,), "q8s/native", [0.5]), "data-value-type"),
        (([0] * 7, (8,), "q8s/native", [0.5]), "data-values-count"),
        (([8] * 8, (8,), "q4s/u32", [0.5]), "code-out-of-range"),
        (([-1] * 2, (2,), "e4m3/native", [0.5]), "code-out-of-range"),
        (([0] * 8, (8,), "q8s/native/b4:f32", [0.5]), "wrong-scale-count"),
        (([0] * 8, (8,), "q8s/native", [0.5, 1.0]), "wrong-scale-count"),
        (([0] * 8, (8,), "q8s/packed", [0.5]), "native-packing-unsupported"),
        (([0] * 8, (8,), "q8s/native/b2:ue8m0", [-1.0] * 4), "negative-scale"),
        (([0] * 8, (-8,), "q8s/native", [0.5]), "shape-invalid"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments: tuple[Any, ...], code: str) -> None:
    with pytest.raises(errors.QuantError) as caught:
        TensorData.quantized(*arguments)
    assert caught.value.code == code


def test_scales_are_rounded_up_to_their_dtype_and_keep_their_sign() -> None:
    d = TensorData.quantized([0] * 8, (8,), "q8s/native/b2:f16", [0.3, -0.3, np.nan, 0.0])
    q = qcore.from_data(d, backend="reference")
    assert q.scales.astype(np.float32)[:2].tolist() == [0.300048828125, -0.300048828125]
    assert np.isnan(q.scales[2])
    assert q.scales[3] == 0


def test_codes_beyond_the_range_but_within_the_bits_load() -> None:
    d = TensorData.quantized([-8, -7], (2,), "q4s/u32", [1.0])
    assert qcore.from_data(d, backend="reference").codes.tolist() == [-8, -7]


def test_data_is_a_value_that_survives_pickling() -> None:
    d = TensorData.quantized([1, 2], (2,), "q8s/native", [1.0])
    again = pickle.loads(pickle.dumps(d))
    assert again == d
    assert hash(again) == hash(d)
    assert d != TensorData.quantized([1, 3], (2,), "q8s/native", [1.0])


def test_ragged_q8_words_also_load_without_their_padding() -> None:
    padded = TensorData.quantized([1, -2, 3, 4, 5, -6], (2, 3), "q8s/u32", [1.0])
    bare = TensorData(bytes([1, 254, 3, 4, 5, 250]) + padded.bytes[-4:], (2, 3), "q8s/u32")
    assert qcore.from_data(bare, backend="reference") == qcore.from_data(padded, backend="reference")
    assert list(bare) == [1, -2, 3, 4, 5, -6]
