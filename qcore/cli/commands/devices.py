"""``qcore devices``: the OpenCL devices, and whether each gives the processor's bits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from qcore.cli import exits
from qcore.cli.output import Result, columns, human_bytes
from qcore.cli.settings import Settings


def run(settings: Settings) -> Result:
    """The device marked with a star is the one that the backend opencl takes: the one named by QCORE_DEVICE, else by
    PYOPENCL_CTX, else the best GPU, else a processor. Without any device the command ends with exit code 6.
    """
    from qcore.backends.opencl import diagnosis

    found = diagnosis()
    document: dict[str, Any] = {
        "state": found.state,
        "meaning": found.meaning,
        "advice": list(found.advice),
        "pyopencl": found.pyopencl,
        "platforms": list(found.platforms),
    }
    if not found.devices:
        lines = [f"no OpenCL device: {found.meaning}", *(f"  {advice}" for advice in found.advice)]
        return Result(document | {"devices": [], "chosen": None}, lines, exits.DEVICE)
    chosen, complaint = _chosen()
    builds = found.builds or ("",) * len(found.devices)
    document["chosen"] = chosen
    document["devices"] = [
        asdict(facts)
        | {"backend": facts.spelled, "bit_exact": facts.bit_exact, "reason": facts.reason, "fault": fault}
        for facts, fault in zip(found.devices, builds, strict=True)
    ]
    rows = [
        (
            f"{'*' if facts.spelled == chosen else ' '} {facts.spelled}", facts.name, facts.platform_name, facts.driver,
            facts.kind, facts.compute_units, human_bytes(facts.memory), human_bytes(facts.max_alloc),
            "broken" if fault else "bit-exact" if facts.bit_exact else "tolerant",
        )
        for facts, fault in zip(found.devices, builds, strict=True)
    ]  # fmt: skip
    header = (
        "  backend",
        "device",
        "platform",
        "driver",
        "kind",
        "units",
        "memory",
        "largest buffer",
        "numbers",
    )
    lines = columns(header, rows, right="lllllrrr")
    lines += [
        f"{facts.spelled}: {fault or facts.reason}"
        for facts, fault in zip(found.devices, builds, strict=True)
    ]
    return Result(document, lines, notes=(complaint,) if complaint else ())


def _chosen() -> tuple[str | None, str]:
    """The device the backend takes, or why the environment names none that is there."""
    from qcore import errors
    from qcore.backends.opencl.opening import find

    try:
        return find().spelled, ""
    except errors.DeviceError as nothing:
        return None, str(nothing)
