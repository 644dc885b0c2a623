"""Open the engine behind a backend's row: the one run-time import, by the string in the table."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import cast

from qcore import errors
from qcore.backends.protocol import Backend
from qcore.capability import backend_row


@lru_cache(maxsize=16)
def engine(name: str) -> Backend:
    """The engine of a backend (``cpu``, ``reference``, ``burn-ndarray``, ``opencl:0:1`` ...), opened once.

    Raises
    ------
    DeviceError
        ``device-unavailable`` where the engine cannot run here.
    """
    row = backend_row(name)
    module, _, function = row.loader.partition(":")
    try:
        opened = import_module(module)
    except ImportError as missing:
        raise errors.build("device-unavailable", device=row.name, reason=str(missing)) from missing
    device = row.name.partition(":")[2]
    return cast(Backend, getattr(opened, function)(*([device] if device else [])))
