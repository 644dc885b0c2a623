"""Sweeps: the numbers of quantize and compare, the front by brute force, and tables that go anywhere."""

from __future__ import annotations

import csv
import io
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore import errors
from qcore.analysis import candidates, pareto, sampling
from qcore.scheme import QuantScheme


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(11).standard_normal((96, 128)).astype(np.float32)


def test_every_number_is_that_of_quantize_and_compare(x: np.ndarray) -> None:
    for row in qcore.sweep(x):
        q = qcore.quantize(x, row.label)
        assert row.report == qcore.compare(x, q)
        assert (row.nbytes, row.bits_per_weight) == (q.nbytes, q.bits_per_weight)
        assert row.scheme == str(q.scheme)
        assert row.calibration == q.rules["calibration"]
        assert row.loads == tuple(
            name for name, verdict in qcore.survey(row.label, x.shape).items() if verdict
        )


@given(st.lists(st.tuples(st.integers(1, 6).map(float), st.integers(1, 6).map(float)), max_size=12))
def test_the_front_is_what_brute_force_finds(points: list[tuple[float, float]]) -> None:
    beaten = [
        any(s <= size and q >= quality and (s, q) != (size, quality) for s, q in points)
        for size, quality in points
    ]
    assert pareto.front(points) == [not b for b in beaten]


def test_a_grid_is_every_combination_that_means_something() -> None:
    found = [
        c.label for c in candidates.candidates(
            None, values=["q4s", "e2m1"], blocks=[32, 0], scales=["f16", "ue4m3"], levels=[1, 2]
        )
    ]  # fmt: skip
    assert found == [
        "q4s/u32/b32:f16", "q4s/u32/b32:f16/t:f32", "q4s/u32/b32:ue4m3", "q4s/u32/b32:ue4m3/t:f32",
        "q4s/u32/t:f16", "q4s/u32/t:ue4m3",
        "e2m1/packed/b32:f16", "e2m1/packed/b32:f16/t:f32", "e2m1/packed/b32:ue4m3", "e2m1/packed/b32:ue4m3/t:f32",
        "e2m1/packed/t:f16", "e2m1/packed/t:ue4m3",
    ]  # fmt: skip


def test_calibrations_and_scale_roundings_are_swept_and_named(x: np.ndarray) -> None:
    table = qcore.sweep(x, ["mxfp4"], calibrations=["minmax", "mse"], scale_roundings=["up", "floor", "even"])
    assert [(row.calibration, row.scale_rounding) for row in table] == [
        (c, r) for c in ("minmax", "mse") for r in ("up", "floor", "even")
    ]
    assert len({row.report.sqnr_db for row in table}) > 3


def test_a_refused_scheme_is_a_row_with_its_error(x: np.ndarray) -> None:
    (row,) = qcore.sweep(x, ["q8s/packed"])
    assert row.report is None
    assert row.refusal.code == "native-packing-unsupported"
    assert not row.pareto
    assert "native-packing-unsupported" in qcore.sweep(x, ["q8s/packed"]).to_csv()
    assert "refused" in repr(qcore.sweep(x, ["q8s/packed"]))


def test_tensors_by_name_have_fronts_of_their_own(x: np.ndarray) -> None:
    table = qcore.sweep({"a": x, "b": x[:8] * 100}, ["int8-b32", "int4-b32"])
    assert [row.tensor for row in table] == ["a", "a", "b", "b"]
    assert all(row.pareto for row in table)


@pytest.mark.parametrize("shape", [(1000, 64), (64, 1000), (4096,), (3, 5, 700)])
def test_a_sample_is_whole_blocks_and_always_the_same(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    schemes = [
        QuantScheme.parse(s)
        for s in ("q8s/native/b32:f32", "q4s/u32/b4x16:f16")
        if len(shape) > 1 or "x" not in s
    ]
    found = sampling.take(x, 0.25, schemes)
    again = sampling.take(x, 0.25, schemes)
    assert found.array.tobytes() == again.array.tobytes()
    assert 0.1 < found.share < 0.5
    assert found.share == found.array.size / x.size
    for scheme in schemes:
        extent = scheme.block_size.expand(x.ndim)[found.axis]
        starts = found.array.take(0, axis=found.axis).reshape(-1)[:1]
        assert (int(starts[0]) // int(np.prod(shape[found.axis + 1 :]))) % extent == 0
    assert "%" in found.note


def test_a_sampled_row_keeps_the_size_of_the_whole_and_says_so(x: np.ndarray) -> None:
    whole, part = qcore.sweep(x, ["int4-b32"])[0], qcore.sweep(x, ["int4-b32"], sample=0.25)[0]
    assert (whole.nbytes, whole.bits_per_weight) == (part.nbytes, part.bits_per_weight)
    assert whole.sampled == "all elements"
    assert part.sampled.startswith("25.0% of the elements")
    assert part.report.count == x.size // 4
    with pytest.raises(errors.InvalidSchemeError) as caught:
        qcore.sweep(x, ["int8"], sample=0)
    assert caught.value.code == "option-value"


def test_progress_is_told_and_a_token_cancels(x: np.ndarray) -> None:
    seen: list[tuple[int, int]] = []
    token = threading.Event()

    def watch(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 2:
            token.set()

    with pytest.raises(errors.OperationCancelled) as caught:
        qcore.sweep(x, ["int8", "int4-b32", "nvfp4"], progress=watch, cancel=token)
    assert seen == [(1, 3), (2, 3)]
    assert caught.value.code == "cancelled"


def test_the_table_goes_to_csv_json_and_html(x: np.ndarray) -> None:
    table = qcore.sweep(x, ["int8", "nvfp4", "q8s/packed"])
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [row["label"] for row in rows] == ["int8", "nvfp4", "q8s/packed"]
    document = json.loads(table.to_json())
    assert document["schema"] == "qcore.sweep/1"
    assert [row["label"] for row in document["rows"]] == ["int8", "nvfp4", "q8s/packed"]
    assert float(rows[1]["sqnr_db"]) == document["rows"][1]["sqnr_db"] == table[1].report.sqnr_db
    assert table._repr_html_().count("<tr>") == 4
    assert len(table[:2]) == 2
    perfect = qcore.sweep(np.zeros((2, 32), np.float32), ["int8"]).to_json()
    assert json.loads(perfect)["rows"][0]["sqnr_db"] == "inf"


def test_a_missing_pandas_is_a_documented_error(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(errors.QuantError) as caught:
        qcore.sweep(x, ["int8"]).to_dataframe()
    assert caught.value.code == "package-missing"


def test_nothing_to_try_is_refused(x: np.ndarray) -> None:
    with pytest.raises(errors.InvalidSchemeError):
        qcore.sweep(x, [])
