"""One wording, three forms: an error or a row as text, markdown or a dict; the whole catalogue as a page.

``python -m qcore.errors.render docs/errors.md`` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qcore.errors.base import ErrorDoc, QuantError
from qcore.errors.catalog import CATALOG

__all__ = ["page", "to_dict", "to_markdown", "to_text"]

_INTRODUCTION = """\
# Errors

Generated from the catalogue (`make errors-doc`). Every refusal of qcore is one of these rows: the API
raises it, `qcore.check` returns it unraised, the command line prints it, and `qcore explain CODE` shows its
page. `str(error)` is the message alone; `error.code`, `.params`, `.tensor`, `.cause`, `.solutions` and
`.refs` hold the rest. Names in braces are parameters of the message. Every class is also a `QuantError`.
Errors of the operating system (a file that is not there, a full disk) pass unchanged.
"""


def to_text(error: QuantError | ErrorDoc) -> str:
    """Render an error that happened, or a row, as plain text.

    Examples
    --------
    >>> from qcore import errors
    >>> from qcore.errors.render import to_text
    >>> print(to_text(errors.build("file-closed", path="model.bpk")))
    error[file-closed]: model.bpk is closed
      class: FormatError (ValueError)
      when: f.tensor(name) after f.close() or after the end of its with block.
      why: Tensors are read when they are asked for, so the file has to be open then.
      what to do:
        - Read inside the with block.
        - Keep the tensor instead of the file.
    """
    facts = to_dict(error)
    named = f"{facts['tensor']}: " if facts.get("tensor") else ""
    lines = [
        f"error[{facts['code']}]: {named}{facts['message']}",
        f"  class: {facts['class']} ({facts['builtin']})",
        f"  when: {facts['when']}",
        f"  why: {facts['cause']}",
        "  what to do:",
        *(f"    - {solution}" for solution in facts["solutions"]),
    ]
    if facts["refs"]:
        lines.append(f"  see also: {', '.join(facts['refs'])}")
    return "\n".join(lines)


def to_markdown(error: QuantError | ErrorDoc, *, heading: str = "##") -> str:
    """Render an error that happened, or a row, as a section of markdown."""
    facts = to_dict(error)
    forms = [facts["message"], *(text for text in facts["variants"].values() if text != facts["message"])]
    lines = [
        f"{heading} {facts['code']}",
        "",
        *(f"> `{form}`  " for form in forms),
        "",
        f"`{facts['class']}`, also a `{facts['builtin']}`."
        + (f" Tensor: `{facts['tensor']}`." if facts.get("tensor") else ""),
        "",
        f"**When.** {facts['when']}",
        "",
        f"**Why.** {facts['cause']}",
        "",
        "**What to do.**",
        "",
        *(f"- {solution}" for solution in facts["solutions"]),
    ]
    if facts["refs"]:
        links = (f"[{ref}](#{ref})" if ref in CATALOG else ref for ref in facts["refs"])
        lines += ["", f"See also: {', '.join(links)}."]
    return "\n".join(lines) + "\n"


def to_dict(error: QuantError | ErrorDoc) -> dict[str, Any]:
    """Render an error that happened, or a row, as a dict that JSON can hold."""
    happened = isinstance(error, QuantError)
    doc = CATALOG[error.code]
    facts: dict[str, Any] = {
        "code": doc.code,
        "class": doc.family.__name__,
        "builtin": _builtin(doc.family),
        "message": str(error) if happened else doc.message,
        "variants": {} if happened else dict(doc.variants),
        "when": doc.when,
        "cause": doc.cause,
        "solutions": list(doc.solutions),
        "refs": list(doc.refs),
    }
    if isinstance(error, QuantError):
        facts["tensor"] = error.tensor
        facts["params"] = _plain(error.params)
    return facts


def page() -> str:
    """Render the whole catalogue, in its order, as one page of markdown."""
    index = "\n".join(f"- [{code}](#{code})" for code in CATALOG)
    sections = "\n".join(to_markdown(doc) for doc in CATALOG.values())
    return f"{_INTRODUCTION}\n{index}\n\n{sections}"


def _builtin(family: type[QuantError]) -> str:
    foreign = (base for base in family.__mro__ if not issubclass(base, QuantError))
    return next(foreign).__name__


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
