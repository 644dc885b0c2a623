"""The verdict of a probe, asked once per process: which devices there are, or what is missing and how to get it."""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import util
from typing import Any, Final

from qcore.backends.opencl.choice import switched_off
from qcore.backends.opencl.facts import DeviceFacts

_TIMEOUT_S: Final = 120
_VENDORS: Final = "/etc/OpenCL/vendors"

POCL_WHEEL: Final = "pip install pyopencl pocl-binary-distribution"
POCL_DEBIAN: Final = "apt install pocl-opencl-icd ocl-icd-libopencl1"

READY: Final = "ready"

# state -> what it means, what to do
_MEANINGS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    READY: ("OpenCL devices were found", ()),
    "off": ("QCORE_OPENCL switches OpenCL off", ("unset QCORE_OPENCL",)),
    "no-package": ("PyOpenCL is not installed", (POCL_WHEEL,)),
    "no-loader": (
        "PyOpenCL is installed, its OpenCL loader (libOpenCL) is not found",
        ("pip install --force-reinstall pyopencl", "apt install ocl-icd-libopencl1"),
    ),
    "no-icd": (
        "the OpenCL loader works, no driver (ICD) is installed",
        (
            POCL_WHEEL,
            POCL_DEBIAN,
            "or the driver of your GPU: nvidia-opencl-icd, intel-opencl-icd, rocm-opencl-runtime",
        ),
    ),
    "icd-fails": (
        "a driver (ICD) is registered, the loader cannot load it",
        (
            f"see that the library named in {_VENDORS}/*.icd exists and loads (ldd)",
            "PyOpenCL's wheel has a loader of its own: OCL_ICD_VENDORS=/etc/OpenCL/vendors shows it your drivers",
            POCL_WHEEL,
        ),
    ),
    "no-device": (
        "a platform was found, it has no device",
        ("check the permissions of /dev/dri or /dev/nvidia* (groups render, video)", POCL_WHEEL),
    ),
    "driver-crash": (
        "listing the OpenCL platforms ended the process that tried it",
        ("remove or update the driver that crashes", "QCORE_OPENCL=0 switches OpenCL off"),
    ),
    "driver-hangs": (
        f"listing the OpenCL platforms did not end within {_TIMEOUT_S} seconds",
        ("remove or update the driver that hangs", "QCORE_OPENCL=0 switches OpenCL off"),
    ),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a probe found."""

    state: str
    """One word: ``ready``, ``off``, ``no-package``, ``no-loader``, ``no-icd``, ``icd-fails``, ``no-device``,
    ``driver-crash`` or ``driver-hangs``."""
    text: str = ""
    """What the driver said."""
    devices: tuple[DeviceFacts, ...] = ()
    platforms: tuple[str, ...] = ()
    pyopencl: str = ""
    builds: tuple[str, ...] = ()
    """For every device why a kernel cannot be built there, or nothing; empty where that was not tried."""

    @property
    def usable(self) -> bool:
        """Whether a device was found and, where that was tried, builds kernels."""
        return self.state == READY and not any(self.builds)

    @property
    def meaning(self) -> str:
        """What the state means, in a sentence."""
        return _MEANINGS[self.state][0]

    @property
    def advice(self) -> tuple[str, ...]:
        """What to install or change."""
        return _MEANINGS[self.state][1]

    @property
    def reason(self) -> str:
        """The meaning and what to do, for an error's text."""
        return "; ".join((self.meaning, *self.advice[:1]))


@lru_cache(maxsize=2)
def verdict(build: bool = False) -> Verdict:
    """Probe in a process of its own, once; ``build`` also tries a kernel on every device.

    Examples
    --------
    >>> verdict().state in _MEANINGS
    True
    """
    if switched_off():
        return Verdict("off")
    if util.find_spec("pyopencl") is None:
        return Verdict("no-package")
    command = [sys.executable, "-m", "qcore.backends.opencl.probe", *(["--build"] if build else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Verdict("driver-hangs")
    return read(done.returncode, done.stdout, done.stderr)


def read(code: int, answer: str, complaint: str) -> Verdict:
    """Understand how a probe ended.

    Examples
    --------
    >>> read(-11, "", "").state, read(0, '{"failure": "no-package", "text": "no module"}', "").state
    ('driver-crash', 'no-package')
    """
    try:
        found: dict[str, Any] = json.loads(answer[answer.index("{") :])
    except ValueError:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Verdict("driver-crash", text=f"{how} {complaint.strip()[-200:]}".strip())
    devices, platforms = found.get("devices", []), tuple(found.get("platforms", ()))
    state = found.get("failure", "no-platform" if not platforms else READY if devices else "no-device")
    if state == "no-platform":
        state = "icd-fails" if registered_drivers() else "no-icd"
    return Verdict(
        state=state,
        text=found.get("text", ""),
        devices=tuple(DeviceFacts.from_dict(device) for device in devices),
        platforms=platforms,
        pyopencl=found.get("pyopencl", ""),
        builds=tuple(device["build"] for device in devices if "build" in device),
    )


def registered_drivers(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The ``.icd`` files that the loader is told about."""
    place = environment.get("OCL_ICD_VENDORS") or environment.get("OPENCL_VENDOR_PATH") or _VENDORS
    pattern = place if place.endswith(".icd") else os.path.join(place, "*.icd")
    return sorted(glob.glob(pattern))
