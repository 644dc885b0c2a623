"""Compiled kernels: loops over lines and strips, without names, checks or Python objects inside.

Every kernel is built once per instruction-set level (``_v2``, ``_v3``, ``_v4`` on x86-64, ``_base`` elsewhere) from one
source, and chosen here by what the processor offers. ``QCORE_CPU_LEVEL`` names a lower one; the bits are the same.
"""

from __future__ import annotations

import importlib
import importlib.util
import os

from qcore_ext import cpu

KERNELS = (
    "compare",
    "decode",
    "encode",
    "ggml",
    "histograms",
    "measure",
    "numbers",
    "packing",
    "quantize",
    "ranks",
    "scales",
    "search",
    "sums",
)

__all__ = ["available_levels", "level", *KERNELS]


def available_levels() -> tuple[str, ...]:
    """Levels that are built and that this processor can run, the fastest first.

    Examples
    --------
    >>> import qcore_ext
    >>> qcore_ext.level() in qcore_ext.available_levels()
    True
    """
    offered = cpu.level()
    names = [f"v{number}" for number in (4, 3, 2) if number <= offered] if offered else []
    return tuple(name for name in (*names, "base", "asan") if _is_built(name))


def level() -> str:
    """The level in use."""
    return _LEVEL


def load(kernel: str, at: str) -> object:
    """One kernel module of one level, beside the level in use (the tests compare levels)."""
    return importlib.import_module(f"qcore_ext._{at}.{kernel}")


def _is_built(name: str) -> bool:
    return importlib.util.find_spec(f"qcore_ext._{name}") is not None and (
        importlib.util.find_spec(f"qcore_ext._{name}.numbers") is not None
    )


def _choose() -> str:
    asked = os.environ.get("QCORE_CPU_LEVEL", "")
    levels = available_levels()
    if asked and asked not in levels:
        raise ImportError(
            f"QCORE_CPU_LEVEL={asked}: this build and processor have {', '.join(levels) or 'no level'}"
        )
    if not levels:
        raise ImportError("no kernels are built for this processor (x86-64-v2 or newer, or a 64-bit Arm)")
    return asked or levels[0]


_LEVEL = _choose()
for _name in KERNELS:
    globals()[_name] = load(_name, _LEVEL)
