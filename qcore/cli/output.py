"""What a command hands back, and how it reaches a terminal: columns, colours, and no control code from a file."""

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

__all__ = ["Result", "columns", "human_bytes", "printable", "styled", "write"]

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Result:
    """A command's result: the document for ``--json``, the lines for a reader, the exit code."""

    document: dict[str, Any]
    lines: Sequence[str]
    code: int = 0
    notes: Sequence[str] = field(default_factory=tuple)


def printable(text: str) -> str:
    r"""Escape what could steer a terminal or mislead a reader: control codes, bidirectional marks, half characters.

    Examples
    --------
    >>> print(printable("a\x1b[31mb\u202ec"))
    a\x1b[31mb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    if character in _ESCAPES:
        return _ESCAPES[character]
    number = ord(character)
    width, letter = (2, "x") if number < 0x100 else (4, "u") if number < 0x10000 else (8, "U")
    return f"\\{letter}{number:0{width}x}"


def columns(header: Sequence[str], rows: Iterable[Sequence[object]], *, right: str = "") -> list[str]:
    """Lay out rows under a header. ``right`` has one letter for each column: ``r`` for numbers, else left.

    Examples
    --------
    >>> columns(("name", "bytes"), [("w", "1,024")], right="lr")
    ['name  bytes', 'w     1,024']
    """
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    table = [list(header), *cells]
    widths = [max(len(row[at]) for row in table) for at in range(len(header))]
    sides = right.ljust(len(header), "l")
    return [
        "  ".join(_cell(*cell) for cell in zip(row, widths, sides, strict=True)).rstrip() for row in table
    ]


def _cell(text: str, width: int, side: str) -> str:
    return text.rjust(width) if side == "r" else text.ljust(width)


def human_bytes(count: int) -> str:
    """Write a number of bytes in the largest unit that leaves a number above one.

    Examples
    --------
    >>> human_bytes(532), human_bytes(589_824)
    ('532 B', '576.0 KiB')
    """
    size, units = float(count), ("B", "KiB", "MiB", "GiB", "TiB")
    for unit in units[:-1]:
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{count} B"
        size /= 1024
    return f"{size:.1f} {units[-1]}"


def styled(text: str, code: str, stream: TextIO) -> str:
    """Colour a text where a person reads it and did not ask otherwise (NO_COLOR)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def write(result: Result, *, command: str, as_json: bool) -> None:
    """Write a result to standard output: one JSON document, or the lines."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a name that the terminal's encoding lacks is shown escaped
            reconfigure(errors="backslashreplace")
    if as_json:
        document = _finite({"schema": f"qcore.{command}/1", **result.document})
        text = json.dumps(document, indent=2, allow_nan=False)
        sys.stdout.write(text + "\n")
    else:
        sys.stdout.writelines(line + "\n" for line in result.lines)
    sys.stdout.flush()


def _finite(value: Any) -> Any:
    """Write numbers that JSON does not have (NaN, infinities) as texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
