"""What a job is, how it runs, and how whatever happens becomes a report."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from qcore import errors

from . import facts, reports
from .intents import Intent
from .lens import NotShown, lens_of
from .source import Session
from .state import Choice, Message

Emit = Callable[[Intent], None]
TICK: Final = 64
"""At most this many progress reports a job: each is an event in the window's queue."""


class Token:
    """Says whether a job is still wanted."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Stop the job at its next stripe."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether it was cancelled."""
        return self._event.is_set()


@dataclass(frozen=True, slots=True)
class Job:
    """Base: the slot that it fills, its serial, and what the list of jobs calls it."""

    slot: str
    serial: int
    label: str

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        """Work, and report by intents."""
        raise NotImplementedError

    def progress(self, token: Token, emit: Emit) -> Callable[[int, int], None]:
        """Return a function that reports progress, not too often."""
        last = [-1]

        def report(done: int, total: int) -> None:
            tick = done * TICK // max(total, 1)
            if tick != last[0] and not token.is_set():
                last[0] = tick
                emit(reports.Progressed(self.slot, self.serial, done, total))

        return report


def run(job: Job, session: Session, token: Token, emit: Emit) -> None:
    """Perform a job; whatever happens ends in a report, never in an exception."""
    try:
        job.perform(session, token, emit)
        emit((reports.Cancelled if token.is_set() else reports.Finished)(job.slot, job.serial))
    except errors.OperationCancelled:
        emit(reports.Cancelled(job.slot, job.serial))
    except errors.FormatError as problem:
        # a file that was closed under a job was closed because something else is looked at now
        if problem.code == "file-closed":
            emit(reports.Cancelled(job.slot, job.serial))
        else:
            emit(reports.Failed(job.slot, job.serial, message_of(problem)))
    except Exception as problem:  # noqa: BLE001  # the one boundary of the workers: everything becomes a message
        emit(reports.Failed(job.slot, job.serial, message_of(problem)))


def message_of(problem: BaseException) -> Message:
    """Put an exception into words; documented errors bring their cause and what to do.

    Examples
    --------
    >>> message_of(errors.build("missing-global-scale")).title
    'missing-global-scale'
    """
    if isinstance(problem, errors.QuantError):
        from qcore.errors.render import to_text

        return Message(str(problem), problem.code, problem.cause, problem.solutions, to_text(problem), "error")
    if isinstance(problem, NotShown):
        return Message(str(problem), "not shown", level="warning")
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        return Message(f"{where}{problem.strerror or problem}", "file", level="error")
    if isinstance(problem, MemoryError):
        return Message("There is not enough memory for this.", "memory", level="error")
    details = "".join(traceback.format_exception(problem))
    return Message(f"{type(problem).__name__}: {problem}", "unexpected", details=details, level="error")


def known(matrix: Any, token: Token, progress: Callable[[int, int], None]) -> Any:
    """Facts of a tensor, looked for once whoever asks first; None when cancelled."""
    while not matrix.lock.acquire(timeout=0.05):
        if token.is_set():
            return None
    try:
        if matrix.facts is None:
            matrix.facts = facts.look(matrix, token.is_set, progress)
        return matrix.facts
    finally:
        matrix.lock.release()


def lens_for(job: Job, matrix: Any, choice: Choice, token: Token, emit: Emit) -> Any:
    """Return the lens of a choice. A tensor that is read by windows is looked at first; None when cancelled."""
    peak = None
    if matrix.array is None:
        found = known(matrix, token, job.progress(token, emit))
        if found is None:
            return None
        peak = found.peak
    with matrix.making:
        return lens_of(matrix, choice, peak)
