"""Open the engine behind a backend's row: the one run-time import, by the string in the table."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import cast

from qcore.backends.protocol import Backend
from qcore.capability import backend_row


@lru_cache(maxsize=16)
def engine(name: str) -> Backend:
    """The engine of a backend (``cpu``, ``reference``, ``burn-ndarray`` ...), opened once.

    Raises
    ------
    DeviceError
        ``device-unavailable`` where the engine cannot run here.
    """
    module, _, function = backend_row(name).loader.partition(":")
    return cast(Backend, getattr(import_module(module), function)())
