"""Laws that hold for any tensor: Hypothesis draws the tensors, the schemes and the shapes.

QCORE_HYPOTHESIS=long draws fifty times more.
"""

from typing import Any

import numpy as np
import oracle
from case_language import attempt
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracle import Fields

import qcore

ONE_LEVEL = st.sampled_from(["f32", "f16", "bf16", "ue8m0", "ue4m3"])
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
TAME = st.floats(-1e4, 1e4, width=32).filter(lambda v: v == 0 or abs(v) > 1e-4)


@st.composite
def fields(draw: Any, rank: int, values: Any = oracle.VALUES, kinds: Any = ("tensor", "block", "two")) -> Fields:
    value = draw(st.sampled_from(list(values)))
    stores = ["native", *(f"u32:{d}" if d else "u32" for d in range(rank))]
    stores += [f"packed:{d}" if d else "packed" for d in range(rank)] if value == "e2m1" else []
    store = draw(st.sampled_from(stores))
    extents = draw(
        st.lists(st.integers(1, 9), min_size=1, max_size=rank).filter(lambda e: len(e) == 1 or e[0] > 1)
    )
    kind = draw(st.sampled_from(kinds))
    if kind == "tensor":
        return Fields(value, store, tensor=draw(ONE_LEVEL))
    if kind == "block":
        return Fields(value, store, False, tuple(extents), draw(ONE_LEVEL))
    return Fields(value, store, False, tuple(extents), draw(st.sampled_from(["f16", "ue4m3"])), "f32")


@st.composite
def cases(draw: Any, elements: Any = FINITE, **options: Any) -> tuple[np.ndarray, Fields]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=12))
    return draw(hnp.arrays(np.float32, shape, elements=elements)), draw(fields(len(shape), **options))


def stored(q: qcore.QTensor) -> tuple[bytes, bytes, bytes]:
    level = b"" if q.global_scale is None else q.global_scale.tobytes()
    return q.values.tobytes(), q.scales.tobytes(), level


def effective(q: qcore.QTensor) -> np.ndarray:
    """Effective scale beside every element."""
    grid = np.asarray(q.scales).astype(np.float32)
    if q.global_scale is not None:
        grid = q.global_scale * grid
    if q.scheme.block_size is None:
        return np.broadcast_to(grid.reshape(()), q.shape)
    return oracle.spread(grid, tuple(q.scheme.block_size.expand(len(q.shape))), q.shape)


@given(cases(), st.sampled_from(["half-away", "half-even"]), st.sampled_from(["up", "nearest"]))
def test_cpu_reference_and_the_written_rules_agree(case: Any, rounding: str, rule: str) -> None:
    x, parts = case
    answer = oracle.quantize(x, parts, rounding=rounding, scale_rounding=rule)
    for backend in ("cpu", "reference"):
        q = qcore.quantize(x, parts.text, rounding=rounding, scale_rounding=rule, backend=backend)
        np.testing.assert_array_equal(q.codes, answer.codes)
        assert q.values.tobytes() == parts.values(answer.codes).tobytes()
        assert np.asarray(q.scales).astype(np.float32).tobytes() == answer.scales.tobytes()
        np.testing.assert_array_equal(q.dequantize(), answer.decoded)


