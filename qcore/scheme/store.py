"""How quantized values lie in memory, and how a stored field is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from qcore import errors
from qcore.scheme import words


class QuantMode(Enum):
    """How a stored field becomes a number: times a scale, or through a table and then times a scale.

    Examples
    --------
    >>> QuantMode("lookup")
    QuantMode.LOOKUP
    """

    SYMMETRIC = "Symmetric"
    LOOKUP = "Lookup"

    @classmethod
    def _missing_(cls, value: object) -> QuantMode:
        found = words.look_up(_MODES, value)
        return found if found is not None else words.unknown("mode", value, ("symmetric", "lookup"))

    def debug(self) -> str:
        """Return the name as Burn prints it.

        Returns
        -------
        str
            The variant's name.

        Examples
        --------
        >>> QuantMode.LOOKUP.debug()
        'Lookup'
        """
        return str(self.value)

    def __repr__(self) -> str:
        """Return text that evaluates to the member."""
        return f"QuantMode.{self.name}"

    def __str__(self) -> str:
        """Return Burn's name."""
        return str(self.value)


_MODES: Final = {"symmetric": QuantMode.SYMMETRIC, "lookup": QuantMode.LOOKUP, "codebook": QuantMode.LOOKUP}

NATIVE: Final = "native"
PACKED_U32: Final = "packed_u32"
PACKED_NATIVE: Final = "packed_native"
_BURN_NAME: Final = {NATIVE: "Native", PACKED_U32: "PackedU32", PACKED_NATIVE: "PackedNative"}
_TEXT_NAME: Final = {NATIVE: "native", PACKED_U32: "u32", PACKED_NATIVE: "packed"}
STORE_WORDS: Final = tuple(_TEXT_NAME.values())
"""The canonical spellings."""
_KIND_BY_WORD: Final = {
    "native": NATIVE,
    "u32": PACKED_U32,
    "packedu32": PACKED_U32,
    "packed_u32": PACKED_U32,
    "packed": PACKED_NATIVE,
    "packednative": PACKED_NATIVE,
    "packed_native": PACKED_NATIVE,
}
MAX_PACKING_DIM: Final = 255
"""Far beyond the rank of any tensor; a larger number is a mistake."""
_STORE_TEXT: Final = re.compile(r"([a-z_0-9]*[a-z_][a-z_0-9]*)(?::([0-9]+)|\(([0-9]+)\))?")


@dataclass(frozen=True, slots=True)
class QuantStore:
    """Where the fields of a tensor lie: a byte each, in 32-bit words, or two to a byte.

    Parameters
    ----------
    kind : str
        ``"native"``, ``"packed_u32"`` or ``"packed_native"``.
    dim : int
        The packed dimension, counted from the innermost (0 is the last axis); 0 for ``native``.

    Examples
    --------
    >>> QuantStore.packed_u32(1).debug(), QuantStore.parse("native")
    ('PackedU32(1)', QuantStore.native())
    """

    kind: str
    dim: int = 0

    def __post_init__(self) -> None:
        """Accept only what Burn has a variant for."""
        _check(self.kind, self.dim)

    @classmethod
    def native(cls) -> QuantStore:
        """Return the store that gives each value an element of its own.

        Returns
        -------
        QuantStore
            ``Native``.

        Examples
        --------
        >>> QuantStore.native().packing_dim is None
        True
        """
        return cls(NATIVE)

    @classmethod
    def packed_u32(cls, dim: int = 0) -> QuantStore:
        """Return the store that packs values into 32-bit words, the first in the low bits.

        Parameters
        ----------
        dim : int
            The packed dimension, counted from the innermost.

        Returns
        -------
        QuantStore
            ``PackedU32(dim)``.

        Examples
        --------
        >>> QuantStore.packed_u32().debug()
        'PackedU32(0)'
        """
        return cls(PACKED_U32, dim)

    @classmethod
    def packed_native(cls, dim: int = 0) -> QuantStore:
        """Return the store that packs two E2M1 codes into a byte, the first in the low nibble.

        Parameters
        ----------
        dim : int
            The packed dimension, counted from the innermost.

        Returns
        -------
        QuantStore
            ``PackedNative(dim)``.

        Examples
        --------
        >>> QuantStore.packed_native().text
        'packed'
        """
        return cls(PACKED_NATIVE, dim)

    @classmethod
    def parse(cls, text: str | QuantStore) -> QuantStore:
        """Read ``native``, ``u32``, ``u32:D``, ``packed`` or ``packed:D``, or Burn's own spelling.

        Parameters
        ----------
        text : str or QuantStore
            The store's text; a store is returned as it is.

        Returns
        -------
        QuantStore
            The store.

        Raises
        ------
        InvalidSchemeError
            When the text names no store.

        Examples
        --------
        >>> QuantStore.parse("u32:1") == QuantStore.parse("PackedU32(1)")
        True
        """
        if isinstance(text, QuantStore):
            return text
        found = _STORE_TEXT.fullmatch(words.key(str(text)))
        kind = _KIND_BY_WORD.get(found[1]) if found else None
        if found is None or kind is None:
            words.unknown("store", text, STORE_WORDS)
        digits = found[2] or found[3] or "0"
        return cls(kind, int(digits[:9]))  # nine digits are beyond the limit already, and convert in no time

    @property
    def packing_dim(self) -> int | None:
        """The packed dimension counted from the innermost; None when nothing is packed."""
        return None if self.kind == NATIVE else self.dim

    @property
    def is_native(self) -> bool:
        """Whether every value has an element of its own."""
        return self.kind == NATIVE

    @property
    def text(self) -> str:
        """The canonical text."""
        return _TEXT_NAME[self.kind] + (f":{self.dim}" if self.dim else "")

    @property
    def variant(self) -> str:
        """The name of Burn's variant, without its dimension."""
        return _BURN_NAME[self.kind]

    def debug(self) -> str:
        """Return the text that Burn prints.

        Returns
        -------
        str
            The variant and its dimension.

        Examples
        --------
        >>> QuantStore.packed_native(2).debug()
        'PackedNative(2)'
        """
        return self.variant if self.is_native else f"{self.variant}({self.dim})"

    def __repr__(self) -> str:
        """Return text that evaluates to the store."""
        return f"QuantStore.{self.kind}({'' if self.is_native else self.dim})"

    def __str__(self) -> str:
        """Return the canonical text."""
        return self.text


def _check(kind: object, dim: object) -> None:
    """Refuse a kind that is none, and a dimension that cannot be one."""
    if not isinstance(kind, str) or kind not in _BURN_NAME:
        words.unknown("store", kind, STORE_WORDS)
    limit = 0 if kind == NATIVE else MAX_PACKING_DIM
    whole = isinstance(dim, int) and not isinstance(dim, bool)
    if not (isinstance(dim, int) and whole and 0 <= dim <= limit):
        shown = str(dim) if isinstance(dim, int) and whole and abs(dim) < 10**9 else type(dim).__name__
        option = f"the packing dim of {_BURN_NAME[kind]}"
        raise errors.build(
            "option-value", option=option, expected=f"an integer from 0 to {limit}", got=shown[:20]
        )
