"""Packing and unpacking bare codes, and loading QFloat bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qcore
from qcore import TensorData, errors


@pytest.mark.parametrize(
    ("codes", "value", "store", "words"),
    [
        ([-128, 2, -3, 127], "q8s", "u32", [0x7FFD0280]),
        (range(-8, 8), "q4f", "u32", [0xFEDCBA98, 0x76543210]),
        (range(8), "e2m1", "packed", [0x10, 0x32, 0x54, 0x76]),
        ([1, 2, 3], "e2m1", "packed", [0x21, 0x03]),
        ([-1, 0, 1], "q2s", "u32", [0b010011]),
        ([-1, 0, 1], "q2s", "native", [-1, 0, 1]),
        ([0xC0, 0x3E], "e4m3", "native", [0xC0, 0x3E]),
    ],
)
def test_the_first_code_lies_in_the_low_bits(codes: Any, value: str, store: str, words: list[int]) -> None:
    packed = qcore.pack(list(codes), value, store)
    assert packed.tolist() == words
    assert qcore.unpack(packed, (len(list(codes)),), value, store).tolist() == list(codes)


@pytest.mark.parametrize("value", ["q8f", "q4s", "q2f", "e4m3", "e5m2", "e2m1"])
@pytest.mark.parametrize("store", ["native", "u32", "u32:1", "packed", "packed:1"])
@pytest.mark.parametrize("mode", ["symmetric", "lookup"])
def test_every_small_shape_packs_and_comes_back_with_zero_padding(value: str, store: str, mode: str) -> None:
    row = qcore.QuantValue(value)
    if store.startswith("packed") and value != "e2m1" or mode == "lookup" and row.is_minifloat:
        return
    signed = row.is_integer and mode == "symmetric"
    lo = -(1 << (row.bits - 1)) if signed else 0
    rng = np.random.default_rng(3)
    for rows in range(10):
        for cols in range(10):
            codes = rng.integers(lo, lo + (1 << row.bits), (rows, cols))
            words = qcore.pack(codes, value, store, mode=mode)
            back = qcore.unpack(words, (rows, cols), value, store, mode=mode)
            assert back.dtype == (np.int8 if signed else np.uint8)
            assert np.array_equal(back, codes)
            used = sum(int(code) & ((1 << row.bits) - 1) for code in codes.reshape(-1))
            fields = words.astype(np.uint64) & (
                0xFF if store == "native" or words.dtype == np.uint8 else 0xFFFFFFFF
            )
            width = 8 if store == "native" else row.bits
            total = sum((int(word) >> shift) & ((1 << width) - 1) for word in fields.reshape(-1)
                        for shift in range(0, 8 * words.dtype.itemsize, width))  # fmt: skip
            expected = sum(int(code) & 0xFF for code in codes.reshape(-1)) if store == "native" else used
            assert total == expected  # nothing but the codes: the padding is zero


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: qcore.pack([8], "q4s", "u32"), "code-out-of-range"),
        (lambda: qcore.pack([-1], "q4s", "u32", mode="lookup"), "code-out-of-range"),
        (lambda: qcore.pack([0.5], "q4s", "u32"), "data-value-type"),
        (lambda: qcore.pack([1], "q4s", "packed"), "native-packing-unsupported"),
        (lambda: qcore.pack([1], "q4s", "u32:1"), "packing-axis"),
        (lambda: qcore.unpack([1], (9,), "q4s", "u32"), "data-short"),
        (lambda: qcore.unpack([1, 2], (8,), "q4s", "u32"), "data-long"),
        (lambda: qcore.unpack([1.0], (8,), "q4s", "u32"), "data-value-type"),
        (lambda: qcore.unpack([1], (-8,), "q4s", "u32"), "shape-invalid"),
        (lambda: qcore.pack([1], "q5s", "u32"), "unknown-name"),
        (lambda: qcore.pack([1], "q4s", "u64"), "unknown-name"),
    ],
)
def test_codes_and_words_that_do_not_fit_are_refused(call: Any, code: str) -> None:
    with pytest.raises(errors.QuantError) as caught:
        call()
    assert caught.value.code == code


@pytest.mark.parametrize("backend", ["cpu", "reference", "burn-ndarray"])
def test_plain_data_is_refused_before_anything_else(backend: str) -> None:
    with pytest.raises(
        errors.DTypeError, match=r"Invalid dtype \(expected DType::QFloat, got F32\)"
    ) as caught:
        qcore.from_data(TensorData(b"\0" * 4, (1,), "F32"), backend=backend)
    assert caught.value.code == "not-quantized-data"


def test_lookup_data_needs_its_table_handed_over() -> None:
    d = TensorData.quantized([0, 15], (2,), "q4f/u32/lookup", [2.0])
    with pytest.raises(errors.UnsupportedSchemeError, match="does not travel as a QFloat tensor"):
        qcore.from_data(d)
    assert qcore.from_data(d, codebook="nf4").dequantize().tolist() == [-2.0, 2.0]
    with pytest.raises(errors.InvalidSchemeError) as caught:
        qcore.from_data(d, codebook=[0.0, 1.0, 2.0, 3.0])
    assert caught.value.code == "table-length"


@pytest.mark.parametrize(
    ("size", "code"),
    [
        (0, "global-short"),
        (3, "global-short"),
        (5, "block-scales-short"),
        (9, "data-short"),
        (15, "data-long"),
    ],
)
def test_bytes_of_another_length_are_refused(size: int, code: str) -> None:
    with pytest.raises(errors.FormatError) as caught:
        qcore.from_data(TensorData(b"\0" * size, (8,), "q8s/native/b4:ue4m3/t:f32"))
    assert caught.value.code == code


def test_scale_bytes_of_any_kind_load_and_decode() -> None:
    d = TensorData.quantized([1, 1, 1, 1], (4,), "q8s/native/b2:f32", [np.nan, -2.0])
    found = qcore.from_data(d).dequantize()
    assert np.isnan(found[:2]).all()
    assert found[2:].tolist() == [-2.0, -2.0]
