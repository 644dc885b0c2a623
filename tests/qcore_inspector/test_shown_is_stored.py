"""What is shown is what the library says: codes, scales and decoded values, element by element."""

import numpy as np
import pytest

import qcore
from qcore.scheme import PRESETS
from qcore_inspector import facts
from qcore_inspector import intents as i
from qcore_inspector.lens import StreamLens, WholeLens, quantized
from qcore_inspector.measure import measure
from qcore_inspector.source import matrix_of_array
from qcore_inspector.state import Choice

SCHEMES = (*PRESETS, "q4s/u32/b4x8:f16", "q8f/native/b16:bf16", "q4f/u32/lookup:iq4_nl/b32:f16", "q2s/u32:1/b2x1:f32")
PROBES = 1000


def _tensor(shape):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype(np.float32)
    x.flat[5] = 40.0
    return x


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_thousand_probes_equal_the_library(scheme):
    x = _tensor((4, 32, 64))
    q = qcore.quantize(x, scheme)
    decoded = q.dequantize()
    matrix = matrix_of_array("x", x)
    lens = WholeLens(matrix, Choice(scheme))
    grid, extents = q.effective_scales.reshape(lens.grid.shape), q.plan().extents
    rng = np.random.default_rng(7)
    for _ in range(PROBES):
        index = tuple(int(rng.integers(d)) for d in x.shape)
        row, column = index[0] * 32 + index[1], index[2]
        seen = lens.window(row, row + 1, column, column + 1)
        block = tuple(a // e for a, e in zip(index, extents, strict=True))
        assert seen.codes[0, 0] == q.codes[index]
        assert seen.decoded[0, 0] == decoded[index]
        assert seen.scales[0, 0] == grid[block]
        assert seen.x[0, 0] == x[index]


STREAMED = [s for s in SCHEMES if s not in ("bitnet", "q2s/u32:1/b2x1:f32") and "int8-channel" not in s]


@pytest.mark.parametrize("scheme", STREAMED)
def test_a_window_of_a_large_tensor_is_what_the_whole_would_be(scheme):
    x = _tensor((130, 96))
    matrix = matrix_of_array("x", x)
    peak = float(x.flat[np.abs(x).argmax()])
    lens = StreamLens(matrix, Choice(scheme), peak)
    whole = quantized(x, Choice(scheme))
    seen = lens.window(33, 97, 17, 77)
    assert np.array_equal(seen.codes, whole.codes[33:97, 17:77])
    assert np.array_equal(seen.decoded, whole.dequantize()[33:97, 17:77])


@pytest.mark.parametrize("scheme", ["int4-b32", "nvfp4", "burn-default", "mxfp8", "q4s/u32/b4x8:f16"])
def test_sums_over_stripes_agree_with_the_report(scheme, monkeypatch):
    from qcore_inspector import source

    monkeypatch.setattr(source, "STRIPE", 2048)
    x = _tensor((130, 96))
    matrix = matrix_of_array("x", x)
    peak = float(x.flat[np.abs(x).argmax()])
    lens = StreamLens(matrix, Choice(scheme), peak)
    found = measure(matrix, lens, lambda: False, lambda a, b: None)
    report = qcore.compare(x, qcore.quantize(x, scheme))
    assert found.sqnr_db == pytest.approx(report.sqnr_db, rel=1e-9)
    assert found.rmse == pytest.approx(report.rmse, rel=1e-9)
    assert found.max_abs == pytest.approx(report.max_abs, rel=1e-6)
    assert (found.clipped_count, found.flushed, found.blocks) == (report.clipped_count, report.flushed, report.blocks)
    assert found.max_at == report.max_index


def test_metrics_of_a_tensor_in_memory_are_the_librarys_own(shown):
    x = _tensor((64, 64))
    store = shown(x)
    store.dispatch(i.SetChoice(Choice("mxfp4")))
    report = qcore.compare(x, qcore.quantize(x, "mxfp4"))
    found = store.state.measured_a
    for name in ("sqnr_db", "rmse", "rmse_step", "max_abs", "p999", "cosine", "clipped", "flushed", "blocks"):
        assert getattr(found, name) == getattr(report, name)


AWKWARD = {
    "all NaN": np.full((4, 8), np.nan, np.float32),
    "infinities": np.array([[np.inf, -np.inf, 1.0, np.nan]], np.float32),
    "constant": np.full((5, 5), 3.5, np.float32),
    "zeros": np.zeros((8, 32), np.float32),
    "no elements": np.zeros((0, 7), np.float32),
    "scalar": np.float32(2.5),
    "one row": np.linspace(-1, 1, 100_003, dtype=np.float32).reshape(1, -1),
    "one column": np.linspace(-1, 1, 10_001, dtype=np.float32).reshape(-1, 1),
    "bool": np.array([[True, False, True]]),
    "int64 ends": np.array([[np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0]]),
    "float64 ends": np.array([[1.7e308, -1.7e308, 1e-320]]),
    "tiny": np.array([[1e-45, -1e-45, 1e-40]], np.float32),
    "complex": np.array([[3 + 4j, 1j]]),
    "five axes": np.arange(2 * 3 * 2 * 3 * 4, dtype=np.float32).reshape(2, 3, 2, 3, 4),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_tensor_is_shown_and_counted(shown, name):
    store = shown(AWKWARD[name])
    state = store.state
    array = np.asarray(AWKWARD[name])
    assert state.selected is None or state.facts is not None or array.size == 0
    if array.size:
        assert int(state.facts.counts.sum()) + state.facts.nan + state.facts.infinite == array.size
        assert state.picture.cells.size
    assert not [m for m in state.log if m.title == "unexpected"], state.log
    assert not state.running


def test_a_lone_outlier_survives_every_zoom(shown):
    x = np.zeros((3000, 3000), np.float32)
    x[1234, 2345] = -9.0
    store = shown(x)
    assert store.state.picture.factor != (1, 1)
    assert store.state.picture.cells.min() == -9.0
    assert store.state.facts.low == -9.0


def test_facts_can_be_cancelled_between_two_stripes():
    calls = []

    def cancelled():
        calls.append(1)
        return len(calls) > 1

    x = np.zeros((4096, 1024), np.float32)
    assert facts.look(matrix_of_array("x", x), cancelled, lambda a, b: None) is None
    assert len(calls) == 2
