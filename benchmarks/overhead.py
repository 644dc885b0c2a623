"""What a call costs on tiny tensors, in microseconds: 1024 elements, and 256 x 256.

    python benchmarks/overhead.py [--json OUT]

Medians over many interleaved rounds of a hundred calls. `kernel` calls the compiled function directly with the same
arguments: what is between it and the API is validation, planning and the tensor object. Goals: 3 us for 1024 elements
into `out=`, 8 us for 256 x 256 int8 into `out=`, 18 us to quantize 256 x 256 to int8 in blocks of 32 (a new tensor).
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import Case, interleave, normal, pin, table, write_json

import qcore
from qcore.backends.cpu import numbers
from qcore_ext import decode

SCHEME = "q8s/native/b32:f16"
GOALS = {("1024", "dequantize out="): 3.0, ("256x256", "dequantize out="): 8.0, ("256x256", "quantize"): 18.0}


def cases(shape: tuple[int, ...]) -> list[Case]:
    x = normal(shape)
    out = np.empty_like(x)
    scheme = qcore.QuantScheme.parse(SCHEME)
    q, nv = qcore.quantize(x, scheme), qcore.quantize(x, "nvfp4")
    plan = q.plan()
    n, g = numbers.of_plan(plan), numbers.geometry_of(plan, out)
    kernel = (q.values, q.scales, 1.0, out, g.packed, n.codec, n.scale, 0, g.word_tasks)
    codes, scales = q.codes, q.scales.astype(np.float32)

    def by_numpy() -> None:
        blocks = codes.reshape(*scales.shape, -1).astype(np.float32)
        np.multiply(blocks, scales[..., None], out=out.reshape(blocks.shape))

    return [
        Case("quantize", lambda: qcore.quantize(x, scheme)),
        Case("quantize, scheme as text", lambda: qcore.quantize(x, SCHEME)),
        Case("quantize nvfp4", lambda: qcore.quantize(x, "nvfp4")),
        Case("dequantize out=", lambda: q.dequantize(out=out)),
        Case("dequantize", q.dequantize),
        Case("dequantize nvfp4 out=", lambda: nv.dequantize(out=out)),
        Case("kernel of dequantize", lambda: decode.decode(*kernel), "bound"),
        Case("numpy dequantize out=", by_numpy, "numpy"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json")
    options = parser.parse_args()
    pin(1)
    rows = []
    for name, shape in (("1024", (1024,)), ("256x256", (256, 256))):
        live = interleave(cases(shape), budget=0.3, rounds=101, shortest=5e-4)
        goals = {verb: goal for (size, verb), goal in GOALS.items() if size == name}
        rows += [
            {"size": name, "call": c.name, "us": c.seconds * 1e6, "goal": goals.get(c.name)} for c in live
        ]
    print(
        table(
            ["size", "call", "us", "goal"],
            [(r["size"], r["call"], f"{r['us']:.2f}", r["goal"] or "") for r in rows],
        )
    )
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
