"""``backend="auto"``: a GPU where one is there and the tensor is large enough to gain, else the processor.

The bits are the same either way, so a device that fails half-way costs one logged line and the time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import lru_cache
from importlib import util
from typing import Any, Final, TypeVar, cast

from qcore import errors
from qcore.backends import loader

_LOG: Final = logging.getLogger(__name__)

AUTO: Final = "auto"
HOST: Final = "cpu"
DEVICE: Final = "opencl"

LARGE: Final = 1 << 22
"""Elements from which a GPU is asked (docs/opencl.md): below, a copy there and back costs more than the work."""

Result = TypeVar("Result")


def is_auto(backend: Any) -> bool:
    """Tell whether a backend's name leaves the choice to qcore.

    Examples
    --------
    >>> is_auto("Auto"), is_auto("cpu"), is_auto(None)
    (True, False, False)
    """
    return isinstance(backend, str) and backend.strip().lower() == AUTO


def run(work: Callable[[str], Result], size: int) -> Result:
    """Do work on the best backend for ``size`` elements; ``work`` takes a backend's name.

    What a device cannot do, or fails at, is done by the processor, with one line in the log.

    Examples
    --------
    >>> run(lambda backend: backend, 10)
    'cpu'
    """
    if size < LARGE or not gpu_is_here():
        return work(HOST)
    try:
        return work(DEVICE)
    except (errors.DeviceError, errors.UnsupportedSchemeError) as failure:
        _LOG.warning("auto: %s instead of %s, because %s", HOST, DEVICE, failure)
        return work(HOST)


def gpu_is_here() -> bool:
    """Tell whether OpenCL has a GPU that this process may use; looked for once."""
    return _gpu_was_found(os.getpid())


@lru_cache(maxsize=4)
def _gpu_was_found(pid: int) -> bool:
    if util.find_spec("pyopencl") is None:
        return False
    try:
        facts = cast(Any, loader.engine(DEVICE)).session.facts
    except errors.DeviceError as failure:
        _LOG.info("auto: %s, because %s", HOST, failure)
        return False
    return bool(facts.kind == "gpu")
