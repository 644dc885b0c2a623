"""A device by its name: probed, chosen, opened once per process, never in a child forked after OpenCL was used."""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from typing import Any, Final

from qcore import errors
from qcore.backends.opencl import choice
from qcore.backends.opencl.engine import OpenCL
from qcore.backends.opencl.facts import DeviceFacts, read_facts
from qcore.backends.opencl.failures import documented
from qcore.backends.opencl.probing import READY, Verdict, verdict
from qcore.backends.opencl.session import Session

_LOG: Final = logging.getLogger(__name__)

# The process in which a driver was first loaded; its threads do not live on in a forked child.
_loaded_in: list[int] = []


def open_engine(device: str = "", *, profile: bool = False, **settings: Any) -> OpenCL:
    """Open an engine of its own, beside the one that ``backend="opencl"`` shares.

    Parameters
    ----------
    device
        ``""``, ``"0:1"``, ``"nvidia"``, with or without ``opencl:`` before it.
    profile
        Whether ``engine.session.spent()`` gives the time of every kernel and copy.
    settings
        As in :class:`~qcore.backends.opencl.session.Session`.

    Raises
    ------
    DeviceError
        ``device-unavailable``, ``forked-engine``.
    """
    facts = find(device)
    _refuse_forks(facts.spelled)
    with documented(facts.spelled, "open"):
        import pyopencl as cl

        found = cl.get_platforms()[facts.platform].get_devices()[facts.device]
        facts = read_facts(found, facts.platform, facts.device)
        session = Session(facts, cl.Context([found]), profile=profile, **settings)
    _LOG.info("opened %s: %s, %s", facts.spelled, facts.name, facts.reason)
    return OpenCL(session)


@lru_cache(maxsize=16)
def shared_engine(spelled: str, pid: int) -> OpenCL:
    """The engine that all calls of a process share for one spelling of a device."""
    facts = find(spelled)
    if facts.spelled != spelled:
        return shared_engine(facts.spelled, pid)
    return open_engine(spelled)


def find(device: str = "") -> DeviceFacts:
    """The facts of the device that a spelling means here.

    Raises
    ------
    DeviceError
        ``device-unavailable``, with what is missing, or what there is.
    """
    asked = choice.wanted(device)
    found = devices()
    return choice.pick(found.devices, asked)


def devices() -> Verdict:
    """The verdict of the probe, once it is ready; else its reason as an error."""
    found = verdict()
    if found.state != READY:
        raise errors.build("device-unavailable", device="opencl", reason=found.reason)
    return found


def _refuse_forks(device: str) -> None:
    if not _loaded_in:
        _loaded_in.append(os.getpid())
    elif _loaded_in[0] != os.getpid():
        raise errors.build("forked-engine", engine=device, pid=_loaded_in[0])
