"""Intents in, states out: what the window does, without a window."""

import numpy as np
import pytest

import qcore
from qcore_inspector import intents as i
from qcore_inspector import reports as r
from qcore_inspector.state import Choice, Region, Running, State, element_of, place_of
from qcore_inspector.update import HANDLERS, update


def test_every_intent_has_a_handler():
    named = {**vars(i), **vars(r)}
    kinds = {k for k in named.values() if isinstance(k, type) and issubclass(k, i.Intent)}
    assert kinds - {i.Intent, r.Report} == set(HANDLERS)


def test_opening_the_sample_selects_and_measures_its_first_tensor(made):
    made.dispatch(i.OpenSample())
    state = made.state
    assert state.selected.name == "minilm_l0_query"
    assert state.measured_a.sqnr_db > 30
    assert state.picture.cells.shape == (384, 384)
    assert state.facts.count == 384 * 384
    assert not state.running


def test_a_file_that_fails_to_open_leaves_a_message_and_nothing_busy(made, tmp_path):
    made.dispatch(i.OpenFile(str(tmp_path / "nothing.safetensors")))
    assert made.state.notice.level == "error"
    assert not made.state.running
    assert made.state.file is None


def test_a_bad_file_keeps_the_good_one_open(made, tmp_path):
    made.dispatch(i.OpenSample())
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"not a file of tensors")
    made.dispatch(i.OpenFile(str(bad)))
    assert made.state.file.title == "sample weights"
    assert made.state.notice is not None
    made.dispatch(i.Dismiss())
    assert made.state.notice is None


def test_a_stale_report_is_dropped():
    state = State(serial=4, newest=(("facts", 4),))
    assert update(state, r.Progressed("facts", 3, 1, 2)).state is state


def test_an_edit_can_be_undone_and_redone(shown):
    store = shown(np.ones((8, 64), np.float32))
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.EditScheme("block", "16"))
    assert store.state.choice.scheme == "q4s/u32/b16:f16"
    store.dispatch(i.Undo())
    assert store.state.choice.scheme == "int4-b32"
    store.dispatch(i.Redo())
    assert store.state.choice.scheme == "q4s/u32/b16:f16"


def test_a_refused_scheme_says_why_and_is_not_measured(shown):
    store = shown(np.ones((8, 64), np.float32))
    store.dispatch(i.SetChoice(Choice("q4s/packed/b32:f16")))
    assert store.state.refused_a.title == "native-packing-unsupported" or store.state.refused_a.solutions
    assert store.state.measured_a is None
    assert store.state.picture is not None  # values need no scheme


def test_a_text_that_is_no_scheme_is_refused_with_its_page(shown):
    store = shown(np.ones((8, 64), np.float32))
    store.dispatch(i.SetChoice(Choice("q5x")))
    assert store.state.refused_a.title in ("scheme-text", "unknown-name")


def test_a_and_b_are_shown_compared_and_swapped(shown):
    store = shown(np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32))
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.ApplyAsB(Choice("int8-b32")))
    assert store.state.showing == "B"
    assert store.state.measured.sqnr_db == store.state.measured_b.sqnr_db
    store.dispatch(i.Toggle("difference"))
    assert store.state.picture.what == "decoded A \u2212 decoded B"
    store.dispatch(i.SwapAB())
    assert store.state.choice_a.scheme == "int8-b32"
    store.dispatch(i.Show())
    assert store.state.showing == "A"


def test_jumping_to_a_worst_block_centres_and_looks_at_it(shown):
    x = np.full((256, 256), 0.01, np.float32)
    x[200, 100] = 50
    store = shown(x)
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.StepWorst(1))
    state = store.state
    assert state.block == (200, 3)
    assert state.region.top <= 200 < state.region.bottom
    assert state.detail.start == (200, 96)


def test_a_region_is_drawn_and_remembered(shown):
    store = shown(np.arange(10_000, dtype=np.float32).reshape(100, 100))
    store.dispatch(i.SetRegion(Region(10, 20, 30, 50), (400, 300)))
    assert store.state.picture.cells.tolist() == np.arange(10_000.0).reshape(100, 100)[10:20, 30:50].tolist()
    store.dispatch(i.Fit())
    assert store.state.region == Region(0, 100, 0, 100)


def test_cancelling_stops_what_runs_and_keeps_finished_rows():
    state = State(serial=7, newest=(("sweep", 7),), running=(Running(7, "sweep", "sweep x"),))
    step = update(state, i.CancelJobs())
    assert step.cancel == ("sweep",)
    assert not step.state.running


def test_a_recipe_collects_one_rule_a_tensor(shown):
    store = shown(np.ones((8, 64), np.float32))
    store.dispatch(i.AddRule())
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.AddRule())
    assert store.state.recipe == (("x", "int4-b32"),)


def test_a_quantized_tensor_is_shown_as_it_is_stored(shown):
    x = np.random.default_rng(1).standard_normal((16, 64)).astype(np.float32)
    q = qcore.quantize(x, "nvfp4")
    store = shown(q)
    assert store.state.choice.scheme == "as stored"
    store.dispatch(i.SetView("codes"))
    assert np.array_equal(store.state.picture.cells, q.codes)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (2, 2, 2, 2)])
def test_places_and_elements_are_inverse(shape):
    for index in np.ndindex(*shape):
        assert element_of(shape, None, *place_of(shape, None, index)) == index
