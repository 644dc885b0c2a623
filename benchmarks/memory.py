"""Memory used beside inputs and outputs: the high-water mark of one call, in a process of its own.

    python benchmarks/memory.py [--mib 256] [--json OUT]

`extra` is what the resident set rose by at its highest, less the output that the call returns. Goals: 1 MiB on the
paths that are fused (one level, blocks along the line) and when dequantizing into `out=`; one float32 per block more on
the general ones. Linux only: the mark is reset through /proc/self/clear_refs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from harness import table, write_json

CASES = {
    "quantize q8 b32": ("quantize", "q8s/native/b32:f16"), "quantize q4 b32": ("quantize", "q4s/u32/b32:f16"),
    "quantize int8 per tensor": ("quantize", "q8s/native/t:f32"), "quantize mxfp4": ("quantize", "mxfp4"),
    "quantize nvfp4": ("quantize", "nvfp4"), "quantize nf4": ("quantize", "nf4"), "quantize q4_0": ("quantize", "q4_0"),
    "quantize q8 16x16": ("quantize", "q8s/native/b16x16:f16"), "dequantize q8 b32 out=": ("out", "q8s/native/b32:f16"),
    "dequantize nvfp4 out=": ("out", "nvfp4"), "dequantize nf4 out=": ("out", "nf4"),
    "dequantize q8 b32 as float16 out=": ("narrow", "q8s/native/b32:f16"),
    "compare q8 b32": ("compare", "q8s/native/b32:f16"),
    "unpack q4": ("codes", "q4s/u32/b32:f16"),
}  # fmt: skip
MIB = 1 << 20


def resident(name: str) -> int:
    """A field of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024


def measured(verb: str, scheme: str, mib: int) -> dict[str, float]:
    """One call, with everything it touches in memory beforehand."""
    import qcore

    rows = (mib << 20) // 4 // 4096
    x = np.random.default_rng(0).standard_normal((rows, 4096), dtype=np.float32)
    small = qcore.quantize(x[:64], scheme)
    small.dequantize()
    qcore.compare(x[:64], small)
    q = None if verb == "quantize" else qcore.quantize(x, scheme)
    out = np.ones(x.shape, np.float16 if verb == "narrow" else np.float32)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    returned: Any = None
    if verb == "quantize":
        returned = qcore.quantize(x, scheme)
    elif verb == "compare":
        qcore.compare(x, q)
    elif verb == "codes":
        returned = q.codes
    else:
        q.dequantize(None, out)
    nbytes = 0 if returned is None else returned.nbytes
    grid = (returned if verb == "quantize" else q).scales.size * 4
    return {"output": nbytes / MIB, "extra": (resident("VmHWM") - before - nbytes) / MIB, "grid": grid / MIB}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mib", type=int, default=256, help="size of the float32 tensor (default 256)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*CASES[options.one], options.mib)))
        return
    rows = []
    for name in CASES:
        command = [sys.executable, __file__, "--one", name, "--mib", str(options.mib)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append({"call": name, **json.loads(done.stdout)})
    head = ["call", "output MiB", "extra MiB", "f32 grid MiB"]
    print(table(head, [(r["call"], *(f"{r[key]:.1f}" for key in ("output", "extra", "grid"))) for r in rows]))
    write_json(options.json, rows, mib=options.mib)


if __name__ == "__main__":
    main()
