"""Rows of compute devices, processes and cancelled work."""

from __future__ import annotations

from qcore.errors.base import DeviceError, ErrorDoc, OperationCancelled

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="device-unavailable",
        family=DeviceError,
        message="device {device} is not available: {reason}",
        cause="The backend needs something that this machine, or this installation, does not have.",
        when=(
            'backend="opencl" without PyOpenCL, without an OpenCL platform, or with a device that is not '
            "there."
        ),
        solutions=(
            "See what is missing: qcore doctor, qcore devices.",
            (
                "Install the extra and a driver: pip install qcore-quant[opencl], and an OpenCL runtime "
                "such as PoCL."
            ),
            'Use backend="cpu", whose results are the same bits, or "auto", which falls back to it.',
        ),
        refs=("forked-engine",),
    ),
    ErrorDoc(
        code="forked-engine",
        family=DeviceError,
        message="the {engine} engine was created in another process (pid {pid}) and does not survive a fork",
        cause=(
            "Drivers keep threads and handles that a forked child does not inherit; using them hangs or "
            "crashes."
        ),
        when=(
            "Using an OpenCL session, or a tensor on a device, in a child that was forked after it was made."
        ),
        solutions=(
            "Start workers by spawn: multiprocessing.get_context('spawn').",
            "Make the session in the child.",
            'Use backend="cpu", which works in forked children.',
        ),
        refs=("device-unavailable",),
    ),
    ErrorDoc(
        code="package-missing",
        family=DeviceError,
        message="{purpose} needs the package {package}, which is not installed",
        cause=(
            "Packages that few programs need are not installed with qcore and are loaded when they are used."
        ),
        when="q.to_torch() without torch, the inspector without PyQt6, and other parts that need an extra.",
        solutions=(
            "Install the package, or the extra of qcore-quant that brings it.",
            "Use NumPy arrays: np.asarray(q), q.parts().",
        ),
        refs=("device-unavailable",),
    ),
    ErrorDoc(
        code="cancelled",
        family=OperationCancelled,
        message="{operation} was cancelled",
        cause="The work was stopped on request, between two tiles; nothing is left half written.",
        when="A cancel token that is set, an interrupted batch, a closed inspector.",
        solutions=(
            "Run it again; a batch continues where it stopped with --resume.",
            "Finished parts are kept.",
        ),
    ),
)
