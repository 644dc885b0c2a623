"""Numbers and sizes in words; the same everywhere, whatever the locale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..intents import Intent

__all__ = ["Table", "count", "decibels", "number", "place", "shape", "size"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for the one widget that draws tables; a row may have an intent that choosing it sends."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    intents: tuple[Intent | None, ...] = ()
    title: str = ""
    note: str = ""
    selected: int = -1
    tips: tuple[str, ...] = field(default=())
    widths: tuple[int, ...] = field(default=())


def number(value: Any, digits: int = 4) -> str:
    """Write a number in few digits.

    Examples
    --------
    >>> number(0.0312345), number(float("nan")), number(12), number(1e-9)
    ('0.03123', 'NaN', '12', '1e-09')
    """
    if value is None:
        return "\u2013"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "\u221e" if value > 0 else "\u2212\u221e"
        return f"{value:.{digits}g}"
    return str(value)


def count(value: int, what: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> count(1, "block"), count(1200, "block")
    ('1 block', '1,200 blocks')
    """
    return f"{value:,} {what}" if value == 1 else f"{value:,} {what}s"


def decibels(value: float) -> str:
    """Write a ratio in decibels."""
    if math.isnan(value):
        return "SQNR \u2013"
    return "no error" if value == math.inf else f"{value:.1f} dB"


def size(nbytes: int) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(1536), size(12)
    ('1.5 KiB', '12 B')
    """
    amount = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def shape(dims: tuple[int, ...]) -> str:
    """Write a shape.

    Examples
    --------
    >>> shape((4096, 14336)), shape(())
    ('4096\u00d714336', 'scalar')
    """
    return "\u00d7".join(str(dim) for dim in dims) or "scalar"


def place(index: tuple[int, ...]) -> str:
    """Write an index."""
    return f"({', '.join(str(i) for i in index)})"
