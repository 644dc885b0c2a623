"""The one bridge between threads: jobs go into a pool, reports come back on the window's thread."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from PyQt6.QtCore import QObject, QRunnable, QThreadPool, pyqtSignal

from ..intents import Intent
from ..job import Job, Token, run
from ..source import Session

__all__ = ["PoolRunner"]

THREADS = 3
QUICK = ("probe", "ask", "detail", "picture", "picture B", "open")
"""Slots that a person waits for go first."""


class _Relay(QObject):
    reported = pyqtSignal(object)


class _Task(QRunnable):
    def __init__(self, job: Job, session: Session, token: Token, relay: _Relay) -> None:
        super().__init__()
        self._job, self._session, self._token, self._relay = job, session, token, relay

    def run(self) -> None:
        with contextlib.suppress(RuntimeError):  # the window went while the job ran: nobody is there to be told
            run(self._job, self._session, self._token, self._relay.reported.emit)


class PoolRunner:
    """Runs jobs in a few threads of its own."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._pool = QThreadPool()
        self._pool.setMaxThreadCount(THREADS)
        self._relay = _Relay()
        self._connected = False

    def submit(self, job: Job, token: Token, emit: Callable[[Intent], None]) -> None:
        """Queue a job; its reports arrive through the event loop, one after the other."""
        if not self._connected:
            self._relay.reported.connect(emit)
            self._connected = True
        self._pool.start(_Task(job, self.session, token, self._relay), 1 if job.slot in QUICK else 0)

    def finish(self, milliseconds: int = 2000) -> bool:
        """Wait for what still runs; tokens are set by then."""
        self._pool.clear()
        return bool(self._pool.waitForDone(milliseconds))
