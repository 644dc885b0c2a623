"""``qcore explain``: the page of a documented error."""

from __future__ import annotations

from typing import Annotated

import typer

from qcore import errors
from qcore.cli.output import Result, columns
from qcore.cli.settings import Settings
from qcore.errors.render import to_dict, to_text


def run(
    settings: Settings,
    code: Annotated[str | None, typer.Argument(help="The code between the brackets of an error.")] = None,
) -> Result:
    """Without a code, list them all."""
    if code is None:
        rows = [(doc.code, doc.family.__name__, doc.message) for doc in errors.CATALOG.values()]
        document = {"errors": [{"code": row[0], "class": row[1], "message": row[2]} for row in rows]}
        return Result(document, columns(("code", "class", "message"), rows))
    doc = errors.CATALOG.get(code.strip().lower())
    if doc is None:
        raise errors.build("unknown-name", kind="error code", name=code, choices=_close(code))
    return Result({"error": to_dict(doc)}, to_text(doc).splitlines())


def _close(code: str) -> tuple[str, ...]:
    import difflib

    return tuple(difflib.get_close_matches(code, errors.CATALOG, n=5, cutoff=0.3)) or tuple(errors.CATALOG)
