"""Error reports: every number against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import qcore
from qcore import QuantParams, errors


@pytest.mark.parametrize(
    "scheme", ["int8", "int4-b32", "nvfp4", "nf4", "mxfp4", "q4s/u32:1/b32x1:f16", "q8s/native/b2x5:f32"]
)
def test_numbers_follow_their_definitions(scheme: str) -> None:
    x = np.random.default_rng(5).standard_normal((37, 96)).astype(np.float32)
    q = qcore.quantize(x, scheme)
    r = qcore.compare(x, q)
    y = q.dequantize().astype(np.float64)
    d = x.astype(np.float64) - y
    assert r.mse == pytest.approx((d**2).mean(), rel=1e-12)
    assert r.rmse == math.sqrt(r.mse)
    assert r.sqnr_db == pytest.approx(
        10 * math.log10((x.astype(np.float64) ** 2).sum() / (d**2).sum()), rel=1e-12
    )
    assert r.max_abs == np.float32(np.abs(d).max())
    assert np.abs(d)[r.max_index] == np.abs(d).max()
    assert r.p999 == np.sort(np.abs(d).astype(np.float32).reshape(-1))[math.ceil(0.999 * d.size) - 1]
    assert r.cosine == pytest.approx(
        (x * y).sum() / math.sqrt((x.astype(np.float64) ** 2).sum() * (y**2).sum()), rel=1e-12
    )
    assert r.block_mse.shape == q.scales.shape
    assert (r.count, r.skipped, r.blocks) == (x.size, 0, q.scales.size)
    assert r == qcore.compare(x, q, backend="reference")
    assert r == qcore.compare(x, q, threads=3)


def test_no_error_at_all_is_infinitely_good() -> None:
    x = np.array([1.0, -2.0, 127.0], np.float32)
    r = qcore.compare(x, qcore.quantize(x, "int8"))
    assert (r.sqnr_db, r.mse, r.max_abs, r.rmse_step) == (math.inf, 0.0, 0.0, 0.0)


def test_clipped_elements_are_those_beyond_the_largest_code() -> None:
    x = np.array([7.4, 7.5, -7.4, -7.6, 100.0, 0.0], np.float32)
    q = qcore.quantize(x, "q4s/u32", params=QuantParams([1.0]))
    r = qcore.compare(x, q)
    assert (r.clipped_count, r.clipped) == (3, 0.5)
    x = np.array([464.0, 464.1, -500.0, 1.0], np.float32)
    assert qcore.compare(x, qcore.quantize(x, "fp8", params=QuantParams([1.0]))).clipped_count == 2
    x = np.array([6.9, 7.0, -7.1, 1.0], np.float32)
    assert qcore.compare(x, qcore.quantize(x, "e2m1/packed", params=QuantParams([1.0]))).clipped_count == 2


def test_flushed_blocks_hold_something_but_decode_to_zeros() -> None:
    x = np.zeros((1, 48), np.float32)
    x[0, :16] = 1000.0
    x[0, 16:32] = 1e-6
    r = qcore.compare(x, qcore.quantize(x, "nvfp4"))
    assert (r.flushed, r.blocks) == (1, 3)


def test_steps_measure_error_in_units_of_the_scale() -> None:
    x = np.array([[0.25, 0.0], [2.5, 0.0]], np.float32)
    q = qcore.quantize(x, "q8s/native/b2:f32", params=QuantParams([1.0, 10.0]))
    assert qcore.compare(x, q).rmse_step == pytest.approx(math.sqrt((0.25**2 * 2) / 4))


def test_non_finite_pairs_are_left_out_and_counted() -> None:
    x = np.array([1.0, np.nan, np.inf, -2.0], np.float32)
    r = qcore.compare(x, qcore.quantize(x, "int8", nonfinite="saturate"))
    assert (r.count, r.skipped) == (2, 2)
    assert math.isfinite(r.sqnr_db)
    everything = qcore.compare(x[1:3], qcore.quantize(x[1:3], "int8", nonfinite="saturate"))
    assert everything.count == 0
    assert math.isnan(everything.mse)
    assert everything.max_index is None


def test_plain_arrays_compare_without_a_scheme() -> None:
    x = np.linspace(-1, 1, 100).astype(np.float32)
    r = qcore.compare(x, x + np.float32(0.5))
    assert r.max_abs == pytest.approx(0.5)
    assert math.isnan(r.rmse_step)
    assert qcore.compare(x[:0], x[:0]).count == 0


def test_shapes_must_agree() -> None:
    with pytest.raises(errors.ShapeError) as caught:
        qcore.compare(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32))
    assert caught.value.code == "shape-mismatch"


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_empty_and_0_d_tensors_compare(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.3, np.float32)
    r = qcore.compare(x, qcore.quantize(x, "int4-b32"))
    assert r.count == x.size
    assert "dB" in str(r)
    assert r._repr_html_().startswith("<table>")
    assert set(r.to_dict()) >= {"sqnr_db", "clipped", "flushed"}
