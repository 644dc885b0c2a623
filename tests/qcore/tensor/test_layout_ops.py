"""Layout operations: exact on codes and scales, or a documented refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qcore
from qcore import errors

SCHEMES = ["q8s/native/t:f32", "q4s/u32/b8:f16", "q4f/u32:1/b2x4:f32", "nvfp4", "e2m1/packed:1/b4x1:ue8m0", "nf4",
           "q2s/u32/b16:bf16", "e4m3/u32/b3x5:ue4m3/t:f32"]  # fmt: skip


def quantized(scheme: str, shape: tuple[int, ...], seed: int = 0) -> qcore.QTensor:
    return qcore.quantize(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), scheme)


def dense(q: qcore.QTensor) -> np.ndarray:
    return q.dequantize()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (-1, 0, 1)])
def test_transposing_then_decoding_is_decoding_then_transposing(scheme: str, axes: tuple[int, ...]) -> None:
    q = quantized(scheme, (4, 6, 32))
    moved = q.transpose(*axes)
    assert np.array_equal(dense(moved), dense(q).transpose(axes))
    assert np.array_equal(moved.codes, q.codes.transpose(axes))
    back = moved.transpose(*np.argsort([a % 3 for a in axes]).tolist())
    assert back == q


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_transposed_tensor_loads_from_its_own_bytes(scheme: str) -> None:
    q = quantized(scheme, (6, 32)).T
    assert qcore.from_data(q.to_data(), codebook=q.codebook) == q


def test_transpose_reads_its_axes_as_numpy_does() -> None:
    q = quantized("q4s/u32/b8:f16", (4, 6, 32))
    assert q.T == q.transpose() == q.transpose(None) == q.transpose([2, 1, 0]) == q.permute(2, 1, 0)
    for axes in [(0, 0, 1), (0, 1), (0, 1, 3), ("a", 1, 2), (0.5, 1, 2)]:
        with pytest.raises(errors.ShapeError) as caught:
            q.transpose(*axes)
        assert caught.value.code == "axis-invalid"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "shape", [(768,), (24, 32), (4, 192), (2, 2, 6, 32), (4, 6, 32, 1), (4, 6, 2, 16), (-1, 32)]
)
def test_reshaping_then_decoding_is_decoding_then_reshaping_or_a_refusal(
    scheme: str, shape: tuple[int, ...]
) -> None:
    q = quantized(scheme, (4, 6, 32))
    try:
        moved = q.reshape(shape)
    except errors.ShapeError as error:
        assert error.code in ("would-split-block", "packing-axis")  # noqa: PT017
        return
    assert np.array_equal(dense(moved), dense(q).reshape(shape))
    assert moved == q.reshape(*shape)


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ((5, 5), "shape-invalid"),
        ((-1, -1), "shape-invalid"),
        ((0.5,), "shape-invalid"),
        ((-2, 3), "shape-invalid"),
    ],
)
def test_impossible_shapes_are_refused(shape: Any, code: str) -> None:
    with pytest.raises(errors.ShapeError) as caught:
        quantized("q4s/u32/b8:f16", (4, 32)).reshape(shape)
    assert caught.value.code == code


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_slicing_on_block_edges_is_exact_and_elsewhere_refused(data: st.DataObject) -> None:
    scheme = data.draw(st.sampled_from(SCHEMES))
    q = quantized(scheme, (4, 7, 36))
    key = tuple(
        data.draw(st.one_of(st.slices(dim), st.integers(-dim, dim - 1), st.just(slice(None))))
        for dim in q.shape
    )
    try:
        part = q[key]
    except errors.ShapeError as error:
        assert error.code == "would-split-block"  # noqa: PT017
        assert q.scheme.block_size is not None
        return
    assert part.shape == dense(q)[key].shape
    assert np.array_equal(dense(part), dense(q)[key])


def test_a_per_tensor_tensor_takes_any_basic_slice() -> None:
    q = quantized("q4s/u32/t:f32", (4, 7, 36))
    for key in [np.s_[1], np.s_[..., 3], np.s_[::-1, 2:5], np.s_[:, 1:1], np.s_[1, 2, 3], np.s_[...]]:
        assert np.array_equal(dense(q[key]), dense(q)[key])


@pytest.mark.parametrize(
    "key", [4, (0, 0, 0, 0), "a", None, True, [0], (..., ...), 0.5, np.array([True, False])]
)
def test_other_indices_are_refused(key: Any) -> None:
    with pytest.raises(errors.ShapeError) as caught:
        quantized("int8", (4, 7, 36))[key]
    assert caught.value.code == "index-invalid"


@pytest.mark.parametrize(
    "scheme", ["q4s/u32/b8:f16", "q4f/u32:1/b2x4:f32", "nf4", "e2m1/packed:1/b4x1:ue8m0"]
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joining_slices_gives_the_whole_back(scheme: str, axis: int) -> None:
    q = quantized(scheme, (8, 128))
    half = q.shape[axis] // 2
    parts = (q[:half], q[half:]) if axis == 0 else (q[:, :half], q[:, half:])
    assert qcore.concat(parts, axis=axis) == q


def test_tensors_that_do_not_join_exactly_are_refused() -> None:
    a = quantized("q4s/u32/b8:f16", (4, 32))
    cases = [
        ([], "concat-mismatch"),
        ([a, quantized("q4s/u32/b16:f16", (4, 32))], "concat-mismatch"),
        ([a, quantized("q4s/u32/b8:f16", (4, 40))], "concat-mismatch"),
        ([quantized("nvfp4", (4, 32)), quantized("nvfp4", (4, 32), seed=2)], "would-split-block"),
        ([quantized("int8", (4, 32)), quantized("int8", (4, 32), seed=2)], "would-split-block"),
    ]
    for tensors, code in cases:
        with pytest.raises(errors.ShapeError) as caught:
            qcore.concat(tensors)
        assert caught.value.code == code
    ragged = quantized("q4s/u32/b8:f16", (4, 33))
    with pytest.raises(errors.ShapeError) as caught:
        qcore.concat([ragged, ragged], axis=1)
    assert caught.value.code == "would-split-block"
    with pytest.raises(errors.ShapeError) as caught:
        qcore.concat([a, a], axis=2)
    assert caught.value.code == "axis-invalid"


@pytest.mark.parametrize("shape", [(0, 32), (4, 0), (0,), ()])
def test_empty_and_0_d_tensors_can_be_laid_out(shape: tuple[int, ...]) -> None:
    q = quantized("q8s/native/t:f32", shape)
    assert q.T.shape == shape[::-1]
    assert q.reshape(q.size).shape == (q.size,)
    assert q[...] == q
