"""Files: tensors that are read window by window, and files that are not what they claim to be."""

import numpy as np
import pytest

import qcore
from qcore_inspector import intents as i
from qcore_inspector import on_files, source
from qcore_inspector.present import canvas, status
from qcore_inspector.state import ERROR_MODES, VIEWS, Choice, Region


@pytest.fixture
def streamed(made, tmp_path, monkeypatch):
    """A file whose tensors count as too large to hold."""
    for module in (source, on_files, canvas):
        monkeypatch.setattr(module, "WHOLE", 1000)
    monkeypatch.setattr(source, "STRIPE", 4096)
    x = np.random.default_rng(4).standard_normal((200, 160)).astype(np.float32)
    x[17, 33] = 25.0
    path = tmp_path / "large.safetensors"
    qcore.save(path, {"w": x, "small": x[:4, :8], "half": x.astype(np.float16)})
    made.dispatch(i.OpenFile(str(path)))
    made.dispatch(i.SelectTensor("w"))
    return made, x


@pytest.mark.parametrize("scheme", ["int4-b32", "nvfp4", "burn-default", "int8-channel"])
def test_a_tensor_that_is_never_held_shows_the_librarys_numbers(streamed, scheme):
    store, x = streamed
    store.dispatch(i.SetChoice(Choice(scheme)))
    q = qcore.quantize(x, scheme)
    report = qcore.compare(x, q)
    assert store.state.measured_a.sqnr_db == pytest.approx(report.sqnr_db, rel=1e-9)
    store.dispatch(i.SetRegion(Region(10, 60, 20, 90), (800, 600)))
    wanted = {"codes": q.codes, "dequantized": q.dequantize(), "values": x}
    for view in VIEWS:
        store.dispatch(i.SetView(view))
        if view in wanted:
            assert np.array_equal(store.state.picture.cells, wanted[view][10:60, 20:90])
    for mode in ERROR_MODES:
        store.dispatch(i.SetErrorMode(mode))
    store.dispatch(i.PointAt((17, 33)))
    assert store.state.probe.decoded == q.dequantize()[17, 33]
    assert "code =" in status.present(store.state).cursor
    store.dispatch(i.PickPlace((17, 33)))
    d = store.state.detail
    assert np.array_equal(d.codes, q.codes[d.start[0] : d.stop[0], d.start[1] : d.stop[1]])
    store.dispatch(i.StepWorst(1))
    assert not [m for m in store.state.log if m.title == "unexpected"]


def test_a_sweep_of_a_large_tensor_says_what_it_looked_at(streamed, monkeypatch):
    from qcore_inspector import jobs

    monkeypatch.setattr(jobs, "SWEEP_SAMPLE", 64 * 160)
    store, _ = streamed
    store.dispatch(i.Sweep())
    assert store.state.sweep_note.startswith("sampled:")
    assert len(store.state.sweep) == 31


def test_what_a_large_tensor_cannot_show_is_said(streamed):
    store, _ = streamed
    store.dispatch(i.SetChoice(Choice("q4s/u32/t:f32", calibration="mse")))
    assert "window by window" in store.state.refused_a.text


def test_other_tensors_of_the_file_are_walked(streamed):
    store, x = streamed
    store.dispatch(i.SetFilter("half"))
    store.dispatch(i.StepTensor(1))
    assert store.state.selected.name == "half"
    assert store.state.facts.high == float(x.astype(np.float16).max())


def test_mutated_files_end_in_one_message_or_a_picture(made, tmp_path):
    good = tmp_path / "good.safetensors"
    rng = np.random.default_rng(9)
    q = qcore.quantize(np.ones((4, 32), np.float32), "int4-b32")
    qcore.save(good, {"a": rng.standard_normal((8, 32)).astype(np.float32), "b": q})
    raw = good.read_bytes()
    bad = tmp_path / "bad.safetensors"
    for _ in range(300):
        text = bytearray(raw[: int(rng.integers(1, len(raw) + 1))])
        for _ in range(int(rng.integers(0, 6))):
            text[int(rng.integers(len(text)))] = int(rng.integers(256))
        bad.write_bytes(bytes(text))
        made.dispatch(i.OpenFile(str(bad)))
        assert not made.state.running
        for row in made.state.file.rows if made.state.file is not None else ():
            made.dispatch(i.SelectTensor(row.name))
    unexpected = [m.details for m in made.state.log if m.title == "unexpected"]
    assert not unexpected
    made.dispatch(i.OpenFile(str(good)))
    assert made.state.picture is not None
