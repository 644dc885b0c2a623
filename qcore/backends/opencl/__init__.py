"""The OpenCL backend: the bits of the processor's kernels, on whatever device speaks OpenCL.

PyOpenCL is loaded when an engine is opened, never before. ``open_backend`` is what the backend's row names;
``open_engine`` opens an engine of its own, which can measure the time of every kernel and copy.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qcore.backends.opencl.engine import OpenCL
    from qcore.backends.opencl.probing import Verdict

__all__ = ["diagnosis", "open_backend", "open_engine"]


def open_backend(device: str = "") -> OpenCL:
    """Open the engine that every call shares; ``device`` is what follows ``opencl:`` in a backend's name."""
    from qcore.backends.opencl.opening import shared_engine

    return shared_engine(f"opencl:{device}" if device else "opencl", os.getpid())


def open_engine(device: str = "", *, profile: bool = False, **settings: Any) -> OpenCL:
    """Open an engine of its own; see :func:`qcore.backends.opencl.opening.open_engine`."""
    from qcore.backends.opencl.opening import open_engine as opened

    return opened(device, profile=profile, **settings)


def diagnosis(build: bool = True) -> Verdict:
    """What OpenCL there is, and what is missing: for ``qcore doctor`` and ``qcore devices``. Never raises.

    Parameters
    ----------
    build
        Whether to try a kernel on every device too.
    """
    from qcore.backends.opencl.probing import verdict

    return verdict(build)
