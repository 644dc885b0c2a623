"""Look at the platforms from a process that may die: ``python -m qcore.backends.opencl.probe`` writes JSON.

Some drivers crash when they are only listed. ``--build`` also runs a kernel, which a broken driver or cache fails at.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from qcore.backends.opencl.facts import read_facts


def look(build: bool) -> dict[str, Any]:
    """The platforms and devices, or the kind and text of what went wrong."""
    try:
        import pyopencl as cl
    except ImportError as missing:
        kind = "no-package" if getattr(missing, "name", None) == "pyopencl" else "no-loader"
        return {"failure": kind, "text": str(missing)}
    found: dict[str, Any] = {"pyopencl": cl.VERSION_TEXT, "devices": [], "platforms": []}
    try:
        platforms = cl.get_platforms()
    except cl.Error as failure:
        return found | {"failure": "no-platform", "text": str(failure)}
    for p, platform in enumerate(platforms):
        found["platforms"].append(platform.name.strip())
        try:
            devices = platform.get_devices()
        except cl.Error:  # a platform without devices says so by failing
            continue
        for d, device in enumerate(devices):
            found["devices"].append(_read(device, p, d, build))
    return found


def _read(device: Any, p: int, d: int, build: bool) -> dict[str, Any]:
    facts = read_facts(device, p, d)
    answer = facts.to_dict()
    if build:
        answer["build"] = _build(device, facts)
    return answer


def _build(device: Any, facts: Any) -> str:
    """The first lines of why a kernel cannot be built and run, or nothing."""
    import numpy as np
    import pyopencl as cl

    from qcore import errors
    from qcore.backends.opencl.geometry import Geometry
    from qcore.backends.opencl.session import Session
    from qcore.backends.opencl.steps import ANY, peaks, placed
    from qcore.backends.opencl.stream import Stream

    x, found = np.array([-2, 1], np.float32), np.zeros(1, np.uint32)
    try:
        stream = Stream(Session(facts, cl.Context([device])))
        with stream.doing("try a kernel"):
            at = placed(stream, Geometry((2,), (2,), -1, 8, 1))
            grid = peaks(stream, stream.upload(x, "x"), x.dtype, at, ANY)
            stream.fetch(grid, found, "peaks")
    except (errors.QuantError, cl.Error) as failure:
        return str(failure)[:400]
    return "" if found.view(np.float32)[0] == 2 else f"a kernel found {found.view(np.float32)[0]} where 2 is right"


if __name__ == "__main__":
    json.dump(look("--build" in sys.argv[1:]), sys.stdout)
