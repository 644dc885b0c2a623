"""How many threads, and the pool that runs kernels in them.

A kernel is called over ranges of tasks and releases the GIL; which thread takes which range never changes a bit.
Workers draw ranges from a shared counter. The calling thread works too, so a caller whose workers are busy elsewhere
waits for nobody. A forked child starts without workers and, unless told otherwise, runs on one thread.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from qcore import errors

Kernel = Callable[[int, int], Any]

ALONE: Final = 1 << 17
"""Elements below which waking another thread costs more than it saves."""

RANGE: Final = 1 << 16
"""Elements of one range: large enough to draw rarely, small enough to share evenly."""


class _Settings:
    """What the process was told, and whether it is a forked child."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self.forked = False


class _Job:
    """One kernel over tasks 0..total-1, drawn in ranges."""

    def __init__(self, kernel: Kernel, total: int, per_range: int) -> None:
        self.kernel = kernel
        self.total = total
        self.per_range = per_range
        self.starts = itertools.count(0, per_range)
        self.results: list[Any] = []
        self.error: BaseException | None = None
        self.lock = threading.Lock()
        self.helpers = 0
        self.closed = False
        self.idle = threading.Event()

    def work(self) -> None:
        """Run ranges until none is left."""
        while (start := next(self.starts)) < self.total and self.error is None:
            self.results.append(self.kernel(start, min(start + self.per_range, self.total)))

    def help(self) -> None:
        """A worker's share; nothing once the caller has closed the job."""
        with self.lock:
            if self.closed:
                return
            self.helpers += 1
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            self.error = error
        self._leave()

    def _leave(self) -> None:
        with self.lock:
            self.helpers -= 1
            if self.closed and not self.helpers:
                self.idle.set()

    def close(self) -> None:
        """Let no worker begin, wait for those that did."""
        with self.lock:
            self.closed = True
            waiting = self.helpers > 0
        if waiting:
            self.idle.wait()


class _Pool:
    """Workers, started when first needed; daemons that hold nothing while they wait."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._workers = 0
        self._lock = threading.Lock()

    def call(self, job: _Job, helpers: int) -> None:
        """Ask ``helpers`` workers to share a job."""
        for _ in range(min(helpers, self._started(helpers))):
            self._jobs.put(job)

    def _started(self, wanted: int) -> int:
        """Start workers up to as many as wanted; how many there are then."""
        with self._lock:
            while self._workers < wanted:
                name = f"qcore-{self._workers + 1}"
                try:
                    threading.Thread(target=self._serve, name=name, daemon=True).start()
                except RuntimeError:  # no more threads here, or the interpreter is going down: fewer will do
                    break
                self._workers += 1
            return self._workers

    def _serve(self) -> None:
        while True:
            self._jobs.get().help()


_settings = _Settings()
_pool = _Pool()


def _after_fork() -> None:
    global _pool  # the parent's workers and their locks do not exist here
    _pool = _Pool()
    _settings.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class set_threads:
    """Say how many threads ``threads=None`` means; as a context manager, until its end.

    Parameters
    ----------
    count
        At least 1; None goes back to what the environment and the machine offer.

    Examples
    --------
    >>> from qcore.backends.cpu import threads
    >>> with threads.set_threads(3):
    ...     threads.resolve(None)
    3
    """

    def __init__(self, count: int | None) -> None:
        self._before = _settings.asked
        _settings.asked = None if count is None else _checked(count)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _settings.asked = self._before


def resolve(threads: int | None) -> int:
    """How many threads a call may use.

    An explicit number; else that of ``set_threads``; else 1 in a forked child; else ``QCORE_NUM_THREADS``; else the
    processors this process may run on, within the quota of its control group.

    Examples
    --------
    >>> resolve(2)
    2
    """
    if threads is not None:
        return _checked(threads)
    if _settings.asked is not None:
        return _settings.asked
    if _settings.forked:
        return 1
    named = os.environ.get("QCORE_NUM_THREADS", "").strip()
    if named.isdecimal() and int(named) > 0:
        return int(named)
    return max(1, min(_processors(), _quota()))


def run(kernel: Kernel, total: int, elements: int, threads: int | None) -> list[Any]:
    """Call ``kernel(first, last)`` over ranges that make up 0..total-1, in any order; return what the calls returned.

    Parameters
    ----------
    kernel
        A compiled kernel with all but its last two arguments bound; calls over disjoint ranges may overlap in time.
    total
        Tasks.
    elements
        Elements of all tasks together: little work stays on the calling thread.
    threads
        As given by the user; None: see :func:`resolve`.
    """
    if elements < ALONE or total < 2:
        return [kernel(0, total)]
    ranges = min(total, max(1, elements // RANGE))
    helpers = min(resolve(threads), ranges) - 1
    if helpers < 1:
        return [kernel(0, total)]
    job = _Job(kernel, total, -(-total // ranges))
    _pool.call(job, helpers)
    try:
        job.work()
    finally:
        job.close()
    if job.error is not None:
        raise job.error
    return job.results


def _checked(count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise errors.build(
            "argument-type", argument="threads", expected="a whole number from 1 on", got=repr(count)
        )
    return count


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _quota() -> int:
    """Processors the control group grants, rounded up; a large number where there is no limit."""
    granted = [quota / period for quota, period in _limits() if quota > 0 and period > 0]
    return max(1, -int(-min(granted) // 1)) if granted else 1 << 16


def _limits(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[tuple[float, float]]:
    """(quota, period) of this process's control groups, of either version; what cannot be read limits nothing."""
    try:
        groups = [line.split(":", 2) for line in own.read_text(encoding="ascii", errors="replace").split()]
    except OSError:
        return
    for _, controllers, path in (group for group in groups if len(group) == 3):
        if controllers == "":
            below = root / path.lstrip("/")
            for folder in (below, *below.parents):
                if not folder.is_relative_to(root):
                    break
                yield from _pair(folder / "cpu.max")
        elif "cpu" in controllers.split(","):
            for folder in (
                root / controllers / path.lstrip("/"),
                root / "cpu" / path.lstrip("/"),
                root / "cpu",
            ):
                quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
                yield quota, period


def _pair(file: Path) -> Iterator[tuple[float, float]]:
    try:
        quota, period = file.read_text(encoding="ascii").split()
        yield float(quota), float(period)
    except (OSError, ValueError):  # absent, or "max": no limit
        return


def _number(file: Path) -> float:
    try:
        return float(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return -1.0
