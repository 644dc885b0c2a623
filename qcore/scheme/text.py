"""The text of a scheme: ``VALUE[/STORE][/lookup[:TABLE]][/bEXTENTS:DTYPE][/t:DTYPE]``.

Fields after the value come in any order on input; ``str(scheme)`` prints them in this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from qcore import errors
from qcore.scheme import words
from qcore.scheme.blocks import BlockScale, BlockSize
from qcore.scheme.scales import SCALE_ALIASES, SCALE_WORDS, ScaleDtype
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.store import MAX_PACKING_DIM, QuantMode, QuantStore
from qcore.scheme.tables import TABLE_NAMES, table_name
from qcore.scheme.values import VALUE_ALIASES, VALUE_WORDS, QuantValue

T = TypeVar("T", QuantValue, ScaleDtype)

_BLOCK: Final = re.compile(r"b([0-9]+(?:x[0-9]+)*)")
_LOOKS_LIKE_A_BLOCK: Final = re.compile(r"b?[0-9][0-9x]*")
_STORE_HEADS: Final = frozenset(
    {"native", "u32", "packed", "packedu32", "packed_u32", "packednative", "packed_native"}
)
_FIELDS: Final = ("native", "u32", "packed", "lookup", "b32:f16", "t:f32")
_SHOWN: Final = 120  # characters of a refused text that its error repeats


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a text says: the scheme, and the table it hints at.

    Parameters
    ----------
    scheme : QuantScheme
        The scheme.
    table : str or None
        Name of the codebook preset after ``lookup:``, for whoever quantizes with this text.
    """

    scheme: QuantScheme
    table: str | None = None


def parse_text(text: str, also: Iterable[str] = ()) -> ParsedText:
    """Read the text of a scheme.

    Parameters
    ----------
    text : str
        The text, in any case, its fields in any order after the value.
    also : iterable of str
        Further words to suggest when the value is unknown (the presets' names).

    Returns
    -------
    ParsedText
        The scheme and the hint of a table.

    Raises
    ------
    InvalidSchemeError
        ``scheme-text`` with the reason; ``block-extent`` or ``block-cap`` for a block that cannot be.

    Examples
    --------
    >>> parse_text("q4f/b64:f32/lookup:nf4")
    ParsedText(scheme=QuantScheme.parse('q4f/u32/lookup/b64:f32'), table='nf4')
    >>> parse_text("q4s/b32:f61")
    Traceback (most recent call last):
        ...
    qcore.errors.InvalidSchemeError: cannot read scheme 'q4s/b32:f61': unknown scale dtype 'f61', did you mean 'f16'?
    """
    return _Reader(text).read(tuple(also))


class _Reader:
    """One reading of one text; its methods refuse with that text in hand."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, also: tuple[str, ...]) -> ParsedText:
        first, *rest = (field.strip().lower() for field in self.text.split("/"))
        names = () if rest else also
        kind, listed = ("value or preset", (*VALUE_WORDS, "or a preset")) if names else ("value", VALUE_WORDS)
        value = self._word(QuantValue, kind, first, (*VALUE_WORDS, *VALUE_ALIASES, *names), listed)
        found: dict[str, Any] = {}
        for field in rest:
            name, content = self._field(field)
            if name in found:
                raise self._refusal(f"it names the {name} twice")
            found[name] = content
        scheme = QuantScheme(
            value=value,
            store=found.get("store", QuantStore.packed_u32()),
            mode=QuantMode.LOOKUP if "mode" in found else QuantMode.SYMMETRIC,
            tensor=found.get("tensor level"),
            block=found.get("block level"),
        )
        return ParsedText(scheme, found.get("mode"))

    def _field(self, field: str) -> tuple[str, object]:
        head, colon, argument = field.partition(":")
        if head in _STORE_HEADS:
            return "store", self._store(head, colon, argument)
        if head == "lookup":
            return "mode", self._table(colon, argument)
        if head == "t":
            return "tensor level", self._dtype("the tensor level", "t:f32", argument)
        if extents := _BLOCK.fullmatch(head):
            size = BlockSize(extents[1])
            return "block level", BlockScale(size, self._dtype("a block", f"{head}:f16", argument))
        raise self._unknown_field(field, head, argument)

    def _unknown_field(self, field: str, head: str, argument: str) -> errors.QuantError:
        if not field:
            return self._refusal("a field between two slashes is empty")
        if field in SCALE_WORDS or field in SCALE_ALIASES:
            return self._refusal(f"a scale dtype belongs to a level, as in t:{field} or b32:{field}")
        if field in VALUE_WORDS or field in VALUE_ALIASES:
            return self._refusal("the value comes first, and once")
        if _LOOKS_LIKE_A_BLOCK.fullmatch(head):
            extents = "x".join(re.findall("[0-9]+", head)) or "32"
            return self._refusal(
                f"a block is written b{extents[:20]}:{argument[:20] or 'f16'}, got {_short(field)!r}"
            )
        return self._refusal(f"unknown field {_short(field)!r}{words.did_you_mean(field, _FIELDS)}")

    def _store(self, head: str, colon: str, argument: str) -> QuantStore:
        if head == "native":
            if colon:
                raise self._refusal("native packs nothing and takes no dimension")
            return QuantStore.native()
        digits = argument if colon else "0"
        if not (
            digits.isascii() and digits.isdigit() and len(digits) <= 9 and int(digits) <= MAX_PACKING_DIM
        ):
            raise self._refusal(
                f"a packing dim is a number from 0 to {MAX_PACKING_DIM}, got {_short(argument)!r}"
            )
        return QuantStore.parse(f"{head}:{digits}")

    def _table(self, colon: str, argument: str) -> str | None:
        if not colon:
            return None
        name = table_name(argument)
        if name is None:
            raise self._refusal(
                f"unknown table {_short(argument)!r}{words.did_you_mean(argument, TABLE_NAMES)}"
            )
        return name

    def _dtype(self, what: str, example: str, argument: str) -> ScaleDtype:
        if not argument:
            raise self._refusal(f"{what} names its scale dtype, as in {example}")
        return self._word(ScaleDtype, "scale dtype", argument, (*SCALE_WORDS, *SCALE_ALIASES), SCALE_WORDS)

    def _word(
        self, enum: type[T], kind: str, word: str, choices: tuple[str, ...], listed: tuple[str, ...]
    ) -> T:
        if not word:
            raise self._refusal(f"it begins with a {kind}, and there is none")
        try:
            return enum(word)
        except errors.InvalidSchemeError:
            pass
        raise self._refusal(f"unknown {kind} {_short(word)!r}{words.did_you_mean(word, choices, listed)}")

    def _refusal(self, reason: str) -> errors.QuantError:
        return errors.build("scheme-text", text=_short(self.text, _SHOWN), reason=reason)


def _short(text: str, limit: int = 40) -> str:
    """Return a text as an error repeats it."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
