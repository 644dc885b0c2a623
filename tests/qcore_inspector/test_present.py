"""Presenters: what the panels are given to draw."""

import numpy as np
import pytest

import qcore
from qcore_inspector import editing, exporting
from qcore_inspector import intents as i
from qcore_inspector.panels import PANELS
from qcore_inspector.present import bits, builder, canvas, status, sweep, tables, tree
from qcore_inspector.state import Choice, State, TensorRow


def _noise(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("panel", list(PANELS), ids=lambda p: p.key)
def test_every_panel_has_something_to_say_about_nothing(panel):
    assert panel.present()(State()) is not None
    assert set(panel.watch) <= set(State.__dataclass_fields__) | {"selected"}


def test_the_builder_greys_out_what_cannot_be_and_says_why(shown):
    store = shown(_noise(16, 64))
    store.dispatch(i.SetChoice(Choice("q4s/u32/b32:f16")))
    fields = {field.part: field for field in builder.present(store.state).fields}
    packed = next(o for o in fields["store"].options if o.value == "packed")
    assert not packed.enabled
    assert "[" in packed.why


def test_a_refusal_comes_with_a_button_that_repairs_it(shown):
    store = shown(_noise(16, 64))
    store.dispatch(i.SetChoice(Choice("q4s/packed/b32:f16")))
    cpu = next(p for p in builder.present(store.state).places if p.name == "cpu")
    assert not cpu.fine
    assert cpu.solutions
    assert cpu.repairs
    store.dispatch(i.SetChoice(cpu.repairs[0].choice))
    assert store.state.refused_a is None


@pytest.mark.parametrize("scheme", ["nf4", "mxfp4", "q4s/native/b32:f16", "q8s/u32/b32:ue8m0"])
def test_every_repair_makes_its_place_accept(scheme):
    for place in builder.places(Choice(scheme), (64, 64)):
        for repair in place.repairs:
            assert qcore.check(repair.choice.scheme, (64, 64), on=place.name, op=place.asked)


def test_an_edit_writes_out_what_the_preset_implied():
    changed = editing.edited(Choice("nvfp4"), "block", "32")
    assert changed.scale_rounding == "nearest"
    assert editing.edited(Choice("nf4"), "block", "32").scheme.startswith("q4f/u32/lookup:nf4")


def test_block_edges_start_afresh_with_every_matrix_of_a_stack():
    assert canvas.grid_lines(2, 3, 0, 6, 6, 600) == (0.0, 2.0, 3.0, 5.0, 6.0)


def test_ragged_blocks_are_padded_on_the_picture(shown):
    store = shown(_noise(10, 40))
    store.dispatch(i.SetChoice(Choice("q8s/native/b4x32:f32")))
    data = canvas.present(store.state)
    assert (0.0, 40.0, 10.0, 64.0) in data.padding
    assert data.columns_at == (0.0, 32.0, 40.0)


def test_the_filter_narrows_by_every_word_and_by_pattern():
    rows = tuple(TensorRow(f"layers.{n}.mlp.down_proj", (1,), "float32", 1, 4) for n in range(12))
    assert len(tree._filtered(rows, "down 11")) == 1
    assert len(tree._filtered(rows, "layers.#.mlp")) == 12


def test_names_are_folded_at_their_dots():
    rows = tuple(TensorRow(f"model.layers.{n}.w", (1,), "float32", 1, 4) for n in range(3))
    (node,) = tree.fold(rows)
    assert node.label == "model.layers"
    assert [child.label for child in node.children] == ["0.w", "1.w", "2.w"]


@pytest.mark.parametrize("scheme", ["int4-b32", "nvfp4", "int8", "int2-b32", "mxfp4", "nf4", "q4s/u32:1/b32:f16"])
def test_the_bits_of_a_block_read_back_as_its_codes_and_values(shown, scheme):
    x = _noise(32, 64)
    store = shown(x)
    store.dispatch(i.SetChoice(Choice(scheme)))
    store.dispatch(i.PickPlace((3, 40)))
    q = qcore.quantize(x, scheme)
    decoded, seen = q.dequantize(), 0
    for word in bits.present(store.state).words:
        assert int(word.hex, 16) == int(q.values[word.index]) & (1 << 4 * (len(word.hex) - 2)) - 1
        for lane in word.lanes:
            if lane.element is not None:
                seen += 1
                assert np.float32(lane.value) == pytest.approx(decoded[lane.element], rel=1e-6)
                assert lane.source == x[lane.element]
    assert seen


def test_a_foreign_nibble_order_is_recognised_by_its_error(shown):
    x = _noise(16, 64)
    store = shown(x)
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.PickPlace((3, 40)))
    stored = bits.present(store.state).verdict
    for name in bits.READINGS:
        store.dispatch(i.SetInterpretation(name))
        assert bits.present(store.state).reading == name
    assert "as stored" in stored


