"""The types a stored scale can have: one row each, as the numbers a rounding needs."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from qcore.scheme import words

if TYPE_CHECKING:
    import numpy as np


class ScaleRow(NamedTuple):
    """What a scale type is, as numbers; ``emin`` is the exponent of its smallest normal value."""

    nbytes: int
    mbits: int
    emin: int
    max_representable: float
    dtype_name: str


_ROWS: Final = {
    "F32": ScaleRow(4, 23, -126, 3.4028234663852886e38, "float32"),
    "F16": ScaleRow(2, 10, -14, 65504.0, "float16"),
    "BF16": ScaleRow(2, 7, -126, 3.3895313892515355e38, "bfloat16"),
    "UE8M0": ScaleRow(1, 0, -127, 2.0**127, "float8_e8m0fnu"),
    "UE4M3": ScaleRow(1, 3, -6, 448.0, "float8_e4m3fn"),
}


class ScaleDtype(Enum):
    """Type of a stored scale, in Burn's declaration order.

    Examples
    --------
    >>> ScaleDtype("float16").max_representable
    65504.0
    >>> ScaleDtype.UE4M3.smallest
    0.001953125
    """

    F32 = "F32"
    F16 = "F16"
    BF16 = "BF16"
    UE8M0 = "UE8M0"
    UE4M3 = "UE4M3"

    @classmethod
    def _missing_(cls, value: object) -> ScaleDtype:
        found = words.look_up(_BY_WORD, value)
        return found if found is not None else words.unknown("scale dtype", value, SCALE_WORDS)

    @property
    def row(self) -> ScaleRow:
        """The numbers of this type."""
        return _ROWS[self._value_]

    @property
    def nbytes(self) -> int:
        """Bytes of a stored scale."""
        return self.row.nbytes

    @property
    def mbits(self) -> int:
        """Mantissa bits."""
        return self.row.mbits

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal value."""
        return self.row.emin

    @property
    def max_representable(self) -> float:
        """Largest finite value."""
        return self.row.max_representable

    @property
    def dtype_name(self) -> str:
        """Name of the NumPy dtype that holds stored scales (some are ml_dtypes')."""
        return self.row.dtype_name

    @property
    def smallest(self) -> float:
        """Smallest positive value, subnormals included."""
        return float(2.0 ** (self.emin - self.mbits))

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """NumPy dtype of stored scales (imports NumPy on first use)."""
        import ml_dtypes
        import numpy as np

        return np.dtype(getattr(ml_dtypes, self.dtype_name, self.dtype_name))

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
        >>> ScaleDtype.BF16.debug()
        'BF16'
        """
        return self.name

    def __repr__(self) -> str:
        """Return text that evaluates to the member."""
        return f"ScaleDtype.{self.name}"

    def __str__(self) -> str:
        """Return Burn's name."""
        return self.name


SCALE_WORDS: Final = tuple(member.text for member in ScaleDtype)
"""The canonical spellings, in declaration order."""

_ALIASES: Final = {
    "float32": ScaleDtype.F32,
    "fp32": ScaleDtype.F32,
    "float": ScaleDtype.F32,
    "float16": ScaleDtype.F16,
    "fp16": ScaleDtype.F16,
    "half": ScaleDtype.F16,
    "bfloat16": ScaleDtype.BF16,
    "e8m0": ScaleDtype.UE8M0,
    "e8m0fnu": ScaleDtype.UE8M0,
    "float8_e8m0fnu": ScaleDtype.UE8M0,
    "e4m3": ScaleDtype.UE4M3,
    "e4m3fn": ScaleDtype.UE4M3,
    "float8_e4m3fn": ScaleDtype.UE4M3,
}
_BY_WORD: Final = {member.text: member for member in ScaleDtype} | _ALIASES
SCALE_ALIASES: Final = tuple(_ALIASES)
"""What is understood on input besides the canonical spellings."""
