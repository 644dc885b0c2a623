"""Arrays that lie on a device already: quantized there, and kept there until somebody asks for the bytes.

A ``pyopencl.array.Array`` brings its context and its queue; commands are given to that queue, after the array's own
events, and have ended when a function here returns.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore.backends.opencl import steps
from qcore.backends.opencl.facts import read_facts
from qcore.backends.opencl.session import Session
from qcore.backends.opencl.stream import Stream
from qcore.backends.protocol import Parts
from qcore.layout import packing as layout

if TYPE_CHECKING:
    from qcore.plan import Plan

_sessions: Final[dict[tuple[int, int], Session]] = {}
_lock: Final = threading.Lock()


class HeldParts:
    """The stored parts of a tensor in buffers of a device."""

    def __init__(self, stream: Stream, plan: Plan, values: Any, scales: Any, level: Any) -> None:
        self._session, self._queue = stream.session, stream.queue
        self._plan = plan
        self._values, self._scales, self._level = values, scales, level

    def fetch(self) -> Parts:
        """Bring the parts to the host."""
        plan, stream = self._plan, self._stream()
        values = np.empty(plan.storage_shape, layout.values_dtype_name(plan.scheme))
        scales = np.empty(plan.grid, plan.scale.dtype.numpy_dtype)
        level = np.zeros(1, np.float32)
        with stream.doing("copy to the host"):
            stream.fetch(self._values, values, "values")
            stream.fetch(self._scales, scales, "scales")
            if plan.two_level:
                stream.fetch(self._level, level, "global scale")
        return Parts(values, scales, level[0] if plan.two_level else None)

    def decode(self, out: np.ndarray) -> None:
        """Dequantize into a host array of any strides."""
        dtype = np.dtype(np.float32) if out.dtype == np.float64 else out.dtype
        floats = out if out.dtype == dtype and out.flags.c_contiguous else np.empty(out.shape, dtype)
        stream = self._stream()
        with stream.doing("dequantize"):
            to = stream.output(floats)
            self._decode(stream, to, dtype)
            stream.fetch(to, floats, "floats")
        if floats is not out:
            out[...] = floats

    def to_array(self, shape: tuple[int, ...], dtype: Any = np.float32, queue: Any = None) -> Any:
        """Dequantize into a new ``pyopencl.array.Array`` of the same context; nothing goes to the host."""
        from pyopencl import array as arrays

        stream = self._stream() if queue is None else Stream(self._session, queue)
        found = arrays.empty(stream.queue, shape, dtype)
        with stream.doing("dequantize"):
            self._decode(stream, found.base_data, found.dtype)
        return found

    def arrays(self) -> dict[str, Any]:
        """Values and scales as device arrays of plain words, in their storage shapes."""
        from pyopencl import array as arrays

        plan = self._plan
        word = np.dtype(layout.values_dtype_name(plan.scheme))
        scale = np.dtype({1: np.uint8, 2: np.uint16, 4: np.float32}[plan.scale.nbytes])
        return {
            "values": arrays.Array(self._queue, plan.storage_shape, word, data=self._values),
            "scales": arrays.Array(self._queue, plan.grid, scale, data=self._scales),
        }

    def _stream(self) -> Stream:
        return Stream(self._session, self._queue)

    def _decode(self, stream: Stream, to: Any, dtype: np.dtype) -> None:
        plan = self._plan
        at = steps.place(stream, plan, plan.shape, plan.extents)
        steps.decode(stream, self._values, self._scales, self._level, to, dtype, at, plan)


def stays_there(x: Any, plan: Plan) -> bool:
    """Tell whether a device array can be quantized where it lies: float32, 16 bits, dense, within one tile."""
    session = _session_of(x)
    return bool(x.flags.c_contiguous and x.dtype.itemsize <= 4 and x.size and x.nbytes <= session.max_alloc)


def quantize_minmax(x: Any, plan: Plan) -> HeldParts | None:
    """Min-max on the array's own device; None where an element is not finite."""
    stream = _stream_of(x)
    wrong = np.zeros(1, np.uint32)
    with stream.doing("quantize"):
        source = _buffer_of(stream, x)
        at = steps.place(stream, plan, plan.shape, plan.extents)
        values, scales, to_wrong = _room(stream, plan, at)
        stream.clear(to_wrong, 4)
        level = steps.minmax(stream, source, x.dtype, scales, values, to_wrong, at, plan)
        stream.fetch(to_wrong, wrong, "flag")
    return None if wrong[0] else HeldParts(stream, plan, values, scales, level)


def encode(x: Any, plan: Plan, scales: np.ndarray, global_scale: np.float32 | None) -> HeldParts:
    """Values of the array under stored scales that were found elsewhere."""
    stream = _stream_of(x)
    with stream.doing("quantize"):
        source = _buffer_of(stream, x)
        at = steps.place(stream, plan, plan.shape, plan.extents)
        values, stored, _ = _room(stream, plan, at)
        stream.fill(stored, scales, "scales")
        level = steps.one(stream, plan)
        if global_scale is not None:
            level = stream.constant(np.array([global_scale], np.float32))
        peaks = steps.peaks(stream, source, x.dtype, at, steps.FINITE) if plan.scale.mbits == 0 else None
        steps.encode(stream, source, x.dtype, stored, level, peaks, values, at, plan)
    return HeldParts(stream, plan, values, stored, level)


def _room(stream: Stream, plan: Plan, at: steps.Placed) -> tuple[Any, Any, Any]:
    geometry = at.geometry
    return (
        stream.scratch(geometry.values_nbytes),
        stream.scratch(geometry.blocks * plan.scale.nbytes),
        stream.scratch(4),
    )


def _session_of(x: Any) -> Session:
    device = x.queue.device if x.queue is not None else x.context.devices[0]
    key = (x.context.int_ptr, device.int_ptr)
    with _lock:
        found = _sessions.get(key)
        if found is None:
            place = device.platform.get_devices().index(device)
            found = _sessions[key] = Session(read_facts(device, _platform_index(device), place), x.context)
    return found


def _platform_index(device: Any) -> int:
    import pyopencl as cl

    return cl.get_platforms().index(device.platform)


def _stream_of(x: Any) -> Stream:
    return Stream(_session_of(x), x.queue)


def _buffer_of(stream: Stream, x: Any) -> Any:
    """The array's bytes from their start on, once what fills them has ended."""
    import pyopencl as cl

    if x.events:
        cl.wait_for_events(x.events)
    if x.offset == 0:
        return x.base_data
    moved = stream.scratch(x.nbytes)
    cl.enqueue_copy(stream.queue, moved, x.base_data, byte_count=x.nbytes, src_offset=x.offset)
    return moved
