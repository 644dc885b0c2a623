"""The physical bound B: how fast this machine moves the bytes of each operation, and NumPy's copy beside it.

    python benchmarks/bound.py [--threads 1] [--sizes 64MiB,4MiB,256KiB] [--json OUT]

GB/s of float32 bytes (pack and unpack: of codes). Names say what is read and written per element, in bytes:
`read_write1` reads a float32 and writes a byte; `_nt` writes past the caches, which pays only where the output does not
fit them. `fresh` allocates the float32 and touches every page. The loops (loops.c) are compiled at run time for this
machine, with its C compiler; B of an operation is the best of the loops that move its bytes.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from harness import SIZES, Case, aligned, interleave, normal, pin, table, write_json

FLAGS = ["-O3", "-march=native", "-fopenmp", "-fno-trapping-math", "-shared", "-fPIC"]
F32_LOOPS = (
    "read", "read_write1", "read_write1_nt", "read_write_half", "read1_write", "read1_write_nt", "read_half_write",
    "read_half_write_nt", "copy_nt",
)  # fmt: skip
CODE_LOOPS = ("pack", "unpack")


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The loops, compiled for this machine."""
    folder = Path(tempfile.mkdtemp(prefix="qcore-bound-"))
    source, built = Path(__file__).with_name("loops.c"), folder / "loops.so"
    subprocess.run([os.environ.get("CC", "cc"), *FLAGS, str(source), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


def loop(name: str, source: np.ndarray, target: np.ndarray, n: int, threads: int) -> Callable[[], object]:
    """A call of one loop; the arrays must outlive it."""
    function = getattr(library(), name)
    function.argtypes, function.restype = (
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int],
        None,
    )
    start, end = source.ctypes.data, target.ctypes.data
    return lambda: (source, target) and function(start, end, n, threads)


def both(*runs: Callable[[], object]) -> Callable[[], object]:
    """One after the other: an operation that has to read its input twice."""

    def run() -> None:
        for each in runs:
            each()

    return run


def fresh(shape: tuple[int, ...]) -> None:
    """What a call pays that returns a new float32 array."""
    np.empty(shape, np.float32).reshape(-1)[::1024] = 0


def cases(shape: tuple[int, int], threads: int) -> list[Case]:
    n = shape[0] * shape[1]
    x, y = normal(shape), aligned(shape, np.float32)
    codes = aligned(shape, np.uint8)
    codes[...] = np.random.default_rng(9).integers(0, 256, shape, dtype=np.uint8)
    other = aligned(shape, np.uint8)
    other[...] = codes  # no page of it is new to the loops
    found = [
        Case("numpy copy", lambda: np.copyto(y, x), "numpy"),
        Case("fresh", lambda: fresh(shape), "numpy"),
    ]
    for name in F32_LOOPS:
        reads_codes = name.startswith(("read1_", "read_half_"))
        writes_codes = "_write1" in name or name == "read_write_half"
        source, target = (codes if reads_codes else x), (other if writes_codes else y)
        found.append(Case(name, loop(name, source, target, n, threads), "bound"))
    found += [Case(name, loop(name, codes, other, n, threads), "bound") for name in CODE_LOOPS]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", default="64MiB,4MiB,256KiB")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds for each row (default 0.5)")
    parser.add_argument("--json")
    options = parser.parse_args()
    pin(options.threads)
    rows = []
    for size in options.sizes.split(","):
        shape = SIZES[size]
        for case in interleave(cases(shape, options.threads), options.budget):
            unit = shape[0] * shape[1] * (1 if case.name in CODE_LOOPS else 4)
            speed = unit / case.seconds / 1e9
            rows.append({"size": size, "threads": options.threads, "name": case.name, "gbs": round(speed, 2)})
    print(
        table(
            ["size", "threads", "what", "GB/s"],
            [(r["size"], r["threads"], r["name"], r["gbs"]) for r in rows],
        )
    )
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