def test_columns_are_ranked_by_peak_and_by_weighted_error(shown, tmp_path):
    x = _noise(32, 64)
    x[:, 7] *= 50
    store = shown(x)
    assert tables.marginals(store.state).rows[0][0] == 7
    weights = np.ones(64)
    weights[20] = 1e6
    np.save(tmp_path / "weights.npy", weights)
    store.dispatch(i.OpenImportance(str(tmp_path / "weights.npy")))
    store.dispatch(i.SetMarginal(by="weighted"))
    table = tables.marginals(store.state)
    assert table.headers[-1] == "weighted RMS"
    assert table.rows[0][0] == 20
    store.dispatch(table.intents[0])
    assert store.state.region.left <= 20 < store.state.region.right


def test_a_sweep_marks_its_front_and_applies_a_row_as_b(shown):
    store = shown(_noise(32, 64))
    store.dispatch(i.Sweep())
    data = sweep.present(store.state)
    assert len(data.table.rows) == 31
    assert any(row[0] == "\u25c6" for row in data.table.rows)
    store.dispatch(data.table.intents[3])
    assert store.state.choice_b.scheme == "int8-b32"


def test_the_status_line_says_all_of_an_element(shown):
    store = shown(_noise(16, 64))
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.PointAt((2, 33)))
    said = status.present(store.state).cursor
    for word in ("(2, 33)", "x =", "code =", "scale =", "decoded =", "err =", "block (2, 1)"):
        assert word in said


@pytest.mark.parametrize("what", ["csv:metrics", "csv:sweep", "csv:worst blocks", "csv:outliers", "csv:block",
                                  "csv:tensors", "csv:histogram", "csv:log", "recipe", "report", "json"])  # fmt: skip
def test_everything_that_can_be_exported_is_written(shown, tmp_path, what):
    store = shown(_noise(16, 64))
    store.dispatch(i.Sweep())
    path = tmp_path / "out.html"
    store.dispatch(i.Export(what, str(path)))
    assert path.stat().st_size > 20
    assert store.state.notice.text == f"wrote {path}"


def test_an_exported_error_is_decoded_minus_source(shown, tmp_path):
    x = _noise(16, 64)
    store = shown(x)
    store.dispatch(i.SetChoice(Choice("int4-b32")))
    store.dispatch(i.Export("npy:error", str(tmp_path / "e.npy")))
    assert np.array_equal(np.load(tmp_path / "e.npy"), qcore.quantize(x, "int4-b32").dequantize() - x)


def test_the_report_needs_no_network(shown):
    store = shown(_noise(16, 64))
    page = exporting.report(store.state)
    assert "http" not in page.replace("http-equiv", "")
    assert "data:image/png;base64," in page


def test_code_is_written_for_rust_python_and_the_shell():
    choice = Choice("int4-b32", calibration="mse")
    assert "QuantScheme" in exporting.code(choice, "rust")
    assert "calibration='mse'" in exporting.code(choice, "python")
    assert exporting.code(choice, "cli").endswith("--scheme int4-b32 --calibration mse")
