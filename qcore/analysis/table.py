"""``SweepTable``: rows that go to a screen, a file or a data frame."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Final

from qcore import errors
from qcore.analysis.report import ErrorReport

SCHEMA: Final = "qcore.sweep/1"

COLUMNS: Final = (
    "tensor", "scheme", "label", "calibration", "scale_rounding", "bits_per_weight", "nbytes", "sqnr_db", "rmse",
    "max_abs", "p999", "clipped", "flushed", "loads", "pareto", "sampled", "refused",
)  # fmt: skip
"""Names and order of the columns, in every form of the table."""


@dataclass(frozen=True, slots=True, eq=False)
class SweepRow:
    """One scheme tried on one tensor: its exact size for the whole tensor, and what was measured.

    A scheme that is refused has ``report`` None and the error in ``refusal``.
    """

    tensor: str
    label: str
    scheme: str
    calibration: str
    scale_rounding: str
    bits_per_weight: float
    nbytes: int
    report: ErrorReport | None
    loads: tuple[str, ...]
    """Backends that quantize under the scheme and targets that load the result."""
    pareto: bool
    sampled: str
    refusal: errors.QuantError | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row under the names of ``COLUMNS``."""
        r = self.report
        measured = {} if r is None else {
            name: getattr(r, name) for name in ("sqnr_db", "rmse", "max_abs", "p999", "clipped", "flushed")
        }  # fmt: skip
        found = {
            **{name: getattr(self, name, None) for name in COLUMNS},
            **measured,
            "loads": " ".join(self.loads),
            "refused": None if self.refusal is None else f"[{self.refusal.code}] {self.refusal}",
        }
        return {name: found[name] for name in COLUMNS}


class SweepTable(Sequence[SweepRow]):
    """Rows of a sweep, in the order they were tried."""

    def __init__(self, rows: Sequence[SweepRow]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return SweepTable(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self._rows)

    @property
    def pareto(self) -> SweepTable:
        """The rows that no other row of the same tensor beats in size and error."""
        return SweepTable([row for row in self._rows if row.pareto])

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per row."""
        return [row.to_dict() for row in self._rows]

    def to_json(self) -> str:
        """One JSON document; numbers that JSON lacks are texts."""
        rows = [{k: _json_number(v) for k, v in row.items()} for row in self.to_dicts()]
        return json.dumps({"schema": SCHEMA, "rows": rows}, indent=2, allow_nan=False)

    def to_csv(self) -> str:
        """CSV with a header line."""
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.to_dicts())
        return out.getvalue()

    def to_dataframe(self) -> Any:
        """A pandas DataFrame.

        Raises
        ------
        DTypeError
            ``package-missing`` where pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise errors.build("package-missing", package="pandas", purpose="to_dataframe()") from error
        return pandas.DataFrame(self.to_dicts(), columns=list(COLUMNS))

    def __repr__(self) -> str:
        lines = [f"{'scheme':<32}{'bits/w':>8}{'SQNR dB':>9}{'max error':>11}"]
        for row in self._rows:
            r = row.report
            shown = f"refused: {row.refusal}" if r is None else f"{r.sqnr_db:>9.2f}{r.max_abs:>11.4g}"
            mark = " *" if row.pareto else ""
            lines.append(f"{row.label:<32}{row.bits_per_weight:>8.3f}{shown}{mark}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.to_dicts()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _json_number(value: Any) -> Any:
    finite = not isinstance(value, float) or float("-inf") < value < float("inf")
    return value if finite else str(value)
