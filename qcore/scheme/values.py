"""The types a quantized element can have: one row each, and everything else follows from the row."""

from __future__ import annotations

from enum import Enum
from typing import Final

from qcore.scheme import words


class QuantValue(Enum):
    """Logical type of a quantized element, in Burn's declaration order.

    A row is: name, bits, lowest, highest, symmetric, codes per natively packed byte and, for the minifloats,
    mantissa bits and the exponents of the smallest normal and of the largest value. ``F`` types use the full
    two's-complement range, ``S`` types the symmetric one.

    Examples
    --------
    >>> QuantValue("int8")
    QuantValue.Q8S
    >>> QuantValue.E4M3.half_range, QuantValue.Q8F.half_range
    (448.0, 127.5)
    """

    Q8F = ("Q8F", 8, -128, 127, False, 1)
    E5M2 = ("E5M2", 8, -57344, 57344, False, 1, 2, -14, 15)
    E4M3 = ("E4M3", 8, -448, 448, False, 1, 3, -6, 8)
    Q4F = ("Q4F", 4, -8, 7, False, 1)
    E2M1 = ("E2M1", 4, -6, 6, False, 2, 1, 0, 2)
    Q2F = ("Q2F", 2, -2, 1, False, 1)
    Q8S = ("Q8S", 8, -127, 127, True, 1)
    Q4S = ("Q4S", 4, -7, 7, True, 1)
    Q2S = ("Q2S", 2, -1, 1, True, 1)

    bits: int
    lo: int
    hi: int
    is_symmetric: bool
    native_packing: int
    mbits: int
    emin: int
    emax: int

    def __new__(
        cls,
        text: str,
        bits: int,
        lo: int,
        hi: int,
        is_symmetric: bool,
        native_packing: int,
        mbits: int = 0,
        emin: int = 0,
        emax: int = 0,
    ) -> QuantValue:
        """Make the member of one row."""
        member = object.__new__(cls)
        member._value_ = text
        member.bits, member.lo, member.hi = bits, lo, hi
        member.is_symmetric, member.native_packing = is_symmetric, native_packing
        member.mbits, member.emin, member.emax = mbits, emin, emax
        return member

    @classmethod
    def _missing_(cls, value: object) -> QuantValue:
        found = words.look_up(_BY_WORD, value)
        return found if found is not None else words.unknown("value", value, VALUE_WORDS)

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
