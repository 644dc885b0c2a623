"""Putting the next state together: set fields, start jobs. What every handler of intents is written with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import jobs
from .job import Job, message_of
from .lens import AS_STORED
from .pictures import View, needs_lens
from .state import Choice, Message, Region, Running, State, Step

__all__ = ["Next", "refusal_of"]


class Next:
    """A step in the making."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._jobs: list[Job] = []
        self._cancel: list[str] = []

    def set(self, **fields: Any) -> Next:
        """Set fields of the state."""
        self.state = replace(self.state, **fields)
        return self

    def start(self, kind: type[Job], slot: str, label: str, *parts: Any) -> Next:
        """Start a job; an older one of the same slot is not waited for."""
        serial = self.state.serial + 1
        newest = {**dict(self.state.newest), slot: serial}
        running = tuple(r for r in self.state.running if r.slot != slot)
        self.set(
            serial=serial, newest=tuple(newest.items()), running=(*running, Running(serial, slot, label))
        )
        self._jobs.append(kind(slot, serial, label, *parts))
        return self

    def stop(self, *slots: str) -> Next:
        """Stop what runs in slots; what it still reports is dropped."""
        newest = {**dict(self.state.newest), **dict.fromkeys(slots, self.state.serial + 1)}
        running = tuple(r for r in self.state.running if r.slot not in slots)
        self.set(serial=self.state.serial + 1, newest=tuple(newest.items()), running=running)
        self._cancel.extend(slots)
        return self

    def step(self) -> Step:
        """The finished step."""
        return Step(self.state, tuple(self._jobs), tuple(self._cancel))

    # ---- what depends on what ------------------------------------------------------------------------------------

    def redraw(self) -> Next:
        """Draw what the canvases show."""
        s = self.state
        if s.selected is None:
            return self
        region = s.region or Region(0, s.matrix[0], 0, s.matrix[1])
        first = s.choice_a if s.compare else s.choice
        first_refused = s.refused_a if s.compare else s.refused
        view = View(s.view, s.error_mode, s.difference and s.choice_b is not None, s.robust)
        name = s.selected.name
        if needs_lens(view) and (first_refused or (view.difference and (s.refused_a or s.refused_b))):
            self.set(picture=None).stop("picture")
        else:
            first = s.choice_a if view.difference else first
            self.start(
                jobs.PictureJob, "picture", f"draw {s.view} of {name}",
                name, region, s.pixels, view, first, s.choice_b, s.axes, "A",
            )  # fmt: skip
        if s.compare and s.choice_b is not None:
            if needs_lens(view) and s.refused_b:
                self.set(picture_b=None).stop("picture B")
            else:
                second = View(s.view, s.error_mode, False, s.robust)
                self.start(
                    jobs.PictureJob, "picture B", f"draw {s.view} of {name} under B",
                    name, region, s.pixels, second, s.choice_b, None, s.axes, "B",
                )  # fmt: skip
        return self

    def remeasure(self, *which: str) -> Next:
        """Measure schemes again."""
        s = self.state
        if s.selected is None:
            return self
        for letter in which or ("A", "B"):
            choice = s.choice_a if letter == "A" else s.choice_b
            refusal = None if choice is None else refusal_of(choice, s)
            self.set(**{f"refused_{letter.lower()}": refusal, f"measured_{letter.lower()}": None})
            slot = f"measure {letter}"
            if choice is None or refusal is not None:
                self.stop(slot)
            else:
                label = f"measure {choice.scheme} on {s.selected.name}"
                self.start(jobs.MeasureJob, slot, label, s.selected.name, choice, letter)
        return self

    def ask(self) -> Next:
        """Ask what the library says to the scheme that is shown."""
        shape = None if self.state.selected is None else self.state.selected.shape
        if self.state.answers is not None and (self.state.answers.choice, self.state.answers.shape) == (
            self.state.choice,
            shape,
        ):
            return self
        return self.start(jobs.AskJob, "ask", f"ask about {self.state.choice.scheme}", self.state.choice, shape)

    def relook(self, block: tuple[int, ...] | None = None, near: tuple[int, ...] | None = None) -> Next:
        """Look at a block again: the one given, or the one that an element is in."""
        s = self.state
        if s.selected is None or s.refused is not None or not s.selected.size:
            return self.set(detail=None).stop("detail")
        return self.start(jobs.DetailJob, "detail", "look at a block", s.selected.name, s.choice, block, near)

    def tell(self, message: Message, *, loud: bool = False) -> Next:
        """Write a line into the log; a loud one is shown until it is dismissed."""
        self.state = self.state.said(message)
        return self.set(notice=message) if loud else self


def refusal_of(choice: Choice, state: State) -> Message | None:
    """Ask the library whether it takes a choice on the selected tensor; None when it does."""
    import qcore
    from qcore import errors

    row = state.selected
    if row is None or (row.quantized and choice.scheme == AS_STORED):
        return None
    try:
        dtype = "f32" if row.quantized else _dtype(row.kind)
        verdict = qcore.check(choice.scheme, row.shape, dtype=dtype, calibration=choice.calibration)
    except errors.QuantError as error:
        return message_of(error)
    return None if verdict else message_of(verdict.refusals[0])


def _dtype(kind: str) -> str:
    """The dtype to ask about: a foreign block type is looked at as what it decodes to."""
    from qcore import errors
    from qcore.capability.problem import read_dtype

    try:
        read_dtype(kind)
    except errors.QuantError:
        return "f32"
    return kind
