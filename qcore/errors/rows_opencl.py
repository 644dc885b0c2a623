"""Rows of what an OpenCL driver does wrong, one for every way."""

from __future__ import annotations

from qcore.errors.base import DeviceError, ErrorDoc

__all__ = ["ROWS"]

_FALL_BACK = 'Use backend="cpu", whose results are the same bits, or "auto", which falls back to it.'

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="opencl-build-failed",
        family=DeviceError,
        message="the kernels cannot be built for {device}: {log}",
        cause="The driver's compiler refused a kernel, or broke over it.",
        when="The first use of a scheme on a device; qcore doctor tries a kernel on every device.",
        solutions=(
            "Read the compiler's words: PYOPENCL_COMPILER_OUTPUT=1, or the debug log of qcore.backends.opencl.",
            "Unset PYOPENCL_BUILD_OPTIONS if it is set.",
            "Update the driver, or choose another device: qcore devices.",
            _FALL_BACK,
        ),
        refs=("opencl-cache-broken", "device-unavailable"),
    ),
    ErrorDoc(
        code="opencl-cache-broken",
        family=DeviceError,
        message="{device} has a built program without its kernels ({status})",
        cause=(
            "A build that died half-way left a broken entry in the driver's cache on disk, which PoCL goes on "
            "using; or the cache's folder cannot be written."
        ),
        when="The first use of a scheme after a crash, or with an unwritable home folder.",
        solutions=(
            "Empty the cache: rm -r ~/.cache/pocl (PoCL), ~/.nv/ComputeCache (NVIDIA).",
            "Give it another, writable place: POCL_CACHE_DIR=/tmp/pocl; PYOPENCL_NO_CACHE=1 for PyOpenCL's own.",
            _FALL_BACK,
        ),
        refs=("opencl-build-failed",),
    ),
    ErrorDoc(
        code="opencl-out-of-memory",
        family=DeviceError,
        message="{device} has no memory left to {step} ({status})",
        cause=(
            "A buffer, or what a kernel needs to run, does not fit the device. Tensors are cut into tiles of the "
            "size the device allows; other programs may hold the rest."
        ),
        when="Allocating, starting a kernel, or waiting for one: some drivers allocate as late as that.",
        solutions=(
            "Free the device's memory, or close the programs that use it.",
            "Choose another device: qcore devices.",
            _FALL_BACK,
        ),
        refs=("device-unavailable",),
    ),
    ErrorDoc(
        code="opencl-device-lost",
        family=DeviceError,
        message="{device} went away while it was to {step} ({status})",
        cause="The device was reset, unplugged, or taken by its driver, which a kernel that ran too long can cause.",
        when="Any use of a device; the session cannot be used again.",
        solutions=(
            "Run again in a new process; look at the system's log for the driver's reason.",
            _FALL_BACK,
        ),
        refs=("device-unavailable",),
    ),
    ErrorDoc(
        code="opencl-call-failed",
        family=DeviceError,
        message="{device} refused to {step} ({status})",
        cause="The driver refused a call that is right by the standard: sizes of groups, alignment, arguments.",
        when="Any use of a device whose driver has limits that it does not report.",
        solutions=(
            "Update the driver, or choose another device: qcore devices.",
            "Report it with the output of qcore doctor.",
            _FALL_BACK,
        ),
        refs=("opencl-build-failed",),
    ),
)
