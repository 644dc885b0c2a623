"""Values of GGUF's keys as texts, and texts as values: nothing is lost on the way, so keys survive in any format.

A string is its own text; numbers are decimal, with the digits that make them come back; arrays are JSON. Strings that
are not UTF-8 have the kind ``bytes`` and are hexadecimal. The text under :data:`LAYOUT` names the kind of each key
and the type of each tensor, in their order: with it, another format's texts make the same header again.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.convention import strict_object
from qcore.formats.faults import malformed
from qcore.formats.gguf_header import KINDS, Header, Item

if TYPE_CHECKING:
    from qcore.formats.source import Source

__all__ = ["LAYOUT", "Layout", "Texts", "encoded", "layout_of", "string"]

LAYOUT = "gguf.layout"
_OURS = "qcore."
_ARRAY, _STRING = 9, 8
_HEAD, _FIRST = 4096, 16  # bytes and elements of a long array that are enough for its beginning
_NUMBERS = {name: number for number, (name, _) in enumerate(KINDS)}
_FORMS = {
    "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q",
    "f32": "f", "f64": "d", "bool": "?",
}  # fmt: skip
_FLOATS = ("f32", "f64")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a GGUF file was laid out: the kind of each key, the type of each tensor."""

    keys: Mapping[str, str]
    tensors: Mapping[str, str]


class Texts(Mapping[str, str]):
    """The keys of an open file as texts, each decoded when it is looked at, and :data:`LAYOUT` at the end."""

    def __init__(self, source: Source, header: Header) -> None:
        self._source = source
        self._header = header
        self._known: dict[str, tuple[str, str]] = {}

    def __getitem__(self, key: str) -> str:
        return self._kind_and_text(key)[1]

    def brief(self, key: str, length: int) -> str:
        """The beginning of a text, for which a long array need not be read."""
        item = self._header.items.get(key)
        if key == LAYOUT:  # made of every key there is
            return f"the types of {len(self._header.items)} keys and {len(self._header.slots)} tensors"
        if item is None or not item.kind.endswith("[]") or item.count <= length:
            text = self[key]
            return text if len(text) <= length else text[:length] + "..."
        kind, order = item.kind.removesuffix("[]"), self._header.order
        head = self._source.read(item.start, min(item.end - item.start, _HEAD))
        if kind == "str":
            values: list[Any] = [word.decode("utf-8", "replace") for word in _strings(head, order, _FIRST, whole=False)]
        else:
            values = list(_numbers(head[: _FIRST * 8], order, kind))[:_FIRST]
        text = json.dumps(values)[1:-1]
        return f"{item.count} x {kind}: {text[:length]}..."

    def _kind_and_text(self, key: str) -> tuple[str, str]:
        if key not in self._known:
            found = ("str", self._layout()) if key == LAYOUT else self._text(self._header.items[key])
            self._known[key] = found
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        yield from (key for key in self._header.items if key != LAYOUT)
        yield LAYOUT

    def __len__(self) -> int:
        return len(self._header.items.keys() | {LAYOUT})

    def _text(self, item: Item) -> tuple[str, str]:
        """Return the kind of a value, as the text has it, and the text."""
        data = self._source.read(item.start, item.end - item.start)
        order = self._header.order
        kind = item.kind.removesuffix("[]")
        values = list(_strings(data, order, item.count)) if kind == "str" else _numbers(data, order, kind)
        if kind == "str":
            try:
                words = [value.decode("utf-8") for value in values]
            except UnicodeDecodeError:
                kind, words = "bytes", [value.hex() for value in values]
            if item.kind == "str":
                return kind, words[0]
            return kind + "[]", json.dumps(words)
        if item.kind.endswith("[]"):
            return item.kind, json.dumps(list(values))
        return kind, _number_text(kind, values[0])

    def _layout(self) -> str:
        keys = {}
        for key, item in self._header.items.items():
            if key != LAYOUT and not key.startswith(_OURS):
                keys[key] = self._kind_and_text(key)[0] if item.kind.startswith("str") else item.kind
        tensors = {name: slot.type.name for name, slot in self._header.slots.items()}
        return json.dumps({"keys": keys, "tensors": tensors}, separators=(",", ":"))


def _strings(data: bytes, order: str, count: int, *, whole: bool = True) -> Iterator[bytes]:
    unpack, at = struct.Struct(order + "Q").unpack_from, 0
    for _ in range(count):
        if not whole and at + 8 > len(data):
            return
        (length,) = unpack(data, at)
        at += 8 + length
        yield data[at - length : at]


def _numbers(data: bytes, order: str, kind: str) -> tuple[Any, ...]:
    form = _FORMS[kind]
    return struct.unpack(f"{order}{len(data) // struct.calcsize(order + form)}{form}", data)


def _number_text(kind: str, value: Any) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind != "f32":
        return repr(value)
    import numpy as np

    short = str(np.float32(value))  # the digits that single precision needs, not those of double
    return short if math.isnan(value) or _as_single(float(short)) == value else repr(value)


def _as_single(value: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def layout_of(text: str, path: str) -> Layout:
    """Read the text under :data:`LAYOUT`, which may come from anywhere."""
    where = f"in the text {LAYOUT!r}"
    found = strict_object(text, path, where)
    parts = []
    for word in ("keys", "tensors"):
        part = found.get(word)
        if not isinstance(part, dict) or not all(isinstance(value, str) for value in part.values()):
            raise malformed(path, where, word, part, "an object of names with types")
        parts.append(part)
    return Layout(*parts)


def string(text: str) -> bytes:
    """Write a string: its length and its bytes.

    Examples
    --------
    >>> string("ab").hex()
    '02000000000000006162'
    """
    return _sized(text.encode())


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def encoded(key: str, kind: str, text: str) -> bytes:
    """Write a key's value, with its type in front, from its text.

    Parameters
    ----------
    key
        What it belongs to, for the error.
    kind
        ``u32``, ``str``, ``bytes``, ``f32[]`` and so on.
    text
        As :class:`Texts` gives it.

    Examples
    --------
    >>> encoded("general.alignment", "u32", "32").hex()
    '0400000020000000'
    """
    try:
        data = _array(kind.removesuffix("[]"), text) if kind.endswith("[]") else _single(kind, text)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, struct.error):
        data = None
    if data is None:
        shown = text if len(text) <= 80 else text[:80] + "..."
        raise errors.build("option-value", option=f"the value of {key!r}", expected=kind, got=shown)
    return data


def _array(kind: str, text: str) -> bytes | None:
    values = json.loads(text)
    if not isinstance(values, list) or (kind == "bool" and not all(isinstance(v, bool) for v in values)):
        return None
    number = _NUMBERS["str" if kind == "bytes" else kind]
    return struct.pack("<IIQ", _ARRAY, number, len(values)) + _packed(kind, values)


def _single(kind: str, text: str) -> bytes:
    if kind in ("str", "bytes"):
        return struct.pack("<I", _STRING) + _packed(kind, [text])
    return struct.pack("<I", _NUMBERS[kind]) + _packed(kind, [_parsed(kind, text)])


def _parsed(kind: str, text: str) -> Any:
    if kind == "bool":
        return {"true": True, "false": False}[text]
    return float(text) if kind in _FLOATS else int(text)


def _packed(kind: str, values: list[Any]) -> bytes:
    if kind == "str":
        return b"".join(string(value) for value in values)
    if kind == "bytes":
        return b"".join(_sized(bytes.fromhex(value)) for value in values)
    return struct.pack(f"<{len(values)}{_FORMS[kind]}", *values)
