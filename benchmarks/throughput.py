"""How fast the kernels are: GB/s of float32 bytes, and the ratio to NumPy's copy of the array in that run.

    python benchmarks/throughput.py [--mib 64] [--rounds 7] [--threads 1] [--readme] [SCHEME ...]

A machine's memory decides the absolute numbers, on a shared one its neighbours too: compare ratios, and only
within one run. The data are normal random numbers; zeros would flatter. Each row is the best of the rounds, the
rows taken in turn so that all see the same machine.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import qcore

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- begin: benchmarks/throughput.py -->\n", "<!-- end -->\n"
SCHEMES = (
    "q8s/native/t:f32",
    "q8s/native/b32:f16",
    "q4s/u32/b32:f16",
    "q2s/u32/b32:f16",
    "e4m3/native/t:f32",
    "mxfp8",
    "mxfp4",
    "nvfp4",
    "nf4",
    "q4_0",
)


def rows(x: np.ndarray, schemes: list[str], threads: int | None) -> dict[str, Callable[[], object]]:
    target = np.empty_like(x)
    work: dict[str, Callable[[], object]] = {"numpy copy": lambda: np.copyto(target, x)}
    for scheme in schemes:
        q = qcore.quantize(x, scheme, threads=threads)
        work[f"quantize {scheme}"] = lambda scheme=scheme: qcore.quantize(x, scheme, threads=threads)
        work[f"dequantize {scheme}"] = lambda q=q: q.dequantize(out=target)
    return work


def best_times(work: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("schemes", nargs="*", default=list(SCHEMES), help="scheme texts or preset names")
    parser.add_argument("--mib", type=int, default=64, help="size of the float32 input (default 64)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--readme", action="store_true", help="write the ratios into README.md")
    parser.add_argument("--threads", type=int, default=None, help="default: what the process may use")
    options = parser.parse_args()
    if options.threads is not None:
        qcore.threads(options.threads)
    shape = (options.mib << 20) // 4 // 4096, 4096
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    times = best_times(rows(x, options.schemes, options.threads), options.rounds)
    copy = times["numpy copy"]
    print(f"{shape[0]} x {shape[1]} float32, threads: {options.threads or 'default'}")
    print("| operation | GB/s of float32 | x numpy copy |\n|---|---|---|")
    for name, seconds in times.items():
        print(f"| {name} | {x.nbytes / seconds / 1e9:.1f} | {copy / seconds:.2f} |")
    if options.readme:
        write_readme({name: copy / seconds for name, seconds in times.items()}, options.schemes)


def write_readme(ratios: dict[str, float], schemes: list[str]) -> None:
    lines = ["| scheme | quantize | dequantize |", "|---|---|---|"]
    lines += [
        f"| `{scheme}` | {ratios[f'quantize {scheme}']:.2f} | {ratios[f'dequantize {scheme}']:.2f} |"
        for scheme in schemes
    ]
    before, begin, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    README.write_text(f"{before}{begin}{chr(10).join(lines)}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
