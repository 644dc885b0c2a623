"""The title, the status line, the message bar and the first screen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from importlib import util

from ..state import Message, State
from . import text
from .metrics import line

__all__ = ["StatusData", "WelcomeData", "device", "present", "welcome"]


@dataclass(frozen=True, slots=True)
class StatusData:
    """What the frame of the window draws."""

    title: str
    cursor: str
    metrics: str
    job: str
    done: int
    total: int
    notice: Message | None
    busy: bool
    showing: str


@dataclass(frozen=True, slots=True)
class WelcomeData:
    """What an empty window draws."""

    recent: tuple[str, ...]
    device: str
    visible: bool


def present(state: State) -> StatusData:
    """Return what the frame draws."""
    title = "qcore inspector"
    if state.file is not None:
        file = state.file
        title = f"{file.title} \u00b7 {file.elements:,} parameters \u00b7 {text.size(file.nbytes)} \u2013 {title}"
    shown = [r for r in state.running if r.slot != "probe"]
    job = shown[-1] if shown else None
    if state.measured is not None:
        metrics = line(state.measured)
    elif state.refused is not None:
        metrics = f"refused: {state.refused.text}"
    else:
        metrics = ""
    return StatusData(
        title, cursor(state), metrics, "" if job is None else job.label, 0 if job is None else job.done,
        0 if job is None else job.total, state.notice, bool(shown), state.showing if state.choice_b else "A",
    )  # fmt: skip


def cursor(state: State) -> str:
    """Say what is under the pointer."""
    probe = state.probe
    if probe is None:
        return ""
    said = f"{text.place(probe.index)}  x = {text.number(probe.x, 6)}"
    if probe.decoded is not None and probe.scale is not None and probe.block is not None:
        error = probe.decoded - float(probe.x)
        said += (
            f"   code = {probe.code}   scale = {text.number(probe.scale, 5)}"
            f"   decoded = {text.number(probe.decoded, 6)}   err = {text.number(error, 3)}"
            f"   block {text.place(probe.block)}"
        )
    return said


@lru_cache(maxsize=1)
def device() -> str:
    """Say what computes here."""
    from qcore.backends.cpu.threads import resolve

    try:
        threads = resolve(None)
    except (ImportError, OSError):
        threads = os.cpu_count() or 1
    opencl = "OpenCL installed" if util.find_spec("pyopencl") is not None else "no OpenCL, why?"
    return f"CPU \u00b7 {text.count(threads, 'thread')} \u00b7 {opencl}"


def welcome(state: State) -> WelcomeData:
    """Return what an empty window draws."""
    return WelcomeData(state.recent, device(), state.file is None)
