"""Measure the presets on the shipped weights and write the table into README.md between its two marks.

    python tools/readme_numbers.py [--check]

The numbers are the same on every machine, so a test compares them (`--check`); times are not, and stand elsewhere.
"""

import sys
from pathlib import Path

import qcore
from qcore import sample

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- begin: tools/readme_numbers.py -->\n", "<!-- end -->\n"
PRESETS = (
    "q8_0",
    "int8-b32",
    "int8-channel",
    "int8",
    "mxfp8",
    "fp8",
    "q4_0",
    "nf4",
    "nvfp4",
    "int4-b32",
    "mxfp4",
)


def table() -> str:
    x = sample.load("minilm_l0_query")
    lines = ["| preset | scheme | bits/weight | SQNR dB | largest error |", "|---|---|---|---|---|"]
    for name in PRESETS:
        q = qcore.quantize(x, name)
        report = qcore.compare(x, q)
        lines.append(
            f"| `{name}` | `{q.scheme}` | {q.bits_per_weight:.2f} | {report.sqnr_db:.2f} | {report.max_abs:.4f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    text = README.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit("README.md has lost its marks")
    current = f"{before}{BEGIN}{table()}{END}{after}"
    if "--check" in sys.argv[1:]:
        sys.exit("README.md: run `make readme-numbers`" if current != text else 0)
    README.write_text(current, encoding="utf-8")


if __name__ == "__main__":
    main()
