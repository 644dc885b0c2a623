"""Buffers, copies and launches on one queue. A device that is the host's processor shares the host's memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from qcore import errors
from qcore.backends.opencl.failures import documented
from qcore.backends.opencl.program import Definitions
from qcore.backends.opencl.session import COPY, KERNEL, Session


class Stream:
    """A session's queue during one call. Commands run in order; :meth:`doing` waits for them and documents failures."""

    def __init__(self, session: Session, queue: Any = None) -> None:
        self.session = session
        self.queue = session.queue() if queue is None else queue
        self._alive: list[Any] = []
        session.check_process()

    @contextmanager
    def doing(self, step: str) -> Iterator[None]:
        """One piece of work: some drivers fail only when the queue is drained, so that happens inside."""
        with documented(self.session.facts.spelled, step):
            try:
                yield
                self._drain()
            finally:
                self._settle()

    def _settle(self) -> None:
        """Let go of the host's arrays, not before the device has: a failure may leave commands behind that use them."""
        import pyopencl as cl

        with suppress(cl.Error):
            self.queue.finish()
        self._alive.clear()

    def _drain(self) -> None:
        self.queue.finish()

    def constant(self, array: np.ndarray) -> Any:
        """A small array that any thread may read for as long as the session lives."""
        import pyopencl as cl

        flags = cl.mem_flags
        dense = np.ascontiguousarray(array)
        return cl.Buffer(self.session.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=dense)

    def scratch(self, nbytes: int) -> Any:
        """A buffer of the device."""
        import pyopencl as cl

        self._within_the_cap(nbytes)
        return cl.Buffer(self.session.context, cl.mem_flags.READ_WRITE, nbytes)

    def upload(self, array: np.ndarray, name: str) -> Any:
        """A dense host array as a buffer to read."""
        import pyopencl as cl

        self._within_the_cap(array.nbytes)
        flags = cl.mem_flags
        self._alive.append(array)
        plain = array.reshape(-1).view(np.uint8)
        if self.session.shares_memory:
            return cl.Buffer(self.session.context, flags.READ_ONLY | flags.USE_HOST_PTR, hostbuf=plain)
        buffer = cl.Buffer(self.session.context, flags.READ_ONLY, array.nbytes)
        self.session.note(name, COPY, cl.enqueue_copy(self.queue, buffer, plain, is_blocking=False))
        return buffer

    def output(self, array: np.ndarray) -> Any:
        """A buffer that :meth:`fetch` brings into a dense host array."""
        import pyopencl as cl

        self._within_the_cap(array.nbytes)
        flags = cl.mem_flags
        if self.session.shares_memory:
            self._alive.append(array)
            plain = array.reshape(-1).view(np.uint8)
            return cl.Buffer(self.session.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=plain)
        return cl.Buffer(self.session.context, flags.READ_WRITE, array.nbytes)

    def fetch(self, buffer: Any, array: np.ndarray, name: str) -> None:
        """Bring a buffer's bytes into the host array it was made for; they are there after :meth:`doing`."""
        import pyopencl as cl

        plain = array.reshape(-1).view(np.uint8)
        self._alive.append(array)
        if self.session.shares_memory and buffer.flags & cl.mem_flags.USE_HOST_PTR:
            mapped, event = cl.enqueue_map_buffer(
                self.queue, buffer, cl.map_flags.READ, 0, plain.shape, plain.dtype, is_blocking=False
            )
            self._alive.append(mapped)
            mapped.base.release(self.queue)
        else:
            event = cl.enqueue_copy(self.queue, plain, buffer, is_blocking=False)
        self.session.note(name, COPY, event)

    def fill(self, buffer: Any, array: np.ndarray, name: str) -> None:
        """Copy a dense host array into a buffer of the device."""
        import pyopencl as cl

        plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._alive.append(plain)
        self.session.note(name, COPY, cl.enqueue_copy(self.queue, buffer, plain, is_blocking=False))

    def clear(self, buffer: Any, nbytes: int) -> None:
        """Fill a buffer with zeros."""
        import pyopencl as cl

        self.session.note("clear", COPY, cl.enqueue_fill_buffer(self.queue, buffer, np.zeros(1, np.uint8), 0, nbytes))

    def launch(self, name: str, definitions: Definitions, entry: str, items: int, *arguments: Any) -> None:
        """Run a kernel for ``items`` items, rounded up to whole work-groups; kernels pass over what is too many."""
        if items == 0:
            return
        group = self.session.facts.group
        kernel = self.session.kernel(name, (*definitions, ("GROUP", group)), entry)
        event = kernel(self.queue, (-(-items // group) * group,), (group,), *arguments)
        self.session.note(entry, KERNEL, event)

    def _within_the_cap(self, nbytes: int) -> None:
        most = self.session.facts.max_alloc
        if nbytes > most:
            raise errors.build(
                "opencl-out-of-memory", device=self.session.facts.spelled, step="allocate",
                status=f"{nbytes} bytes in one buffer, the device allows {most}",
            )  # fmt: skip
