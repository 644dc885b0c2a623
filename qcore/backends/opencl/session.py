"""One device in use: its context, a queue and kernels per thread, programs built once, the guard of its process."""

from __future__ import annotations

import os
import threading
from typing import Any, Final, NamedTuple

from qcore import errors
from qcore.backends.opencl import program
from qcore.backends.opencl.facts import CPU, DeviceFacts
from qcore.backends.opencl.failures import documented

KERNEL, COPY = "kernel", "copy"

_MEMORY_SHARE: Final = 8
"""The largest buffer may take one part in so many of the device's memory: inputs, outputs and scratch lie there."""

_NEW_KERNEL: Final = threading.Lock()


class Spent(NamedTuple):
    """Time one command took on the device."""

    name: str
    kind: str
    """``kernel`` or ``copy``."""
    seconds: float


class Session:
    """A device, opened.

    Parameters
    ----------
    facts
        What the device is.
    context
        A ``pyopencl.Context`` of it.
    profile
        Whether queues measure every command (see :meth:`spent`).
    corrected
        Whether kernels divide in whole numbers; by default where the device's division is not correctly rounded.
    lanes
        Items that share a run; by default what suits the kind of device.
    max_alloc
        Bytes of the largest buffer; by default what the device allows.
    """

    def __init__(
        self,
        facts: DeviceFacts,
        context: Any,
        *,
        profile: bool = False,
        corrected: bool | None = None,
        lanes: int | None = None,
        run: int | None = None,
        max_alloc: int | None = None,
    ) -> None:
        self.facts = facts
        self.context = context
        self.profile = profile
        self.corrected = not facts.divides_right if corrected is None else corrected
        self.lanes = facts.lanes if lanes is None else lanes
        self.run = facts.run if run is None else run
        self.max_alloc = min(facts.max_alloc, facts.memory // _MEMORY_SHARE) if max_alloc is None else max_alloc
        self.shares_memory = facts.kind == CPU and facts.unified
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._programs: dict[tuple[str, program.Definitions], Any] = {}
        self._thread = threading.local()
        self._events: list[tuple[str, str, Any]] = []

    def check_process(self) -> None:
        """Refuse to go on in a child that was forked after it was opened."""
        if os.getpid() != self._pid:
            raise errors.build("forked-engine", engine=self.facts.spelled, pid=self._pid)

    def queue(self) -> Any:
        """The calling thread's queue, in order."""
        self.check_process()
        found = getattr(self._thread, "queue", None)
        if found is None:
            found = self._thread.queue = self._new_queue()
        return found

    def kernel(self, name: str, definitions: program.Definitions, entry: str) -> Any:
        """The calling thread's own object of a kernel: setting arguments is not atomic."""
        kernels = self._thread.__dict__.setdefault("kernels", {})
        key = (name, definitions, entry)
        found = kernels.get(key)
        if found is None:
            import pyopencl as cl

            built = self._program(name, definitions)
            # one at a time in the process: PyOpenCL generates code for a new kernel, and warns where two threads do
            with documented(self.facts.spelled, entry), _NEW_KERNEL:
                found = kernels[key] = cl.Kernel(built, entry)
        return found

    def note(self, name: str, kind: str, event: Any) -> None:
        """Remember a command's event where times are asked for."""
        if self.profile:
            with self._lock:
                self._events.append((name, kind, event))

    def spent(self) -> list[Spent]:
        """Times of the commands since the last call, in the order they were given; empty without ``profile``."""
        with self._lock:
            events, self._events = self._events, []
        times = []
        for name, kind, event in events:
            event.wait()
            times.append(Spent(name, kind, (event.profile.end - event.profile.start) * 1e-9))
        return times

    def _program(self, name: str, definitions: program.Definitions) -> Any:
        with self._lock:
            found = self._programs.get((name, definitions))
            if found is None:
                words = program.options(self.facts, definitions, self.corrected)
                found = program.build(self.context, self.facts, program.source(name), words)
                self._programs[name, definitions] = found
        return found

    def _new_queue(self) -> Any:
        import pyopencl as cl

        with documented(self.facts.spelled, "open a queue"):
            if self.profile:
                return cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
            return cl.CommandQueue(self.context)
