"""How many threads a kernel is run on.

Kernels share out their tasks themselves, without the GIL, in the pool of qcore_ext/include/qc_pool.h; which thread
takes which tasks never changes a bit. A forked child starts without workers and, unless told otherwise, runs on one
thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from qcore import errors

ALONE: Final = 1 << 16
"""Elements below which waking another thread costs more than it saves."""

RANGE: Final = 1 << 15
"""Elements of one range: large enough to draw rarely, small enough to share evenly."""


class _Settings:
    """What the process was told, and whether it is a forked child."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self.forked = False


_settings = _Settings()


def _after_fork() -> None:
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


def run(
    kernel: Callable[..., Any], arguments: tuple[Any, ...], total: int, elements: int, threads: int | None
) -> Any:
    """Call a kernel over tasks 0..total-1 on as many threads as pay, and return what it returns.

    Parameters
    ----------
    kernel
        A compiled kernel; after ``arguments`` it takes ``first, last, step, threads`` and shares tasks first..last-1
        out in steps.
    total
        Tasks.
    elements
        Elements of all tasks together: little work stays on the calling thread.
    threads
        As given by the user; None: see :func:`resolve`.
    """
    if elements < ALONE or total < 2:
        return kernel(*arguments, 0, total)
    steps = min(total, elements // RANGE)
    return kernel(*arguments, 0, total, -(-total // steps), resolve(threads))


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
