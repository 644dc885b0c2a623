"""What an OpenCL device reaches: kernels and copies apart, beside the device's own copy bandwidth.

    python benchmarks/opencl.py [DEVICE] [--mib 4 64] [--runs 256 1024 4096] [--lanes 1 4 8] [--json]

GB/s are of float32 bytes: of the input when quantizing, of the output when decoding. `share` is kernel GB/s against
the bytes a second that the device copies from one buffer to another. `host` is the whole call from array to array, with
the copies there and back. The data is random: zeros would flatter.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from qcore.backends.opencl import open_engine
from qcore.backends.opencl.engine import OpenCL
from qcore.plan import Plan, make_plan
from qcore.scheme import Codebook
from qcore.scheme.resolve import resolve

SCHEMES = {
    "int8": "q8s/native/t:f32",
    "q8": "q8s/native/b32:f16",
    "q8 f32 scale": "q8s/native/b32:f32",
    "q4": "q4s/u32/b32:f16",
    "int2": "q2s/u32/b32:f16",
    "e4m3": "e4m3/native/t:f32",
    "mxfp8": "e4m3/native/b32:ue8m0",
    "mxfp4": "e2m1/packed/b32:ue8m0",
    "nvfp4": "e2m1/packed/b16:ue4m3/t:f32",
    "nf4": "nf4",
    "q8 columns": "q8s/u32:1/b32x1:f16",
}
REPEATS = 7


def copy_bandwidth(engine: OpenCL, nbytes: int) -> float:
    """GB/s of bytes copied from one buffer of the device to another."""
    import pyopencl as cl

    session = engine.session
    source, target = (cl.Buffer(session.context, cl.mem_flags.READ_WRITE, nbytes) for _ in range(2))
    data = np.random.default_rng(0).integers(0, 255, nbytes, np.uint8)
    cl.enqueue_copy(session.queue(), source, data)
    times = []
    for _ in range(REPEATS):
        event = cl.enqueue_copy(session.queue(), target, source, byte_count=nbytes)
        event.wait()
        times.append((event.profile.end - event.profile.start) * 1e-9)
    return nbytes / min(times) / 1e9


def seconds(engine: OpenCL, work) -> tuple[float, float, float, dict[str, float]]:
    """Best of a few: seconds of the call, of its kernels, of its copies; and of each kernel."""
    work()
    best = (np.inf, np.inf, np.inf, {})
    for _ in range(REPEATS):
        engine.session.spent()
        begin = time.perf_counter()
        work()
        whole = time.perf_counter() - begin
        spent = engine.session.spent()
        each: dict[str, float] = {}
        for one in spent:
            if one.kind == "kernel":
                each[one.name] = each.get(one.name, 0.0) + one.seconds
        copies = sum(one.seconds for one in spent if one.kind == "copy")
        if sum(each.values()) < best[1]:
            best = (min(whole, best[0]), sum(each.values()), copies, each)
    return best


def measure(engine: OpenCL, name: str, text: str, mib: float, copy: float) -> list[dict]:
    """Rows of one scheme: quantize by min-max, encode under known scales, dequantize."""
    n = int(mib * (1 << 18))
    x = np.random.default_rng(1).normal(size=(n // 1024, 1024)).astype(np.float32)
    found = resolve(text)
    table = None if found.table_hint is None else Codebook.of(found.table_hint)
    plan: Plan = make_plan(found.scheme, x.shape, codebook=table)
    staged = engine.stage(x, plan, None)
    parts = staged.quantize_minmax()
    out = np.empty_like(x)
    works = {
        "quantize": staged.quantize_minmax,
        "encode": lambda: staged.encode(parts.scales, parts.global_scale),
        "decode": lambda: engine.decode(parts.values, parts.scales, parts.global_scale, plan, out, None),
    }
    rows = []
    for operation, work in works.items():
        whole, kernels, copies, each = seconds(engine, work)
        rows.append(
            {
                "scheme": name, "operation": operation, "MiB": mib, "run": engine.session.run,
                "lanes": engine.session.lanes, "kernel GB/s": x.nbytes / kernels / 1e9,
                "share": x.nbytes / kernels / 1e9 / copy, "copies ms": 1e3 * copies,
                "host GB/s": x.nbytes / whole / 1e9, "kernels": {k: round(1e3 * v, 3) for k, v in each.items()},
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", nargs="?", default="")
    parser.add_argument("--mib", type=float, nargs="+", default=[4, 64])
    parser.add_argument(
        "--runs", type=int, nargs="+", default=[0], help="elements of a run; 0: the device's choice"
    )
    parser.add_argument(
        "--lanes", type=int, nargs="+", default=[0], help="items that share a run; 0: the device's choice"
    )
    parser.add_argument("--schemes", nargs="+", default=list(SCHEMES), choices=list(SCHEMES))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    document = []
    for mib in asked.mib:
        for run in asked.runs:
            for lanes in asked.lanes:
                engine = open_engine(asked.device, profile=True, run=run or None, lanes=lanes or None)
                copy = copy_bandwidth(engine, int(mib * (1 << 20)))
                facts = engine.session.facts
                if not asked.json:
                    print(
                        f"\n{facts.name}, {mib:g} MiB, runs of {engine.session.run}, {engine.session.lanes} lanes; ",
                        end="",
                    )
                    print(f"copies {copy:.1f} GB/s; {facts.reason}")
                    print(
                        f"{'scheme':14} {'operation':9} {'kernel GB/s':>11} {'share':>6} {'host GB/s':>9}  kernels ms"
                    )
                for name in asked.schemes:
                    rows = measure(engine, name, SCHEMES[name], mib, copy)
                    document += [{"device": facts.spelled, "copy GB/s": copy, **row} for row in rows]
                    for row in rows if not asked.json else ():
                        print(
                            f"{row['scheme']:14} {row['operation']:9} {row['kernel GB/s']:11.2f} {row['share']:6.2f} "
                            f"{row['host GB/s']:9.2f}  {row['kernels']}"
                        )
    if asked.json:
        print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
