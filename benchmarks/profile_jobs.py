"""Where the time of the three commonest jobs goes: a 4-bit quantize, an NVFP4 dequantize, a whole file.

    python benchmarks/profile_jobs.py [--threads 1] [--json OUT]

The first two jobs are taken apart by running their parts alone: the kernel on a tensor whose output exists already, and
on one that fits the caches; what is left is memory and the call. The file is a safetensors of twelve 4096 x 1024
float32 weights and small float32 vectors, converted to 4 bits; its parts are timed where they are called.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from bound import loop
from harness import Case, aligned, interleave, normal, pin, table, write_json

import qcore
from qcore.backends.cpu import numbers, threads
from qcore_ext import decode, quantize

Q4 = "q4s/u32/b32:f16"
SHAPE = (4096, 4096)


def quantizing(count: int) -> list[Case]:
    """4096 x 4096 to 4 bits in blocks of 32."""
    x = normal(SHAPE)
    q = qcore.quantize(x, Q4)
    plan = q.plan()
    n, g = numbers.of_plan(plan), numbers.geometry_of(plan, x)
    values, scales = q.values.copy(), q.scales.copy()
    arguments = (x, scales, values, g.packed, n.codec, n.scale)
    piece = normal((256, 256))
    small = qcore.quantize(piece, Q4).plan()
    sn, sg = numbers.of_plan(small), numbers.geometry_of(small, piece)
    to = (np.empty(small.grid, sn.scale_dtype), np.empty(small.storage_shape, sn.values_dtype))
    cached = (piece, *to, sg.packed, sn.codec, sn.scale)
    spare = aligned(x.size, np.uint8)
    spare[...] = np.random.default_rng(1).integers(0, 256, x.size, dtype=np.uint8)
    times = x.size // piece.size
    return [
        Case("the call", lambda: qcore.quantize(x, Q4, threads=count)),
        Case(
            "kernel, output in place",
            lambda: threads.run(quantize.minmax, arguments, g.block_tasks, g.elements, count),
        ),
        Case(
            f"kernel in cache, {times} times 256 KiB",
            lambda: [quantize.minmax(*cached, 0, sg.block_tasks) for _ in range(times)],
        ),
        Case("bytes alone (read_write_half)", loop("read_write_half", x, spare, x.size, count), "bound"),
        Case("reading alone (read)", loop("read", x, spare, x.size, count), "bound"),
    ]


def dequantizing(count: int) -> list[Case]:
    """NVFP4 of 4096 x 4096 to float32."""
    x, out = normal(SHAPE), aligned(SHAPE, np.float32)
    q = qcore.quantize(x, "nvfp4")
    piece = qcore.quantize(normal((256, 256)), "nvfp4")
    plan, to = piece.plan(), np.empty((256, 256), np.float32)
    n, g = numbers.of_plan(plan), numbers.geometry_of(plan, to)
    cached = (
        piece.values,
        piece.scales,
        float(piece.global_scale),
        to,
        g.packed,
        n.codec,
        n.scale,
        0,
        g.word_tasks,
    )
    times = x.size // to.size
    codes = aligned(x.size, np.uint8)
    codes[...] = np.random.default_rng(2).integers(0, 256, x.size, dtype=np.uint8)
    return [
        Case("the call, out=", lambda: q.dequantize(out=out, threads=count)),
        Case("the call, a new array", lambda: q.dequantize(threads=count)),
        Case(
            f"kernel in cache, {times} times 256 KiB", lambda: [decode.decode(*cached) for _ in range(times)]
        ),
        Case(
            "bytes alone (read_half_write_nt)", loop("read_half_write_nt", codes, out, x.size, count), "bound"
        ),
        Case("bytes alone (read_half_write)", loop("read_half_write", codes, out, x.size, count), "bound"),
    ]


def converting(count: int) -> list[dict[str, Any]]:
    """A file of weights: the functions that take the most time themselves, and the whole."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.safetensors", Path(folder) / "out.safetensors"
        tensors = {f"layer.{i}.weight": normal((4096, 1024), i) for i in range(12)}
        tensors |= {f"layer.{i}.bias": normal((1024,), i) for i in range(12)}
        qcore.save(source, tensors)

        def job() -> None:
            with qcore.open(source) as f:
                kept = {}
                for name in f.names():
                    x = f.tensor(name)
                    kept[name] = qcore.quantize(x, Q4, threads=count) if x.ndim == 2 else x
            qcore.save(target, kept, overwrite=True)

        job()
        watched = cProfile.Profile()
        watched.runcall(job)
        stats = pstats.Stats(watched).stats  # type: ignore[attr-defined]
    whole = sum(own for _, _, own, _, _ in stats.values())
    rows = sorted(((own, where) for where, (_, _, own, _, _) in stats.items()), reverse=True)[:9]
    found = [{"job": "convert", "part": "the whole", "ms": whole * 1e3, "share": 1.0}]
    for own, (file, _, name) in rows:
        label = f"{Path(file).stem}.{name}" if file != "~" else name.strip("<>")
        found.append({"job": "convert", "part": label, "ms": own * 1e3, "share": own / whole})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    pin(options.threads)
    rows: list[dict[str, Any]] = []
    for job, cases in (("quantize 4-bit", quantizing), ("dequantize NVFP4", dequantizing)):
        live = interleave(cases(options.threads), budget=0.8)
        whole = live[0].seconds
        rows += [
            {"job": job, "part": c.name, "ms": c.seconds * 1e3, "share": c.seconds / whole} for c in live
        ]
    rows += converting(options.threads)
    print(
        table(
            ["job", "part", "ms", "of the job"],
            [(r["job"], r["part"], f"{r['ms']:.2f}", f"{r['share']:.2f}") for r in rows],
        )
    )
    write_json(options.json, rows, threads=options.threads)


if __name__ == "__main__":
    main()
