"""The types a quantized element can have: one row each, and everything else follows from the row."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from qcore.scheme import words


class ValueRow(NamedTuple):
    """What an element type is, as numbers; the last three are a minifloat's alone.

    ``emin`` and ``emax`` are the exponents of its smallest normal and of its largest value.
    """

    bits: int
    lo: int
    hi: int
    is_symmetric: bool
    native_packing: int = 1
    mbits: int = 0
    emin: int = 0
    emax: int = 0


_ROWS: Final = {
    "Q8F": ValueRow(8, -128, 127, False),
    "E5M2": ValueRow(8, -57344, 57344, False, mbits=2, emin=-14, emax=15),
    "E4M3": ValueRow(8, -448, 448, False, mbits=3, emin=-6, emax=8),
    "Q4F": ValueRow(4, -8, 7, False),
    "E2M1": ValueRow(4, -6, 6, False, native_packing=2, mbits=1, emin=0, emax=2),
    "Q2F": ValueRow(2, -2, 1, False),
    "Q8S": ValueRow(8, -127, 127, True),
    "Q4S": ValueRow(4, -7, 7, True),
    "Q2S": ValueRow(2, -1, 1, True),
}


class QuantValue(Enum):
    """Logical type of a quantized element, in Burn's declaration order.

    ``F`` types use the full two's-complement range, ``S`` types the symmetric one; the others are minifloats.

    Examples
    --------
    >>> QuantValue("int8")
    QuantValue.Q8S
    >>> QuantValue.E4M3.half_range, QuantValue.Q8F.half_range
    (448.0, 127.5)
    """

    Q8F = "Q8F"
    E5M2 = "E5M2"
    E4M3 = "E4M3"
    Q4F = "Q4F"
    E2M1 = "E2M1"
    Q2F = "Q2F"
    Q8S = "Q8S"
    Q4S = "Q4S"
    Q2S = "Q2S"

    @classmethod
    def _missing_(cls, value: object) -> QuantValue:
        found = words.look_up(_BY_WORD, value)
        return found if found is not None else words.unknown("value", value, VALUE_WORDS)

    @property
    def row(self) -> ValueRow:
        """The numbers of this type."""
        return _ROWS[self._value_]

    @property
    def bits(self) -> int:
        """Bits of a field."""
        return self.row.bits

    @property
    def lo(self) -> int:
        """Lowest value."""
        return self.row.lo

    @property
    def hi(self) -> int:
        """Highest value."""
        return self.row.hi

    @property
    def is_symmetric(self) -> bool:
        """Whether this is an integer type of symmetric range; False for minifloats, as in Burn."""
        return self.row.is_symmetric

    @property
    def native_packing(self) -> int:
        """Codes in a natively packed byte."""
        return self.row.native_packing

    @property
    def mbits(self) -> int:
        """Mantissa bits of a minifloat; 0 for integers."""
        return self.row.mbits

    @property
    def emin(self) -> int:
        """Exponent of a minifloat's smallest normal value; 0 for integers."""
        return self.row.emin

    @property
    def emax(self) -> int:
        """Exponent of a minifloat's largest value; 0 for integers."""
        return self.row.emax

    @property
    def is_minifloat(self) -> bool:
        """Whether elements are small floats, stored as their code."""
        return self.mbits > 0

    @property
    def is_integer(self) -> bool:
        """Whether elements are two's-complement integers."""
        return self.mbits == 0

    @property
    def span(self) -> int:
        """Distance between the ends of the range, ``hi - lo``."""
        return self.hi - self.lo

    @property
    def half_range(self) -> float:
        """Half of the span: what a peak is divided by to give a scale. Exact."""
        return self.span / 2

    @property
    def bias(self) -> int:
        """Exponent bias of a minifloat; 0 for integers."""
        return 1 - self.emin if self.is_minifloat else 0

    @property
    def text(self) -> str:
        """The name as scheme texts spell it."""
        return self.name.lower()

    def debug(self) -> str:
        """Return the name as Burn prints it.

        Returns
        -------
        str
            The variant's name.

        Examples
        --------
        >>> QuantValue.Q4S.debug()
        'Q4S'
        """
        return self.name

    def __repr__(self) -> str:
        """Return text that evaluates to the member."""
        return f"QuantValue.{self.name}"

    def __str__(self) -> str:
        """Return Burn's name."""
        return self.name


VALUE_WORDS: Final = tuple(member.text for member in QuantValue)
"""The canonical spellings, in declaration order."""

_ALIASES: Final = {
    "int8": QuantValue.Q8S,
    "int4": QuantValue.Q4S,
    "int2": QuantValue.Q2S,
    "i8": QuantValue.Q8S,
    "i4": QuantValue.Q4S,
    "i2": QuantValue.Q2S,
    "fp8": QuantValue.E4M3,
    "fp8_e4m3": QuantValue.E4M3,
    "fp8_e4m3fn": QuantValue.E4M3,
    "fp8_e5m2": QuantValue.E5M2,
    "fp4": QuantValue.E2M1,
    "fp4_e2m1": QuantValue.E2M1,
    "e4m3fn": QuantValue.E4M3,
    "e2m1fn": QuantValue.E2M1,
    "float8_e4m3": QuantValue.E4M3,
    "float8_e4m3fn": QuantValue.E4M3,
    "float8_e5m2": QuantValue.E5M2,
    "float4_e2m1": QuantValue.E2M1,
    "float4_e2m1fn": QuantValue.E2M1,
}
_BY_WORD: Final = {member.text: member for member in QuantValue} | _ALIASES
VALUE_ALIASES: Final = tuple(_ALIASES)
"""What is understood on input besides the canonical spellings."""
