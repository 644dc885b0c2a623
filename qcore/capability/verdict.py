"""Answers: fine, or the documented errors that using the scheme would raise."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from qcore import errors
from qcore.capability.table import TABLE, row_of

__all__ = ["Survey", "Verdict"]


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The answer to one question; true when nothing speaks against it.

    Parameters
    ----------
    refusals
        The errors that would be raised, the first one first.
    scheme
        Text of the scheme that was asked about.
    op, on
        What was asked, and of whom.
    revision
        What the answer was taken from.

    Examples
    --------
    >>> import qcore
    >>> verdict = qcore.check("q4s/u32/b32:f16", on="burn-ndarray", op="load")
    >>> bool(verdict), verdict.refusals[0].code
    (False, 'from-data-unsupported-scheme')
    """

    refusals: tuple[errors.QuantError, ...]
    scheme: str
    op: str
    on: str
    revision: str

    def __bool__(self) -> bool:
        return not self.refusals

    def demand(self, tensor: str | None = None) -> None:
        """Raise the first refusal, naming a tensor if one is given; do nothing when all is fine.

        Raises
        ------
        QuantError
            The first refusal.
        """
        if self.refusals:
            # a copy: a verdict may be shared, and raising writes a traceback into the error
            raise self.refusals[0].for_tensor(tensor)

    def __repr__(self) -> str:
        asked = f"{self.op} {self.scheme} on {self.on}"
        if not self.refusals:
            return f"<Verdict: {asked} is fine>"
        found = "; ".join(f"[{error.code}] {error}" for error in self.refusals)
        return f"<Verdict: {asked} is refused: {found}>"

    def _repr_html_(self) -> str:
        asked = f"{escape(self.op)} <code>{escape(self.scheme)}</code> on <b>{escape(self.on)}</b>"
        if not self.refusals:
            return f"<div>{asked}: fine</div>"
        rows = "".join(f"<tr>{_cells(error)}</tr>" for error in self.refusals)
        head = "<tr><th>code</th><th>message</th><th>what to do</th></tr>"
        return f"<div>{asked}: refused<table>{head}{rows}</table></div>"


class Survey(dict[str, Verdict]):
    """Verdicts of every backend and target, by name in the order of the table; aliases find them too.

    Examples
    --------
    >>> import qcore
    >>> answers = qcore.survey("q8s/native/t:f32", (64, 64))
    >>> [name for name, verdict in answers.items() if not verdict]
    ['gguf']
    >>> bool(answers["ndarray"])
    True
    """

    def __missing__(self, word: str) -> Verdict:
        return self[row_of(word)[0].name]

    def __repr__(self) -> str:
        lines = (f"{name}: {'fine' if answer else answer.refusals[0]}" for name, answer in self.items())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "<tr><th>where</th><th>asked</th><th>answer</th><th></th><th>what to do</th></tr>"
        body = "".join(
            f"<tr title='{escape(TABLE[name].summary)}'><td>{escape(name)}</td><td>{escape(answer.op)}</td>"
            + (_cells(answer.refusals[0], "td") if answer.refusals else "<td>fine</td><td></td><td></td>")
            + "</tr>"
            for name, answer in self.items()
        )
        return f"<table>{head}{body}</table>"


def _cells(error: errors.QuantError, tag: str = "td") -> str:
    todo = "<br>".join(escape(solution) for solution in error.solutions)
    return f"<{tag}>{escape(error.code)}</{tag}><{tag}>{escape(str(error))}</{tag}><{tag}>{todo}</{tag}>"
