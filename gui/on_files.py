"""Handlers of intents about files and tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from . import intents as i
from . import jobs
from . import reports as r
from .lens import AS_STORED
from .source import WHOLE
from .starting import Next
from .state import Axes, Choice, Message, Region, TensorRow

RECENT: Final = 10
THIN: Final = 16
"""A tensor whose last axis is shorter is not shown flattened at first."""
_SLOTS: Final = ("facts", "picture", "picture B", "measure A", "measure B", "detail", "probe", "sweep")
_NOTHING: Final = {
    "picture": None, "picture_b": None, "measured_a": None, "measured_b": None, "facts": None, "detail": None,
    "block": None, "cursor": None, "probe": None, "sweep": None, "sweep_note": "", "worst_at": -1, "axes": None,
    "importance": None,
}  # fmt: skip


def open_file(n: Next, intent: i.OpenFile) -> Next:
    label = f"open {Path(intent.path).name or intent.path}"
    return n.start(jobs.OpenJob, "open", label, intent.path)


def open_sample(n: Next, intent: i.OpenSample) -> Next:
    return n.start(jobs.OpenJob, "open", "open the sample", jobs.SAMPLE)


def show_array(n: Next, intent: i.ShowArray) -> Next:
    return n.start(jobs.ShowJob, "open", f"show {intent.name}", {intent.name: intent.array}, "an array from Python")


def reload(n: Next, intent: i.Reload) -> Next:
    if n.state.file is None or n.state.file.format == "memory":
        return n
    n.set(stale_on_disk=False)
    return n.start(jobs.OpenJob, "open", f"reload {n.state.file.title}", n.state.file.path)


def close_file(n: Next, intent: i.CloseFile) -> Next:
    n.set(file=None, selected=None, region=None, filter="", refused_a=None, refused_b=None, **_NOTHING)
    return n.stop(*_SLOTS).start(jobs.CloseJob, "open", "close the file")


def opened(n: Next, intent: r.Opened) -> Next:
    file, before = intent.file, n.state
    same = before.file is not None and before.file.path == file.path
    recent = before.recent
    if file.format != "memory":
        recent = (file.path, *(path for path in recent if path != file.path))[:RECENT]
    n.stop(*_SLOTS).set(file=file, recent=recent, selected=None, stale_on_disk=False, notice=None, **_NOTHING)
    n.set(filter=before.filter if same else "")
    n.tell(Message(f"opened {file.title}: {len(file.rows):,} tensors, {file.elements:,} parameters"))
    keep = before.selected.name if same and before.selected is not None else None
    named = [row for row in file.rows if row.name == keep]
    row = named[0] if named else next((row for row in file.rows if row.size), None)
    return n if row is None else _select(n, row)


def select(n: Next, intent: i.SelectTensor) -> Next:
    if n.state.file is None or (n.state.selected is not None and n.state.selected.name == intent.name):
        return n
    row = next((row for row in n.state.file.rows if row.name == intent.name), None)
    return n if row is None else _select(n, row)


def step_tensor(n: Next, intent: i.StepTensor) -> Next:
    from .present.tree import shown

    rows = shown(n.state)
    if not rows:
        return n
    names = [row.name for row in rows]
    current = n.state.selected.name if n.state.selected is not None else ""
    at = names.index(current) if current in names else -1 if intent.by > 0 else 0
    return _select(n, rows[(at + intent.by) % len(rows)])


def _select(n: Next, row: TensorRow) -> Next:
    n.stop(*_SLOTS).set(selected=row, **_NOTHING)
    choice = n.state.choice_a
    if row.quantized:
        n.set(choice_a=replace(choice, scheme=AS_STORED, calibration=None, scale_rounding=None))
    elif choice.scheme == AS_STORED:
        n.set(choice_a=n.state.undo[-1] if n.state.undo and n.state.undo[-1].scheme != AS_STORED else Choice())
    if len(row.shape) > 2 and row.shape[-1] < THIN and row.size <= WHOLE:
        n.set(axes=_widest(row.shape))
    rows, columns = n.state.matrix
    n.set(region=Region(0, rows, 0, columns), epoch=n.state.epoch + 1)
    n.start(jobs.FactsJob, "facts", f"look at {row.name}", row.name)
    n.remeasure()
    return n.redraw().ask()


def _widest(shape: tuple[int, ...]) -> Axes:
    """The two longest axes: kernels of convolutions are thin in their last ones."""
    row, column = sorted(sorted(range(len(shape)), key=lambda axis: -shape[axis])[:2])
    return Axes(row, column, (0,) * len(shape))


def set_filter(n: Next, intent: i.SetFilter) -> Next:
    return n.set(filter=intent.text)


def set_recent(n: Next, intent: i.SetRecent) -> Next:
    return n.set(recent=intent.paths[:RECENT])


def file_changed(n: Next, intent: i.FileChanged) -> Next:
    message = Message("The file has changed on disk. F5 reads it again.", "changed", level="warning")
    return n if n.state.stale_on_disk else n.set(stale_on_disk=True).tell(message, loud=True)


def open_importance(n: Next, intent: i.OpenImportance) -> Next:
    if n.state.selected is None:
        return n
    return n.start(jobs.ImportanceJob, "importance", "read importance", intent.path, n.state.matrix[1])


def export(n: Next, intent: i.Export) -> Next:
    return n.start(jobs.ExportJob, "export", f"write {Path(intent.path).name}", intent.what, intent.path, n.state)


def add_rule(n: Next, intent: i.AddRule) -> Next:
    if n.state.selected is None or n.state.refused is not None:
        return n
    rule = (n.state.selected.name, n.state.choice.scheme)
    n.set(recipe=(*(old for old in n.state.recipe if old[0] != rule[0]), rule))
    return n.tell(Message(f"recipe: {rule[0]} = {rule[1]} (rule {len(n.state.recipe)})"))


HANDLERS: Final[dict[type[i.Intent], Callable[[Next, Any], Next]]] = {
    i.OpenFile: open_file,
    i.OpenSample: open_sample,
    i.ShowArray: show_array,
    i.Reload: reload,
    i.CloseFile: close_file,
    r.Opened: opened,
    i.SelectTensor: select,
    i.StepTensor: step_tensor,
    i.SetFilter: set_filter,
    i.SetRecent: set_recent,
    i.FileChanged: file_changed,
    i.OpenImportance: open_importance,
    i.Export: export,
    i.AddRule: add_rule,
}

