"""Which device: what the caller names, else QCORE_DEVICE, else PYOPENCL_CTX, else the best GPU, else a processor."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from qcore import errors
from qcore.backends.opencl.facts import CPU, GPU, DeviceFacts

_WORD: Final = "opencl"
_OFF: Final = {"0", "off", "no", "false"}


def switched_off(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether ``QCORE_OPENCL`` forbids OpenCL.

    Examples
    --------
    >>> switched_off({"QCORE_OPENCL": "0"}), switched_off({})
    (True, False)
    """
    return environment.get("QCORE_OPENCL", "").strip().lower() in _OFF


def wanted(spelled: str, environment: Mapping[str, str] = os.environ) -> str:
    """What is asked for, without the word ``opencl``: "" is any device.

    Examples
    --------
    >>> wanted("opencl:0:1"), wanted("opencl", {"QCORE_DEVICE": "opencl:nvidia"}), wanted("", {"PYOPENCL_CTX": "1"})
    ('0:1', 'nvidia', '1')
    """
    given = _bare(spelled)
    if given:
        return given
    device = environment.get("QCORE_DEVICE", "").strip()
    if device and device.partition(":")[0].lower() not in ("cpu", "auto"):
        return _bare(device)
    return environment.get("PYOPENCL_CTX", "").strip()


def pick(devices: Sequence[DeviceFacts], asked: str) -> DeviceFacts:
    """Choose one device.

    Parameters
    ----------
    devices
        Those that are there.
    asked
        "" for the best, ``P`` or ``P:D`` for indices (a name may stand for either), or words out of a name.

    Raises
    ------
    DeviceError
        ``device-unavailable`` where nothing matches.
    """
    matching = [facts for facts in devices if _matches(facts, asked)]
    if not matching:
        known = ", ".join(f"{facts.spelled} ({facts.name})" for facts in devices) or "none"
        spelled = f"opencl:{asked}" if asked else "opencl"
        raise errors.build("device-unavailable", device=spelled, reason=f"found: {known}")
    return max(matching, key=_rank)


def _bare(spelled: str) -> str:
    word, colon, rest = spelled.strip().partition(":")
    if word.lower() == _WORD:
        return rest.strip()
    return spelled.strip() if colon or word else ""


def _matches(facts: DeviceFacts, asked: str) -> bool:
    if not asked:
        return True
    first, colon, second = asked.partition(":")
    if not colon:
        if first.isdecimal():
            return facts.platform == int(first)
        return first.lower() in f"{facts.platform_name} {facts.name} {facts.vendor}".lower()
    return _is(facts.platform, facts.platform_name, first) and _is(facts.device, facts.name, second)


def _is(index: int, name: str, asked: str) -> bool:
    return index in map(int, asked.split(",")) if asked.replace(",", "").isdecimal() else asked.lower() in name.lower()


def _rank(facts: DeviceFacts) -> tuple[int, bool, int, int, int]:
    """GPUs before other accelerators before processors; with memory of their own first; then by size; then in order."""
    kind = 2 if facts.kind == GPU else 0 if facts.kind == CPU else 1
    return kind, not facts.unified, facts.compute_units, -facts.platform, -facts.device
