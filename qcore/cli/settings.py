"""The options that every command shares, taken before or after its name; the later one wins."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.output import printable

if TYPE_CHECKING:
    from qcore.formats.protocol import StoredReader

__all__ = ["Settings", "merge", "shared_options"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The shared options, settled."""

    backend: str = "cpu"
    threads: int | None = None
    json: bool = False
    verbose: int = 0
    quiet: bool = False
    overwrite: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Tell the person at the terminal something that is no result."""
        if not self.quiet:
            sys.stderr.write("\n".join(printable(line) for line in text.split("\n")) + "\n")

    def progress(self, done: int, total: int, name: str) -> None:
        """Show how far the work is, on a terminal only; the line is gone when the work is done."""
        if self.quiet or not sys.stderr.isatty():
            return
        room = max(20, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        text = "" if done == total else f"{done}/{total} {printable(name)}"
        sys.stderr.write("\r\x1b[K" + text[:room])
        sys.stderr.flush()

    def open(self, path: Path, dtype: str | None = None) -> StoredReader:
        """Open an input under the limits that were asked for."""
        from qcore import formats

        return formats.open(path, dtype=dtype, limits=self.limits)


def shared_options(
    backend: Annotated[
        str | None,
        typer.Option(help="Where to run: cpu, opencl[:P[:D]|:name], reference, burn-ndarray or auto. [default: cpu]"),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="At most this many threads.", min=1)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    limit: Annotated[
        list[str] | None, typer.Option(help="Raise a limit of the readers: NAME=NUMBER (see qcore limits).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON document.")] = False,
    verbose: Annotated[
        int,
        typer.Option("--verbose", "-v", count=True, show_default=False, help="Say more on standard error."),
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say less on standard error.")] = False,
) -> None:
    """Declare the options; their values go through :func:`merge`."""


def merge(*sources: Mapping[str, Any]) -> Settings:
    """Settle the shared options from what stood before the command's name and after it."""
    found: dict[str, Any] = {}
    for source in sources:
        found.update({key: value for key, value in source.items() if value})
    limits = {name: number for text in found.pop("limit", None) or () for name, number in [_limit(text)]}
    return Settings(**found, limits=limits)


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not number.isdecimal():
        raise errors.build("option-value", option="--limit", expected="NAME=NUMBER", got=text)
    return name, int(number)
