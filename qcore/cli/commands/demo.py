"""``qcore demo``: what the schemes do to real weights, within seconds of installing."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from qcore.cli.commands.schemes import implied
from qcore.cli.output import Result, columns, human_bytes
from qcore.cli.settings import Settings

# one of each kind, from eight bits to two, in the order of their size
_PRESETS = (
    "int8",
    "int8-b32",
    "int8-channel",
    "fp8",
    "mxfp8",
    "burn-int4",
    "int4-b32",
    "q4_0",
    "nvfp4",
    "mxfp4",
    "nf4",
    "int2-b32",
    "bitnet",
)
_RUNS = 3
_BLOCK = 32  # the extent of most of them
_PLACES = ("burn-ndarray", "burn-flex", "burn-cubecl", "gguf", "vllm")


def run(
    settings: Settings,
    samples: Annotated[
        list[str] | None, typer.Argument(help="Names of shipped samples; all of them by default.")
    ] = None,
) -> Result:
    """SQNR is signal against error in decibels: six more halve the error. All codes and scales are right to the
    last bit on every backend, so the numbers are the same everywhere.
    """
    from qcore import sample

    chosen = (
        [s for s in sample.SAMPLES if not samples or s.name in samples] if samples else list(sample.SAMPLES)
    )
    for name in samples or ():
        sample.load(name)  # an unknown name is its error to raise
    backends = runnable(settings.backend)
    document: list[dict[str, Any]] = []
    lines: list[str] = []
    for shipped in chosen:
        x = sample.load(shipped.name)
        rows = [_row(x, preset, backends, settings.threads) for preset in _PRESETS]
        document += [{"sample": shipped.name, **row} for row in rows]
        dims = "x".join(map(str, shipped.shape))
        title = f"{shipped.name}: {shipped.what} ({dims} f32, {human_bytes(x.nbytes)})"
        lines += [*([""] if lines else []), title, *_table(rows, backends)]
        if x.shape[-1] < _BLOCK:
            lines.append(
                f"its rows have {x.shape[-1]} values: a block of {_BLOCK} along them stays nearly empty, and pays"
            )
            lines.append(
                "for a whole word and scale all the same; reshape such a tensor before it is quantized"
            )
    lines += [
        "",
        f"x: loads there as it is. {', '.join(_PLACES)} are targets: qcore check tells why one refuses.",
        *_equality(document, backends),
    ]
    facts = {"samples": [s.name for s in chosen], "backends": list(backends), "places": list(_PLACES)}
    return Result({**facts, "rows": document}, lines)


def _equality(rows: list[dict[str, Any]], backends: tuple[str, ...]) -> list[str]:
    """Whether the backends side by side stored the same bytes and decoded the same floats."""
    if len(backends) < 2:
        return []
    different = [f"{row['sample']} {row['preset']}" for row in rows if not row["equal_bytes"]]
    named = " and ".join(backends)
    if different:
        return [f"{named} DIFFER in: {', '.join(different)}"]
    return [f"{named}: the stored bytes and the decoded floats are equal in all {len(rows)} rows."]


def runnable(asked: str) -> tuple[str, ...]:
    """The backends that the comparison runs on, a column each: the one asked for, and OpenCL where a device works."""
    from qcore.backends.opencl import diagnosis
    from qcore.capability import backend_row

    name = backend_row(asked).name
    return (name, "opencl") if name == "cpu" and diagnosis().usable else (name,)


def _row(x: Any, name: str, backends: tuple[str, ...], threads: int | None) -> dict[str, Any]:
    from qcore import PRESETS, analysis, ops
    from qcore.capability import check

    made = [ops.quantize(x, name, backend=backend, threads=threads) for backend in backends]
    stored = {(q.to_data().bytes, q.dequantize().tobytes()) for q in made}
    q = made[0]
    milliseconds = {b: _best(partial(ops.quantize, x, name, backend=b, threads=threads)) for b in backends}
    report = analysis.compare(x, q, threads=threads)
    loads = [place for place in _PLACES if check(q.scheme, q.shape, op="load", on=place, codebook=q.codebook)]
    return {
        "preset": name,
        "scheme": str(q.scheme),
        "implies": implied(PRESETS[name]),
        "bits_per_weight": round(q.bits_per_weight, 4),
        "nbytes": q.nbytes,
        "sqnr_db": round(report.sqnr_db, 4),
        "max_abs": report.max_abs,
        "loads": loads,
        "milliseconds": milliseconds,
        "equal_bytes": len(stored) == 1,
    }


def _best(work: Callable[[], object]) -> float:
    """Milliseconds of the quickest of a few runs: what the work costs once everything is warm."""
    times = []
    for _ in range(_RUNS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return round(1e3 * min(times), 3)


def _table(rows: list[dict[str, Any]], backends: tuple[str, ...]) -> list[str]:
    header = (
        "preset",
        "scheme",
        "bits/w",
        "bytes",
        "SQNR dB",
        "max error",
        *(f"{name} ms" for name in backends),
        *_PLACES,
    )
    cells = [
        (row["preset"], row["scheme"], f"{row['bits_per_weight']:.2f}", f"{row['nbytes']:,}", f"{row['sqnr_db']:.2f}",
         f"{row['max_abs']:.4g}", *(f"{row['milliseconds'][name]:.1f}" for name in backends),
         *("x" if place in row["loads"] else "-" for place in _PLACES))
        for row in rows
    ]  # fmt: skip
    return columns(header, cells, right="llrrrr" + "r" * len(backends))