@given(cases(), st.floats(0, 2.0**100, width=32), st.sampled_from(["half-away", "half-even"]))
def test_explicit_scales_are_used_as_they_are_stored(case: Any, scale: float, rounding: str) -> None:
    x, parts = case
    blocks = np.prod([-(-d // e) for d, e in zip(x.shape, parts.extents(x.shape), strict=True)], dtype=int)
    needed = (np.float32(scale) * np.exp2(-np.arange(blocks) % 5)).astype(np.float32)
    level = np.float32(2.0**-9) if parts.two_level else None
    params = qcore.QuantParams(scales=needed, global_scale=level)
    for backend in ("cpu", "reference"):
        q = qcore.quantize(x, parts.text, params=params, rounding=rounding, backend=backend)
        stored_scales = oracle.round_scales(needed, parts.scale_dtype, "up").reshape(q.scales.shape)
        np.testing.assert_array_equal(np.asarray(q.scales).astype(np.float32), stored_scales)
        answer = oracle.quantize(x, parts, rounding=rounding, scales=stored_scales, global_scale=level)
        np.testing.assert_array_equal(q.codes, answer.codes)
        np.testing.assert_array_equal(q.dequantize(), answer.decoded)


@given(cases(elements=TAME))
def test_the_error_is_at_most_half_a_step_or_what_is_clipped(case: Any) -> None:
    x, parts = case
    q = qcore.quantize(x, parts.text)
    scale = effective(q).astype(np.float64)
    if parts.value in oracle.INTEGERS:
        grid = np.arange(oracle.INTEGERS[parts.value][1], oracle.INTEGERS[parts.value][2] + 1.0)
    else:
        grid = np.concatenate([-oracle.magnitudes(parts.value)[::-1], oracle.magnitudes(parts.value)])
    half_step = scale * np.diff(grid).max() / 2
    # what lies beyond the ends is clipped, not rounded: half a step under F types, more where the scale saturates
    beyond = np.maximum(x - scale * grid[-1], scale * grid[0] - x)
    error = np.abs(q.dequantize() - x.astype(np.float64))
    assert (error <= np.maximum(half_step, beyond) * (1 + 1e-6) + np.abs(x) * 1e-6).all()


@given(cases())
def test_quantizing_what_was_decoded_under_the_same_params_changes_nothing(case: Any) -> None:
    x, parts = case
    q = qcore.quantize(x, parts.text)
    decoded = q.dequantize()
    assume(np.isfinite(decoded).all())
    params = qcore.QuantParams(scales=q.scales, global_scale=q.global_scale)
    again = qcore.quantize(decoded, parts.text, params=params)
    np.testing.assert_array_equal(again.dequantize(), decoded)
    scale = effective(q)
    # a scale below the smallest normal number has lost bits: several codes may decode alike
    exact = (np.abs(scale) >= oracle.SMALLEST_NORMAL_F32) | (scale == 0)
    nonzero = decoded != 0
    np.testing.assert_array_equal(again.codes[exact & nonzero], q.codes[exact & nonzero])


@given(cases(values=("q8s", "q4s", "q2s", "e4m3", "e5m2", "e2m1")))
def test_the_codes_of_the_negative_are_the_negative_codes(case: Any) -> None:
    x, parts = case
    q, mirrored = qcore.quantize(x, parts.text), qcore.quantize(-x, parts.text)
    assert q.scales.tobytes() == mirrored.scales.tobytes()
    np.testing.assert_array_equal(mirrored.dequantize(), -q.dequantize())


@given(cases(kinds=("block", "two")), st.randoms(use_true_random=False))
def test_permuting_whole_blocks_permutes_codes_and_scales(case: Any, random: Any) -> None:
    x, parts = case
    axis = random.randrange(x.ndim)
    extent = parts.extents(x.shape)[axis]
    whole = max(x.shape[axis] // extent, 2)
    # where there are fewer than two whole blocks the tensor goes round again
    x = np.take(x, range(whole * extent), axis, mode="wrap")
    order = random.sample(range(whole), whole)
    elements = [block * extent + i for block in order for i in range(extent)]
    q, moved = qcore.quantize(x, parts.text), qcore.quantize(np.take(x, elements, axis), parts.text)
    np.testing.assert_array_equal(moved.codes, np.take(q.codes, elements, axis))
    np.testing.assert_array_equal(moved.scales, np.take(q.scales, order, axis))


@given(cases(), st.randoms(use_true_random=False))
def test_transposing_before_or_after_decoding_is_the_same(case: Any, random: Any) -> None:
    x, parts = case
    axes = random.sample(range(x.ndim), x.ndim)
    q = qcore.quantize(x, parts.text)
    turned = q.transpose(*axes)
    wanted = q.dequantize().transpose(axes)
    assert turned.shape == wanted.shape
    assert turned.dequantize().tobytes() == np.ascontiguousarray(wanted).tobytes()
    assert stored(qcore.from_data(turned.to_data())) == stored(turned)
    assert q.T.dequantize().tobytes() == np.ascontiguousarray(q.dequantize().T).tobytes()
    back = turned.transpose(*np.argsort(axes))
    assert stored(back) == stored(q)
    assert back.scheme == q.scheme


@given(cases(), st.randoms(use_true_random=False))
def test_reshaping_is_exact_or_refused(case: Any, random: Any) -> None:
    x, parts = case
    factors = [random.choice([d for d in range(1, x.size + 1) if x.size % d == 0])]
    shape = (*factors, x.size // factors[0])
    q = qcore.quantize(x, parts.text)
    for target in (shape, (x.size,), (1, *x.shape), (-1, x.shape[-1])):
        found, refused = attempt(lambda target=target: q.reshape(target))
        if refused is not None:
            assert refused.code in ("would-split-block", "packing-axis")
            if refused.code == "packing-axis":
                assert int(parts.store[-1]) >= len(target)
            assert parts.block is not None or ":" in parts.store
            continue
        assert found.dequantize().tobytes() == q.dequantize().reshape(target).tobytes()
        assert stored(qcore.from_data(found.to_data())) == stored(found)


@given(cases(), st.randoms(use_true_random=False))
def test_slicing_and_joining_whole_blocks_is_exact_or_refused(case: Any, random: Any) -> None:
    x, parts = case
    q = qcore.quantize(x, parts.text)
    axis = random.randrange(x.ndim)
    cut = random.randrange(x.shape[axis] + 1)
    halves = []
    for part in (slice(None, cut), slice(cut, None)):
        key = tuple(part if a == axis else slice(None) for a in range(x.ndim))
        half, refused = attempt(lambda key=key: q[key])
        if refused is not None:
            assert refused.code == "would-split-block"
            assert parts.block is not None
            assert cut % parts.extents(x.shape)[axis]
            return
        halves.append(half)
        assert halves[-1].dequantize().tobytes() == np.ascontiguousarray(q.dequantize()[key]).tobytes()
    joined, refused = attempt(lambda: qcore.concat(halves, axis))
    if refused is not None:
        assert refused.code == "would-split-block"
        assert parts.block is not None
        return
    assert joined.dequantize().tobytes() == q.dequantize().tobytes()
    np.testing.assert_array_equal(joined.codes, q.codes)


@given(cases())
def test_bytes_go_out_and_come_back(case: Any) -> None:
    x, parts = case
    q = qcore.quantize(x, parts.text)
    data = q.to_data()
    assert len(data.bytes) == q.nbytes == qcore.quantized_data_len(q.scheme, q.shape)
    for backend in ("cpu", "reference"):
        back = qcore.from_data(data, backend=backend)
        assert stored(back) == stored(q)
        assert back.dequantize().tobytes() == q.dequantize().tobytes()
    assert list(data) == [int(c) for c in q.codes.reshape(-1)]
    level = q.global_scale
    built = qcore.TensorData.quantized(q.codes, q.shape, q.scheme, np.asarray(q.scales, np.float32), level)
    assert built == data


@given(st.data())
def test_packing_matches_words_built_by_hand(data: Any) -> None:
    value = data.draw(st.sampled_from(list(oracle.VALUES)))
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=35))
    dim = data.draw(st.integers(0, len(shape) - 1))
    bits = oracle.bits_of(value)
    signed = value in oracle.INTEGERS
    lo, hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    codes = data.draw(hnp.arrays(np.int16, shape, elements=st.integers(lo, hi)))
    codes = codes.astype(np.int8 if signed else np.uint8)
    stores = [(qcore.QuantStore.packed_u32(dim), 4)]
    stores += [(qcore.QuantStore.packed_native(dim), 1)] if value == "e2m1" else []
    for store, word_bytes in stores:
        words = qcore.pack(codes, value, store)
        wanted = oracle.pack(codes, bits, word_bytes, len(shape) - dim - 1)
        np.testing.assert_array_equal(words, wanted)
        assert words.dtype == wanted.dtype
        found = qcore.unpack(words, shape, value, store)
        assert found.dtype == codes.dtype
        np.testing.assert_array_equal(found, codes)
        # whatever stands in the padding is not read
        used = qcore.pack(np.full_like(codes, -1 if signed else 2**bits - 1), value, store)
        np.testing.assert_array_equal(qcore.unpack(words | ~used, shape, value, store), codes)
