"""The ways to choose a scale, one row each, and the words that name them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from qcore import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PERCENT: Final = 99.9


@dataclass(frozen=True, slots=True)
class Calibration:
    """One way to choose scales: what is measured in each block, and whether two levels can use it."""

    name: str
    measure: str
    """What a staged tensor is asked for: peaks, means, percentiles, or (after the peaks) search."""
    summary: str
    aliases: tuple[str, ...] = ()
    two_level: bool = True
    takes_percent: bool = False


_ROWS: Final = (
    Calibration("minmax", "peaks", "the largest magnitude of the block just fits", aliases=("absmax",)),
    Calibration("absmean", "means", "the mean magnitude is the end of the range (BitNet)", two_level=False),
    Calibration("percentile", "percentiles", "a percentile of the magnitudes just fits", takes_percent=True),
    Calibration("mse", "search", "of 32 scales at and below min-max's, the one of least squared error"),
)

CALIBRATIONS: Final[Mapping[str, Calibration]] = MappingProxyType({row.name: row for row in _ROWS})


@dataclass(frozen=True, slots=True)
class Method:
    """A calibration as asked for: the name of its row, and the percent of ``percentile``."""

    name: str
    percent: float = DEFAULT_PERCENT

    @property
    def row(self) -> Calibration:
        """The row of the table this method names."""
        return CALIBRATIONS[self.name]

    def __str__(self) -> str:
        return f"{self.name}:{self.percent!r}".removesuffix(".0") if self.row.takes_percent else self.name


_BY_WORD: Final = {word: row for row in CALIBRATIONS.values() for word in (row.name, *row.aliases)}


def parse(text: str | Method) -> Method:
    """Read the name of a calibration, with the percent that ``percentile`` may carry.

    Parameters
    ----------
    text
        ``minmax`` (or ``absmax``), ``absmean``, ``percentile``, ``percentile:P`` with 0 < P <= 100, or ``mse``; case
        does not matter.

    Raises
    ------
    qcore.errors.InvalidSchemeError
        ``unknown-name``, with the choices.

    Examples
    --------
    >>> parse("absmax").name, parse("percentile:99.5").percent
    ('minmax', 99.5)
    """
    if isinstance(text, Method):
        return text
    word, colon, argument = str(text).strip().lower().partition(":")
    row = _BY_WORD.get(word)
    percent = _percent(argument) if colon else DEFAULT_PERCENT
    if row is None or percent is None or (colon and not row.takes_percent):
        raise errors.build("unknown-name", kind="calibration", name=str(text), choices=_choices())
    return Method(row.name, percent)


def percentile_rank(percent: float, count: int) -> int:
    """Which element is the percentile: k = ceil(percent / 100 * count) of the decimal number as written, 1 at least.

    Taken literally in binary floating point the product lands on either side of a whole number: 99.9 percent of 1000
    would be the thousandth.

    Examples
    --------
    >>> percentile_rank(99.9, 1000), percentile_rank(50, 3)
    (999, 2)
    """
    return min(count, max(1, math.ceil(Fraction(repr(float(percent))) * count / 100)))


def _percent(text: str) -> float | None:
    try:
        percent = float(text)
    except ValueError:
        return None
    return percent if 0 < percent <= 100 else None


def _choices() -> tuple[str, ...]:
    return tuple(f"{row.name}[:P]" if row.takes_percent else row.name for row in CALIBRATIONS.values())
