"""NaN and infinity at every place, thread counts, ranks and blocks: one answer on every backend."""

import numpy as np
import oracle
import pytest
from matrix import exactly_equal, table_for
from oracle import Fields

import qcore

SPECIALS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-nan": -np.float32(np.nan)}
SCHEMES = (
    "q8f/native/t:f32",
    "q8s/native/b16:f32",
    "q4s/u32/b32:f16",
    "q2s/u32/t:f32",
    "e4m3/native/b32:ue8m0",
    "e5m2/u32/b8:bf16",
    "e2m1/packed/b16:ue4m3/t:f32",
    "nf4",
)
LANES = range(71)


def same(q: qcore.QTensor, wanted: qcore.QTensor) -> bool:
    return q.to_data() == wanted.to_data()


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=n).astype(np.float32)


@pytest.mark.parametrize("special", SPECIALS)
@pytest.mark.parametrize("text", SCHEMES)
def test_a_special_at_any_lane_is_counted_and_located(text: str, special: str) -> None:
    for lane in LANES:
        x = weights(71)
        x[lane] = SPECIALS[special]
        x[-1] = SPECIALS[special]
        for backend in ("cpu", "opencl", "reference"):
            with pytest.raises(qcore.errors.NonFiniteError) as caught:
                qcore.quantize(x, text, backend=backend)
            assert caught.value.code == "non-finite"
            assert caught.value.params["index"] == lane
            assert caught.value.params["count"] == (1 if lane == 70 else 2)


@pytest.mark.parametrize("special", SPECIALS)
@pytest.mark.parametrize("text", SCHEMES)
def test_saturation_is_the_same_everywhere_and_leaves_the_rest_alone(text: str, special: str) -> None:
    for lane in LANES:
        x = weights(71)
        x[lane] = SPECIALS[special]
        q = qcore.quantize(x, text, nonfinite="saturate")
        for backend in ("opencl", "reference"):
            assert same(qcore.quantize(x, text, nonfinite="saturate", backend=backend), q)
        # calibrated over the finite values: as if the special were a zero
        finite = np.where(np.isfinite(x), x, np.float32(0))
        calm = qcore.quantize(finite, text)
        assert q.scales.tobytes() == calm.scales.tobytes()
        others = np.arange(71) != lane
        np.testing.assert_array_equal(q.codes[others], calm.codes[others])
        code, value = q.codes[lane], q.scheme.value
        if q.codebook is not None:
            table = q.codebook.table
            ends = {np.inf: np.argmax(table), -np.inf: np.argmin(table)}
            assert code == ends.get(x[lane], q.codebook.zero_index)
        elif value.is_minifloat:
            decoded = oracle.decode_table(value.name.lower())[code]
            assert decoded == {np.inf: value.hi, -np.inf: value.lo}.get(float(x[lane]), 0)
            assert code != 1 << (value.bits - 1)
        else:
            assert code == {np.inf: value.hi, -np.inf: value.lo}.get(float(x[lane]), 0)


@pytest.mark.parametrize("text", SCHEMES)
@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
def test_a_block_of_specials_only_is_a_zero_block(text: str, backend: str) -> None:
    x = np.tile(np.array([np.nan, np.inf, -np.inf, 0.0], np.float32), 32)
    q = qcore.quantize(x, text, nonfinite="saturate", backend=backend)
    zero = qcore.quantize(np.zeros_like(x), text, backend=backend)
    assert q.to_data().bytes == zero.to_data().bytes


@pytest.mark.parametrize("calibration", ["absmean", "percentile:75", "mse"])
def test_specials_are_left_out_of_every_calibration(calibration: str) -> None:
    for lane in range(0, 71, 5):
        x = weights(71)
        x[lane] = np.inf
        kept = {"calibration": calibration, "nonfinite": "saturate"}
        for text in ("q4s/u32/b32:f16", "q2s/native/t:f32"):
            q = qcore.quantize(x, text, **kept)
            assert same(qcore.quantize(x, text, backend="reference", **kept), q)
            if calibration == "absmean":
                sum_ = oracle.fixed_order_sum(np.abs(np.where(np.isfinite(x), x, np.float32(0))))
                whole = qcore.compute_qparams(x, "q2s/native/t:f32", **kept)
                assert whole.scales[0] == np.float32(sum_ / 70)
            elif calibration != "mse":
                finite = qcore.compute_qparams(
                    np.delete(x, lane), "q2s/native/t:f32", calibration=calibration
                )
                whole = qcore.compute_qparams(x, "q2s/native/t:f32", **kept)
                exactly_equal(whole.scales, finite.scales, calibration)


@pytest.mark.parametrize(
    "text", [*SCHEMES, "q4f/u32:1/b3x5:bf16", "q8s/native/b7x100:f32", "q2f/u32/b2x64:ue4m3"]
)
def test_thread_counts_do_not_change_a_bit(text: str) -> None:
    x = np.random.default_rng(5).normal(size=(601, 515)).astype(np.float32)
    wanted = qcore.quantize(x, text, threads=1)
    decoded = wanted.dequantize()
    for threads in (2, 3, 7, None):
        found = qcore.quantize(x, text, threads=threads)
        assert same(found, wanted)
        assert found.dequantize().tobytes() == decoded.tobytes()


