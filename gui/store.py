"""The store: holds the state, applies intents, hands jobs to a runner and tells who listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .intents import Intent
from .job import Job, Token, run
from .source import Session
from .state import State
from .update import update

Listener = Callable[[State], None]


class Runner(Protocol):
    """Runs jobs somewhere; reports come back as intents."""

    def submit(self, job: Job, token: Token, emit: Callable[[Intent], None]) -> None:
        """Run a job."""


class InlineRunner:
    """Runs a job at once, in the caller's thread: for tests and scripts."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def submit(self, job: Job, token: Token, emit: Callable[[Intent], None]) -> None:
        """Run a job now."""
        run(job, self.session, token, emit)


class Store:
    """State in, intents in, states out."""

    def __init__(self, runner: Runner, state: State | None = None) -> None:
        self.state = State() if state is None else state
        self._runner = runner
        self._listeners: list[Listener] = []
        self._tokens: dict[str, Token] = {}
        self._queue: list[Intent] = []
        self._busy = False

    def listen(self, listener: Listener) -> None:
        """Call a function with every new state."""
        self._listeners.append(listener)

    def dispatch(self, intent: Intent) -> None:
        """Apply an intent. One that arrives while another is applied waits for its turn."""
        self._queue.append(intent)
        if self._busy:
            return
        self._busy = True
        try:
            while self._queue:
                self._apply(self._queue.pop(0))
        finally:
            self._busy = False

    def _apply(self, intent: Intent) -> None:
        step = update(self.state, intent)
        changed = step.state is not self.state
        self.state = step.state
        for slot in (*step.cancel, *(job.slot for job in step.jobs)):
            token = self._tokens.pop(slot, None)
            if token is not None:
                token.cancel()
        for job in step.jobs:
            self._tokens[job.slot] = token = Token()
            self._runner.submit(job, token, self.dispatch)
        if changed:
            for listener in self._listeners:
                listener(self.state)

    def cancel_all(self) -> None:
        """Stop whatever runs: the window is closing."""
        for token in self._tokens.values():
            token.cancel()
        self._tokens.clear()
