"""What every benchmark here shares: arrays, interleaved rounds, medians, and the machine in words.

Rules: real data, never zeros; every case of a comparison takes its turn in the same rounds of the same process, so that
a slow phase of a shared machine meets all of them; a figure is the median over the rounds, and a ratio is the median of
the ratios within each round.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PAGE = 4096
SIZES = {"64MiB": (4096, 4096), "4MiB": (1024, 1024), "256KiB": (256, 256)}


@dataclass
class Case:
    """One way of doing an operation."""

    name: str
    run: Callable[[], object]
    kind: str = "qcore"
    """bound, qcore, numpy or peer."""
    times: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def seconds(self) -> float:
        return statistics.median(self.times)

    def ratio(self, other: Case) -> float:
        """How many times as fast as ``other`` this is, within the rounds that both took."""
        pairs = zip(self.times, other.times, strict=False)
        return statistics.median(theirs / own for own, theirs in pairs)


def aligned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """A zeroed array at the start of a page."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(count + PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE
    return raw[start : start + count].view(dtype).reshape(shape)


def normal(shape: tuple[int, ...], seed: int = 7) -> np.ndarray:
    """float32 of the normal distribution, the same at every run."""
    x = aligned(shape, np.float32)
    x[...] = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return x


def interleave(
    cases: Iterable[Case], budget: float = 1.0, rounds: int = 25, shortest: float = 1e-3, quiet: bool = False
) -> list[Case]:
    """Time cases in turn: about ``budget`` seconds a case. Calls shorter than ``shortest`` are repeated within a turn.

    A case that fails is reported and left out.
    """
    live: list[tuple[Case, int, int]] = []
    for case in cases:
        try:
            case.run()  # the first call compiles, opens, warms
            start = time.perf_counter()
            case.run()
            once = max(time.perf_counter() - start, 1e-7)
        except Exception as error:
            case.failure = f"{type(error).__name__}: {error}"[:160]
            if not quiet:
                print(f"  left out: {case.name}: {case.failure}", file=sys.stderr)
            continue
        repeats = max(1, min(5000, int(shortest / once)))
        live.append((case, repeats, max(3, min(rounds, int(budget / (repeats * once))))))
    for turn in range(max((most for *_, most in live), default=0)):
        for case, repeats, most in live:
            if turn < most:
                case.times.append(_seconds(case.run, repeats))
    return [case for case, *_ in live]


def _seconds(run: Callable[[], object], repeats: int) -> float:
    if repeats > 1:
        run()  # back into the caches that the others took
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def pin(threads: int) -> None:
    """With one thread, stay on one processor; and tell libraries how many threads there are."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["OMP_WAIT_POLICY"] = "passive"  # or the threads of one case spin through the turn of the next
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def machine() -> dict[str, Any]:
    """The processor, its cores and caches, the system, and the versions that count."""
    import qcore_ext

    model, cache = platform.processor() or platform.machine(), ""
    info = Path("/proc/cpuinfo")
    if info.exists():
        rows = [
            line.partition(":") for line in info.read_text(encoding="utf-8", errors="replace").splitlines()
        ]
        found = {key.strip(): value.strip() for key, _, value in rows}
        model, cache = found.get("model name", model), found.get("cache size", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": model, "cache": cache, "cores": cores, "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(), "numpy": np.__version__, "level": qcore_ext.level(),
    }  # fmt: skip


def write_json(path: str | None, rows: list[dict[str, Any]], **about: Any) -> None:
    """Rows of a run with the machine they were measured on; nothing without a path."""
    if path:
        text = json.dumps({"machine": machine(), **about, "rows": rows}, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")


def table(head: list[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
