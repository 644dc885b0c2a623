"""Every way a driver fails, as one documented error: the only place that reads OpenCL's codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from qcore import errors

_MEMORY: Final = ("MEM_OBJECT_ALLOCATION_FAILURE", "OUT_OF_RESOURCES", "OUT_OF_HOST_MEMORY", "INVALID_BUFFER_SIZE")
_LOST: Final = (
    "DEVICE_NOT_AVAILABLE",
    "DEVICE_NOT_FOUND",
    "INVALID_DEVICE",
    "INVALID_CONTEXT",
    "INVALID_COMMAND_QUEUE",
)
_CACHE: Final = ("INVALID_KERNEL_NAME", "INVALID_PROGRAM_EXECUTABLE")
_BUILD: Final = ("BUILD_PROGRAM_FAILURE", "COMPILE_PROGRAM_FAILURE", "LINK_PROGRAM_FAILURE", "COMPILER_NOT_AVAILABLE")
_LOG_CHARACTERS: Final = 2000


@contextmanager
def documented(device: str, step: str) -> Iterator[None]:
    """Raise what PyOpenCL raises inside as the ``DeviceError`` of its row.

    ``step`` says what was being done ("quantize", "copy to the device" ...).
    """
    import pyopencl as cl

    try:
        yield
    except cl.Error as failure:
        raise as_device_error(failure, device, step) from failure
    except MemoryError as failure:
        raise errors.build("opencl-out-of-memory", device=device, step=step, status="MemoryError") from failure


def as_device_error(failure: Exception, device: str, step: str) -> errors.QuantError:
    """Find the row of one exception of PyOpenCL.

    Examples
    --------
    >>> as_device_error(RuntimeError("clFinish failed: OUT_OF_RESOURCES"), "opencl:0:0", "decode").code
    'opencl-out-of-memory'
    """
    status = status_of(failure)
    if status in _BUILD:
        return errors.build("opencl-build-failed", device=device, log=str(failure)[:_LOG_CHARACTERS])
    if status in _CACHE:
        return errors.build("opencl-cache-broken", device=device, status=status)
    if status in _MEMORY:
        return errors.build("opencl-out-of-memory", device=device, step=step, status=status)
    if status in _LOST:
        return errors.build("opencl-device-lost", device=device, step=step, status=status)
    return errors.build("opencl-call-failed", device=device, step=step, status=status)


def status_of(failure: Exception) -> str:
    """The name of the status code in an exception's text, or the text itself, shortened.

    Examples
    --------
    >>> status_of(RuntimeError("create_buffer failed: INVALID_BUFFER_SIZE"))
    'INVALID_BUFFER_SIZE'
    """
    text = str(failure)
    for known in (*_BUILD, *_CACHE, *_MEMORY, *_LOST):
        if known in text:
            return known
    words: list[Any] = text.split("failed:")[-1].split()
    return str(words[0]) if words else type(failure).__name__
