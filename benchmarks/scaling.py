"""Whether the cost per element is flat, and whether threads pay: sizes from 1e3 elements up, threads from 1 up.

    python benchmarks/scaling.py [--sizes 1e3,1e4,...] [--threads 1,2] [--schemes NAME,...] [--json OUT]

`ns/1k` is nanoseconds for a thousand elements on one thread: flat from about a million elements on, and rising below
where the call itself is what is paid. `x N` is how many times as fast N threads are as one: the goal is 1.7 for two
wherever one takes 200 us or more, and never below 1 (0.95 with noise) where it takes less. `of B` is the part of the
best plain loop that the same number of threads reaches.
"""

from __future__ import annotations

import argparse
import gc
import os
from typing import Any

import numpy as np
from bound import loop
from harness import Case, aligned, interleave, pin, table, write_json

import qcore

SCHEMES = ("q8s/native/t:f32", "q8s/native/b32:f16", "q4s/u32/b32:f16", "nvfp4")
SIZES = (1_024, 8_192, 32_768, 65_536, 131_072, 262_144, 1 << 20, 1 << 24, 100_000_000)
LONG = 200e-6
"""Seconds on one thread from which two must pay."""


def rows_of(scheme: str, size: int, threads: list[int], budget: float) -> list[dict[str, Any]]:
    """Quantizing and dequantizing one size, all thread counts in turn."""
    x, out = aligned(size, np.float32), aligned(size, np.float32)
    x[...] = np.random.default_rng(3).standard_normal(size, dtype=np.float32)
    q = qcore.quantize(x, scheme)
    codes = aligned(size, np.uint8)
    codes[...] = np.random.default_rng(4).integers(0, 256, size, dtype=np.uint8)
    packed = scheme != "q8s/native/t:f32" and not scheme.startswith("q8s/native")
    found = []
    for verb in ("quantize", "dequantize"):
        cases, limits = [], []
        for count in threads:
            if verb == "quantize":
                names = ("read_write_half",) if packed else ("read_write1", "read_write1_nt")
                arrays = (x, codes)
                cases.append(Case(f"{count}", lambda n=count: qcore.quantize(x, scheme, threads=n)))
            else:
                names = (
                    ("read_half_write", "read_half_write_nt") if packed else ("read1_write", "read1_write_nt")
                )
                arrays = (codes, out)
                cases.append(Case(f"{count}", lambda n=count: q.dequantize(out=out, threads=n)))
            whole = size // (4096 * count) * 4096 * count
            plain = [Case(f"{name} {count}", loop(name, *arrays, whole, count), "bound") for name in names]
            limits.append(plain if whole else [])
        interleave([*cases, *(case for each in limits for case in each)], budget, rounds=41)
        one = cases[0]
        for count, case, bounds in zip(threads, cases, limits, strict=True):
            best = min((b.seconds for b in bounds), default=None)
            found.append(
                {
                    "scheme": scheme, "verb": verb, "elements": size, "threads": count, "us": case.seconds * 1e6,
                    "ns_per_k": case.seconds * 1e12 / size, "speedup": case.ratio(one),
                    "of_bound": None if best is None else best / case.seconds,
                }
            )  # fmt: skip
    return found


def judged(row: dict[str, Any], one: dict[str, Any]) -> str:
    """What misses its goal."""
    if row["threads"] != 2:
        return ""
    if one["us"] >= LONG * 1e6:
        return "" if row["speedup"] >= 1.7 else "below 1.7"
    return "" if row["speedup"] >= 0.95 else "slower"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="elements")
    parser.add_argument("--threads", default=",".join(map(str, range(1, cores + 1))))
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--budget", type=float, default=0.2, help="seconds for each case (default 0.2)")
    parser.add_argument("--json")
    options = parser.parse_args()
    threads = [int(count) for count in options.threads.split(",")]
    pin(max(2, *threads))
    rows = []
    for scheme in options.schemes.split(","):
        for size in (int(float(text)) for text in options.sizes.split(",")):
            rows += rows_of(scheme, size, threads, options.budget)
            gc.collect()
    head = ["scheme", "verb", "elements", "us, 1 thread", "ns/1k", "of B"]
    head += [text for count in threads[1:] for text in (f"x {count}", f"of B, {count}")] + ["misses"]
    lines = []
    for start in range(0, len(rows), len(threads)):
        one, *more = rows[start : start + len(threads)]
        share = [f"{row['of_bound']:.2f}" if row["of_bound"] else "" for row in (one, *more)]
        cells = [
            one["scheme"],
            one["verb"],
            one["elements"],
            f"{one['us']:.1f}",
            f"{one['ns_per_k']:.0f}",
            share[0],
        ]
        for row, part in zip(more, share[1:], strict=True):
            cells += [f"{row['speedup']:.2f}", part]
        lines.append([*cells, " ".join(filter(None, (judged(row, one) for row in more)))])
    print(table(head, lines))
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
