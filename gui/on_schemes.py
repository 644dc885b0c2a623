"""Handlers of intents about schemes: editing, A and B, undo, the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from . import editing, jobs
from . import intents as i
from .job import message_of
from .starting import Next
from .state import UNDO_STEPS, Choice, Message


def set_choice(n: Next, intent: i.SetChoice) -> Next:
    if intent.choice == n.state.choice:
        return n
    return _changed(n, intent.choice)


def edit(n: Next, intent: i.EditScheme) -> Next:
    from qcore import errors

    try:
        choice = editing.edited(n.state.choice, intent.part, intent.value)
    except errors.QuantError as error:
        return n.tell(message_of(error), loud=True)
    return set_choice(n, i.SetChoice(choice))


def _changed(n: Next, choice: Choice) -> Next:
    before = n.state.choice
    n.set(undo=(*n.state.undo, before)[-UNDO_STEPS:], redo=())
    return _put(n, choice)


def _put(n: Next, choice: Choice) -> Next:
    letter = "B" if n.state.showing == "B" and n.state.choice_b is not None else "A"
    n.set(**{f"choice_{letter.lower()}": choice}, worst_at=-1, probe=None)
    n.remeasure(letter).redraw()
    return _look_again(n)


def _look_again(n: Next) -> Next:
    n.ask()
    detail = n.state.detail
    return n if detail is None else n.relook(None, detail.start)


def undo(n: Next, intent: i.Undo) -> Next:
    if not n.state.undo:
        return n
    last = n.state.undo[-1]
    n.set(undo=n.state.undo[:-1], redo=(*n.state.redo, n.state.choice))
    return _put(n, last)


def redo(n: Next, intent: i.Redo) -> Next:
    if not n.state.redo:
        return n
    last = n.state.redo[-1]
    n.set(redo=n.state.redo[:-1], undo=(*n.state.undo, n.state.choice))
    return _put(n, last)


def apply_as_b(n: Next, intent: i.ApplyAsB) -> Next:
    n.set(choice_b=intent.choice, showing="B").remeasure("B").redraw()
    n.tell(Message(f"B is {intent.choice.scheme}; Space flickers between A and B"))
    return _look_again(n)


def show(n: Next, intent: i.Show) -> Next:
    which = intent.which or ("A" if n.state.showing == "B" else "B")
    if which == "B" and n.state.choice_b is None:
        n.set(choice_b=n.state.choice_a).remeasure("B")
    if which == n.state.showing:
        return n
    n.set(showing=which, worst_at=-1)
    if not n.state.compare:
        n.redraw()
    return _look_again(n)


def swap(n: Next, intent: i.SwapAB) -> Next:
    s = n.state
    if s.choice_b is None:
        return n
    n.set(
        choice_a=s.choice_b, choice_b=replace(s.choice_a), measured_a=s.measured_b, measured_b=s.measured_a,
        refused_a=s.refused_b, refused_b=s.refused_a,
    )  # fmt: skip
    return _look_again(n.remeasure().redraw())


def sweep(n: Next, intent: i.Sweep) -> Next:
    row = n.state.selected
    if row is None or not row.size:
        return n
    n.set(tab="sweep", sweep=None, sweep_note="trying schemes")
    return n.start(jobs.SweepJob, "sweep", f"sweep {row.name}", row.name, intent.exact)


def cancel(n: Next, intent: i.CancelJobs) -> Next:
    wanted = tuple(r.slot for r in n.state.running if r.slot not in ("sweep",))
    if any(r.slot == "sweep" for r in n.state.running):
        n.set(sweep_note="cancelled: finished rows are kept")
        wanted = (*wanted, "sweep")
    return n.stop(*wanted).tell(Message("cancelled")) if wanted else n.set(notice=None)


HANDLERS: Final[dict[type[i.Intent], Callable[[Next, Any], Next]]] = {
    i.SetChoice: set_choice,
    i.EditScheme: edit,
    i.Undo: undo,
    i.Redo: redo,
    i.ApplyAsB: apply_as_b,
    i.Show: show,
    i.SwapAB: swap,
    i.Sweep: sweep,
    i.CancelJobs: cancel,
}
