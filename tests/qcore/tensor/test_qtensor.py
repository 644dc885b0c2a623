"""The tensor: immutable parts, dtypes and shapes, reading back, and refusals."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import qcore
from qcore import QTensor, errors
from qcore.tensor import Lookup, PerBlockSymmetric, PerTensorSymmetric


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((6, 64)).astype(np.float32)


@pytest.mark.parametrize(
    ("scheme", "values", "codes", "scales", "grid"),
    [
        ("q8s/native/t:f32", np.int8, np.int8, np.float32, (1,)),
        ("q4s/u32/b32:f16", np.uint32, np.int8, np.float16, (6, 2)),
        ("e4m3/native/b32:ue8m0", np.uint8, np.uint8, ml_dtypes.float8_e8m0fnu, (6, 2)),
        ("nvfp4", np.uint8, np.uint8, ml_dtypes.float8_e4m3fn, (6, 4)),
        ("nf4", np.uint32, np.uint8, np.float32, (6, 1)),
        ("q2s/u32/b2x16:bf16", np.uint32, np.int8, ml_dtypes.bfloat16, (3, 4)),
    ],
)
def test_parts_have_the_documented_dtypes_and_shapes(
    x: np.ndarray, scheme: str, values: Any, codes: Any, scales: Any, grid: tuple[int, ...]
) -> None:
    q = qcore.quantize(x, scheme)
    assert (q.values.dtype, q.codes.dtype, q.scales.dtype) == (values, codes, scales)
    assert (q.codes.shape, q.scales.shape) == (x.shape, grid)
    assert (q.global_scale is None) == (not q.scheme.is_two_level)
    assert q.nbytes == len(q.to_data().bytes)
    assert q.bits_per_weight == 8 * q.nbytes / x.size
    for array in (q.values, q.codes, q.scales):
        assert not array.flags.writeable
        assert array.flags.c_contiguous


def test_a_tensor_cannot_be_changed_or_iterated(x: np.ndarray) -> None:
    q = qcore.quantize(x, "int8")
    with pytest.raises(AttributeError):
        q.scheme = None  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        q.values[0] = 1
    with pytest.raises(TypeError):
        iter(q)
    with pytest.raises(TypeError):
        hash(q)


def test_equality_pickling_and_copies_keep_every_part(x: np.ndarray) -> None:
    for scheme in ("nvfp4", "nf4", "q4s/u32/b32:f16"):
        q = qcore.quantize(x, scheme)
        again = pickle.loads(pickle.dumps(q))
        assert again == q
        assert again.rules == q.rules
        assert again.backend == q.backend
        assert copy.deepcopy(q) == q
        assert q != qcore.quantize(-x, scheme)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_decoding_rounds_the_f32_result_once(x: np.ndarray, dtype: Any) -> None:
    q = qcore.quantize(x, "q4s/u32/b32:f16")
    plain = q.dequantize()
    assert plain.dtype == np.float32
    assert q.dequantize(dtype).tobytes() == plain.astype(dtype).tobytes()
    out = np.empty(x.shape, dtype)
    assert q.dequantize(None, out=out) is out
    assert out.tobytes() == plain.astype(dtype).tobytes()


def test_decoding_into_a_strided_out_fills_just_that() -> None:
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    q = qcore.quantize(x, "int8")
    base = np.full((8, 12), 7, np.float32)
    out = base[::2, ::2]
    q.dequantize(out=out)
    assert np.array_equal(out, q.dequantize())
    assert (base[1::2] == 7).all()
    flipped = np.empty((6, 4), np.float32).T[:, ::-1]
    assert np.array_equal(q.dequantize(out=flipped), q.dequantize())


@pytest.mark.parametrize(
    ("out", "code"),
    [
        (np.empty((6, 64), np.float64), "out-dtype"),
        (np.empty((6, 64), np.int8), "out-dtype"),
        (np.empty((64, 6), np.float32), "out-shape"),
        (np.broadcast_to(np.empty((1, 64), np.float32), (6, 64)), "out-shape"),
        ([[0.0]], "out-dtype"),
    ],
)
def test_an_out_that_does_not_fit_is_refused_untouched(x: np.ndarray, out: Any, code: str) -> None:
    q = qcore.quantize(x, "int8")
    with pytest.raises(errors.QuantError) as caught:
        q.dequantize(out=out)
    assert caught.value.code == code


def test_an_out_that_overlaps_itself_is_refused(x: np.ndarray) -> None:
    q = qcore.quantize(x[:2], "int8")
    out = np.lib.stride_tricks.as_strided(np.empty(64, np.float32), (2, 64), (0, 4))
    with pytest.raises(errors.ShapeError) as caught:
        q.dequantize(out=out)
    assert caught.value.code == "out-shape"


def test_numpy_reads_a_tensor_but_cannot_avoid_the_copy(x: np.ndarray) -> None:
    q = qcore.quantize(x, "int8")
    assert np.array_equal(np.asarray(q), q.dequantize())
    assert np.asarray(q, np.float64).dtype == np.float64
    with pytest.raises(errors.QuantError) as caught:
        np.asarray(q, copy=False)
    assert caught.value.code == "array-needs-copy"
    assert isinstance(caught.value, ValueError)


def test_strategies_hold_effective_scales(x: np.ndarray) -> None:
    assert isinstance(qcore.quantize(x, "int8").strategy(), PerTensorSymmetric)
    q = qcore.quantize(x, "nvfp4")
    found = q.strategy()
    assert isinstance(found, PerBlockSymmetric)
    assert np.array_equal(found.scales, np.float32(q.global_scale) * q.scales.astype(np.float32))
    assert isinstance(qcore.quantize(x, "nf4").strategy(), Lookup)
    with pytest.raises(errors.UnsupportedSchemeError) as caught:
        qcore.quantize(x, "nf4").strategy(backend="ndarray")
    assert caught.value.code == "lookup-not-on-ndarray"


def test_parts_are_plain_words_with_the_names_of_their_dtypes(x: np.ndarray) -> None:
    parts = qcore.quantize(x, "nvfp4").parts()
    assert {name: (part.words.dtype.name, part.dtype) for name, part in parts.items()} == {
        "values": ("uint8", "uint8"), "scales": ("uint8", "float8_e4m3fn"), "global_scale": ("float32", "float32"),
    }  # fmt: skip
    assert "table" in qcore.quantize(x, "nf4").parts()
    assert qcore.quantize(x, "int8").parts(copy=True)["values"].words.flags.writeable


def test_moving_keeps_the_codebook_and_checks_the_place(x: np.ndarray) -> None:
    q = qcore.quantize(x, "nf4")
    assert q.to("reference").codebook == q.codebook
    assert q.to("cpu") is q
    with pytest.raises(errors.UnsupportedSchemeError) as caught:
        q.to("ndarray")
    assert caught.value.code == "from-data-unsupported-scheme"
    moved = qcore.quantize(x, "q8s/u32/b32:f16").to("ndarray")
    assert moved.backend == "burn-ndarray"
    assert str(moved.scheme) == "q8s/native/b32:f16"


def test_from_parts_rebuilds_a_tensor_and_refuses_other_parts(x: np.ndarray) -> None:
    q = qcore.quantize(x, "nvfp4")
    parts = {"values": q.values, "scales": q.scales, "global_scale": q.global_scale, "scheme": q.scheme}
    assert QTensor.from_parts(**parts, shape=q.shape) == q
    for wrong, code in [
        ({"values": q.values[:-1]}, "data-values-count"),
        ({"values": q.values.view(np.int8)}, "data-values-count"),
        ({"scales": q.scales[:-1]}, "wrong-scale-count"),
        ({"global_scale": None}, "data-needs-global"),
        ({"scheme": qcore.QuantScheme.parse("e2m1/packed/b16:ue4m3")}, "data-superfluous-global"),
    ]:
        with pytest.raises(errors.QuantError) as caught:
            QTensor.from_parts(**(parts | wrong), shape=q.shape)
        assert caught.value.code == code


def test_from_parts_counts_the_table(x: np.ndarray) -> None:
    q = qcore.quantize(x, "nf4")
    parts = {"values": q.values, "scales": q.scales, "scheme": q.scheme, "shape": q.shape}
    assert QTensor.from_parts(**parts, codebook=q.codebook) == q
    for table, code in [(qcore.Codebook([0.0, 1.0, 2.0, 3.0]), "table-length"), (None, "lookup-does-not-travel")]:
        with pytest.raises(errors.QuantError) as caught:
            QTensor.from_parts(**parts, codebook=table)
        assert caught.value.code == code


def test_the_notebook_table_escapes_what_it_shows(x: np.ndarray) -> None:
    text = qcore.quantize(x, "int8")._repr_html_()
    assert text.startswith("<table>")
    assert "q8s/native/t:f32" in text
