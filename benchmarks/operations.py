"""The operations of the throughput table: what qcore runs, which loops bound it, what it is to reach.

Adding one is adding a row. `share` is the goal as a share of the bound at 64 MiB, `peer` the goal as a multiple of the
best library peer at (64 MiB, 4 MiB); None: no such goal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from bound import both, loop
from harness import Case, aligned, normal

import qcore

Run = Callable[[], object]
READ = ("read",)
BYTES, NIBBLES = ("read_write1", "read_write1_nt"), ("read_write_half",)
FROM_BYTES, FROM_NIBBLES = ("read1_write", "read1_write_nt"), ("read_half_write", "read_half_write_nt")


@dataclass(frozen=True)
class Operation:
    """One row. ``loops`` are alternatives; ``first_reads`` says that the input must be read once before."""

    name: str
    scheme: str
    loops: tuple[str, ...]
    share: float | None = None
    peer: tuple[float | None, float | None] = (None, None)
    options: tuple[tuple[str, Any], ...] = ()
    first_reads: bool = False
    peers: str = ""
    """The operation whose peers stand beside this one, where that is another."""
    kind: str = "quantize"


def _q(name: str, scheme: str, loops: tuple[str, ...], *rest: Any, **more: Any) -> Operation:
    return Operation(f"q.{name}", scheme, loops, *rest, **more)


def _d(name: str, scheme: str, loops: tuple[str, ...], *rest: Any, **more: Any) -> Operation:
    return Operation(f"d.{name}", scheme, loops, *rest, kind="dequantize", **more)


EVEN = (("rounding", "half-even"),)
CAST = (("params", 1.0),)
OPERATIONS = {
    row.name: row
    for row in (
        _q("int8_tensor", "q8s/native/t:f32", BYTES, 0.85, (None, 0.9), first_reads=True),
        _q(
            "int8_tensor half-even", "q8s/native/t:f32", BYTES, 0.95, (None, 1.5), EVEN, True, "q.int8_tensor"
        ),
        _d("int8_tensor", "q8s/native/t:f32", FROM_BYTES, 0.95, (1.3, 1.3)),
        _q("q8_0", "q8s/native/b32:f16", BYTES, 0.75, (1.0, 1.0)),
        _q("q8_0 half-even", "q8s/native/b32:f16", BYTES, 0.75, (1.0, 1.0), EVEN, peers="q.q8_0"),
        _q("q8_0 ggml", "q8_0", BYTES, 0.92, (1.4, 1.6), peers="q.q8_0"),
        _d("q8_0", "q8s/native/b32:f16", FROM_BYTES, 0.95, (1.8, 1.0)),
        _q("q4_0", "q4s/u32/b32:f16", NIBBLES, 0.6, (3.0, 3.0)),
        _q("q4_0 ggml", "q4_0", NIBBLES, 0.9, (5.0, 5.0), peers="q.q4_0"),
        _d("q4_0", "q4s/u32/b32:f16", FROM_NIBBLES, 0.9, (5.0, 2.5)),
        _q("int2", "q2s/u32/b32:f16", NIBBLES, 0.75, (10.0, 10.0)),
        _d("int2", "q2s/u32/b32:f16", FROM_NIBBLES, 0.95, (3.0, 1.5)),
        _q("e4m3_cast", "e4m3/native/t:f32", BYTES, 0.65, (3.0, 3.0), CAST),
        _d("e4m3_cast", "e4m3/native/t:f32", FROM_BYTES, 0.8, (3.0, 3.0)),
        _q("e5m2_cast", "e5m2/native/t:f32", BYTES, 0.65, (1.2, 1.2), CAST),
        _d("e5m2_cast", "e5m2/native/t:f32", FROM_BYTES, 0.8, (1.5, 1.5)),
        _q("e4m3_tensor", "e4m3/native/t:f32", BYTES, 0.65, first_reads=True),
        _q("e4m3_b32", "mxfp8", BYTES, 0.5, (2.3, 2.3)),
        _d("e4m3_b32", "mxfp8", FROM_BYTES, 0.7, (1.5, 1.5)),
        _q("mxfp4", "mxfp4", NIBBLES, 0.5, (12.0, 12.0)),
        _d("mxfp4", "mxfp4", FROM_NIBBLES, 0.95, (10.0, 7.0)),
        _q("nvfp4", "nvfp4", NIBBLES, 0.45, (20.0, 20.0), first_reads=True),
        _d("nvfp4", "nvfp4", FROM_NIBBLES, 0.9, (10.0, 7.0)),
        _q("nf4", "nf4", NIBBLES, 0.55, (50.0, 50.0)),
        _d("nf4", "nf4", FROM_NIBBLES, 0.9, (10.0, 2.2)),
        Operation("q.pack4", "q4s/u32", ("pack",), 0.9, (5.0, 5.0), kind="pack"),
        Operation("d.pack4", "q4s/u32", ("unpack",), 0.9, (5.0, 5.0), kind="unpack"),
        _q("q8 16x16 blocks", "q8s/native/b16x16:f16", BYTES, 0.6 * 0.75),
        _d("q8 16x16 blocks", "q8s/native/b16x16:f16", FROM_BYTES, 0.6 * 0.95),
        _q("q4 packed along rows", "q4s/u32:1/b32x1:f16", NIBBLES, 0.5 * 0.6),
        _d("q4 packed along rows", "q4s/u32:1/b32x1:f16", FROM_NIBBLES, 0.5 * 0.9),
        _q("q8_0 from f16", "q8s/native/b32:f16", ("read2_write1",), 0.9, options=(("dtype", np.float16),)),
        _q(
            "q8_0 from bf16",
            "q8s/native/b32:f16",
            ("read2_write1",),
            0.9,
            options=(("dtype", ml_dtypes.bfloat16),),
        ),
        Operation("compare q8_0", "q8s/native/b32:f16", ("read_pair",), 0.6, kind="compare"),
        Operation("mse search q4_0", "q4s/u32/b32:f16", NIBBLES, None, options=(("calibration", "mse"),)),
        Operation("fresh d.q8_0", "q8s/native/b32:f16", (), None, kind="fresh"),
    )
}


class Data:
    """Arrays of one size, shared by all who are timed on it."""

    def __init__(self, shape: tuple[int, int], threads: int) -> None:
        self.shape, self.threads, self.n = shape, threads, shape[0] * shape[1]
        self.x, self.y = normal(shape), aligned(shape, np.float32)
        random = np.random.default_rng(9)
        self.codes4 = random.integers(-8, 8, shape, dtype=np.int8)
        self.bytes, self.spare = aligned(shape, np.uint8), aligned(shape, np.uint8)
        self.bytes[...] = random.integers(0, 256, shape, dtype=np.uint8)
        self.spare[...] = self.bytes
        self.y[...] = self.x

    def unit(self, row: Operation) -> int:
        """Bytes that GB/s speak of: of the float32 tensor; of the codes for packing alone."""
        return self.n * (1 if row.kind in ("pack", "unpack") else 4)


def bounds(row: Operation, data: Data) -> list[Case]:
    """The loops that move the bytes of an operation."""
    n, threads = data.n, data.threads
    found = []
    for name in row.loops:
        writes_floats = name.endswith(("_write", "_write_nt")) and name.startswith(("read1", "read_half"))
        if name == "read_pair":
            run = loop(name, data.x, data.bytes, n, threads)
        elif name in ("pack", "unpack"):
            run = loop(name, data.bytes, data.spare, n, threads)
        elif writes_floats:
            run = loop(name, data.bytes, data.y, n, threads)
        else:
            run = loop(name, data.x, data.spare, n, threads)
        if row.first_reads:
            run = both(loop("read", data.x, data.spare, n, threads), run)
        found.append(Case(f"bound {name}", run, "bound"))
    return found


def ours(row: Operation, data: Data) -> Case:
    """qcore's way of doing it, through the public API."""
    threads, options = data.threads, dict(row.options)
    x = data.x.astype(options.pop("dtype")) if "dtype" in options else data.x
    if "params" in options:
        options["params"] = qcore.QuantParams(np.float32(options["params"]))
    if row.kind == "quantize":
        run: Run = lambda: qcore.quantize(x, row.scheme, threads=threads, **options)  # noqa: E731
    elif row.kind in ("pack", "unpack"):
        words = qcore.pack(data.codes4, "q4s", "u32")
        run = {
            "pack": lambda: qcore.pack(data.codes4, "q4s", "u32"),
            "unpack": lambda: qcore.unpack(words, data.shape, "q4s", "u32"),
        }[row.kind]
    else:
        q = qcore.quantize(x, row.scheme, threads=threads)
        run = {
            "dequantize": lambda: q.dequantize(out=data.y, threads=threads),
            "fresh": lambda: q.dequantize(threads=threads),
            "compare": lambda: qcore.compare(data.x, q, threads=threads),
        }[row.kind]
    return Case("qcore", run)
