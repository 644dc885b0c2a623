"""Every operation beside the physical bound, NumPy and the libraries that are installed, as ratios of one run.

    python benchmarks/throughput.py [--sizes 64MiB,4MiB] [--threads 1] [--ops q.q8_0,d.q8_0] [--peers numpy,torch]
                                    [--budget 0.5] [--json OUT] [--readme]

GB/s are of float32 bytes (packing alone: of codes). `B` is the best loop of the operation in the same rounds
(benchmarks/bound.py), `share` is qcore's part of it, `goal` what it is to reach, `x NumPy` and `x peer` say how many
times as fast qcore is as NumPy and as the best library. A row is marked where it is below 0.8 of its goal. Outputs of
`dequantize` are preallocated (`out=`), those of `quantize` are not: qcore returns new tensors.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from harness import SIZES, interleave, machine, pin, table, write_json
from operations import OPERATIONS, Data, Operation, bounds, ours
from peers import PEERS, beside

import qcore

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- begin: benchmarks/throughput.py -->\n", "<!-- end -->\n"
ENOUGH = 0.8
"""Of a goal."""


def measure(
    row: Operation, data: Data, size: str, peers: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    """One row of the table."""
    cases = [*bounds(row, data), ours(row, data), *beside(row.peers or row.name, data, peers)]
    live = interleave(cases, options.budget)
    own = next(case for case in live if case.kind == "qcore")
    limits = [case for case in live if case.kind == "bound"]
    best = min(limits, key=lambda case: case.seconds, default=None)
    rivals = {
        kind: min((c for c in live if c.kind == kind), key=lambda c: c.seconds, default=None)
        for kind in ("numpy", "peer")
    }
    unit = data.unit(row)
    at_full_size = size == "64MiB"
    goal_peer = row.peer[0 if at_full_size else 1]
    found: dict[str, Any] = {
        "op": row.name, "size": size, "threads": data.threads, "us": own.seconds * 1e6, "gbs": unit / own.seconds / 1e9,
        "bound": None if best is None else best.name, "bound_gbs": None if best is None else unit / best.seconds / 1e9,
        "share": None if best is None else own.ratio(best), "goal_share": row.share if at_full_size else None,
        "x_numpy": None if rivals["numpy"] is None else own.ratio(rivals["numpy"]),
        "peer": None if rivals["peer"] is None else rivals["peer"].name,
        "x_peer": None if rivals["peer"] is None else own.ratio(rivals["peer"]), "goal_peer": goal_peer,
        "rounds": len(own.times),
        "all": {case.name: round(unit / case.seconds / 1e9, 3) for case in live},
    }  # fmt: skip
    pairs = ((found["share"], found["goal_share"]), (found["x_peer"], goal_peer))
    parts = [got / goal for got, goal in pairs if got is not None and goal is not None]
    found["of_goal"] = min(parts, default=None)
    return found


def printed(rows: list[dict[str, Any]]) -> str:
    def number(value: float | None, digits: int = 2) -> str:
        return "" if value is None else f"{value:.{digits}f}"

    head = ["op", "size", "GB/s", "B", "share", "goal", "x NumPy", "best peer", "x peer", "goal", "behind"]
    return table(
        head,
        (
            (
                r["op"], r["size"], number(r["gbs"], 1), number(r["bound_gbs"], 1), number(r["share"]),
                number(r["goal_share"]), number(r["x_numpy"], 1), r["peer"] or "", number(r["x_peer"], 1),
                number(r["goal_peer"], 1), number(r["of_goal"]) if (r["of_goal"] or 1) < ENOUGH else "",
            )
            for r in rows
        ),
    )  # fmt: skip


def write_readme(rows: list[dict[str, Any]]) -> None:
    """The short table: what one thread reaches of the bound, and beside NumPy."""
    at = {row["op"]: row for row in rows if row["size"] == "64MiB"}
    lines = [
        "| scheme | quantize: of the bound | x NumPy | dequantize: of the bound | x NumPy |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row.name[2:] for row in OPERATIONS.values() if row.name[:2] in ("q.", "d.")):
        pair = [at.get(f"{way}.{name}") for way in "qd"]
        if None in pair or OPERATIONS[f"q.{name}"].kind != "quantize":
            continue
        cells = [f"{row['share']:.2f} | {row['x_numpy'] or float('nan'):.0f}" for row in pair if row]
        lines.append(f"| `{OPERATIONS[f'd.{name}'].scheme}` | {' | '.join(cells)} |".replace(" nan ", " "))
    before, begin, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    README.write_text(f"{before}{begin}{chr(10).join(lines)}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="64MiB,4MiB", help=", ".join(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--ops", default=",".join(OPERATIONS), help="names, or beginnings of names, with commas between"
    )
    parser.add_argument("--peers", default=",".join(PEERS), help="those not installed are left out")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds for each case (default 0.5)")
    parser.add_argument("--json")
    parser.add_argument("--readme", action="store_true", help="write the short table into README.md")
    options = parser.parse_args()
    pin(options.threads)
    qcore.threads(options.threads)
    wanted = [row for row in OPERATIONS.values() if row.name.startswith(tuple(options.ops.split(",")))]
    rows = []
    for size in options.sizes.split(","):
        data = Data(SIZES[size], options.threads)
        peers = options.peers.split(",") if options.peers else []
        rows += [measure(row, data, size, peers, options) for row in wanted]
    facts = machine()
    print(f"{facts['processor']}, level {facts['level']}, threads: {options.threads}\n\n{printed(rows)}")
    shares = [row["of_goal"] for row in rows if row["of_goal"] is not None]
    if shares:
        print(f"\n{sum(s >= ENOUGH for s in shares)} of {len(shares)} rows at {ENOUGH} of their goal or better; "
              f"the median is at {statistics.median(shares):.2f}")  # fmt: skip
    write_json(options.json, rows, threads=options.threads)
    if options.readme:
        write_readme(rows)


if __name__ == "__main__":
    main()