@pytest.mark.parametrize("calibration", ["absmean", "percentile:99", "mse"])
def test_thread_counts_do_not_change_a_calibration(calibration: str) -> None:
    x = np.random.default_rng(6).normal(size=(301, 515)).astype(np.float32)
    for text in ("q4s/u32/b32:f16", "q2s/native/t:f32", "q8s/native/b7x100:f32"):
        wanted = qcore.quantize(x, text, calibration=calibration, threads=1)
        for threads in (2, 3, 7):
            assert same(qcore.quantize(x, text, calibration=calibration, threads=threads), wanted)


BY_RANK = {
    1: [((70,), (8,)), ((70,), (255,))],
    2: [((6, 33), (4, 8)), ((6, 33), (255, 255)), ((33, 2), (16, 1))],
    3: [((3, 5, 18), (2, 3, 4)), ((3, 5, 18), (1, 1)), ((2, 1, 40), (7, 7, 7))],
    4: [((2, 3, 4, 9), (2, 2, 2, 2)), ((2, 3, 4, 9), (3, 1, 4))],
    5: [((2, 2, 3, 2, 9), (2, 1, 2, 1, 4)), ((2, 2, 3, 2, 9), (4,))],
    6: [((2, 1, 3, 2, 2, 9), (2, 2, 1, 2, 4)), ((2, 2, 1, 2, 2, 9), (5,))],
}


@pytest.mark.parametrize("rank", BY_RANK)
def test_ranks_and_blocks_larger_than_a_dim_follow_the_written_rules(rank: int) -> None:
    for shape, block in BY_RANK[rank]:
        x = np.random.default_rng(rank).normal(size=shape).astype(np.float32)
        stripped = block
        while len(stripped) > 1 and stripped[0] == 1:
            stripped = stripped[1:]
        for value, store, dtype, tensor in (
            ("q8s", "native", "f32", None), ("q4f", "u32", "f16", None), ("e2m1", "packed", "ue4m3", "f32"),
            ("q2s", f"u32:{rank - 1}", "bf16", None), ("e4m3", f"u32:{rank - 1}", "ue8m0", None),
        ):  # fmt: skip
            fields = Fields(value, store.removesuffix(":0"), False, stripped, dtype, tensor)
            answer = oracle.quantize(x, fields)
            for backend in ("cpu", "opencl", "reference"):
                q = qcore.quantize(x, fields.text, backend=backend)
                np.testing.assert_array_equal(q.codes, answer.codes)
                exactly_equal(q.values, fields.values(answer.codes), fields.text)
                exactly_equal(np.asarray(q.scales).astype(np.float32), answer.scales, fields.text)
                np.testing.assert_array_equal(q.dequantize(), answer.decoded)


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
def test_every_size_around_a_vector_is_right(backend: str) -> None:
    for n in (*range(1, 70), 127, 128, 129, 255, 256, 257, 4095, 4096, 4097):
        x = weights(n)
        for value, store, block, dtype in (
            ("q8s", "native", None, "f32"), ("q8f", "native", (16,), "f16"), ("q4s", "u32", (32,), "f16"),
            ("q2s", "u32", None, "f32"), ("e2m1", "packed", (16,), "ue8m0"), ("e4m3", "native", (32,), "f32"),
            ("e5m2", "u32", (3,), "bf16"),
        ):  # fmt: skip
            fields = Fields(value, store, False, block, dtype)
            if n > 300 and block is not None and backend == "reference":
                continue
            answer = oracle.quantize(x, fields)
            q = qcore.quantize(x, fields.text, backend=backend)
            exactly_equal(q.values, fields.values(answer.codes), f"{fields.text} {n}")
            np.testing.assert_array_equal(q.dequantize(), answer.decoded)


@pytest.mark.parametrize("backend", ["cpu", "opencl", "reference"])
@pytest.mark.parametrize("value", ["q2f", "q4s", "q8f"])
def test_lookup_takes_the_nearest_entry_and_the_lower_index_on_a_tie(value: str, backend: str) -> None:
    table = table_for(value)
    ends = np.concatenate([table, np.sort(table)[:-1] / 2 + np.sort(table)[1:] / 2])
    x = np.unique(
        np.concatenate([ends, np.nextafter(ends, np.float32(9)), np.nextafter(ends, np.float32(-9))])
    )
    params = qcore.QuantParams(scales=[1.0])
    text = f"{value}/u32/lookup/t:f32"
    q = qcore.quantize(x, text, params=params, codebook=qcore.Codebook(table), backend=backend)
    wide = np.abs(x.astype(np.longdouble)[:, None] - table.astype(np.longdouble))
    np.testing.assert_array_equal(q.codes, np.argmin(wide, axis=1))
