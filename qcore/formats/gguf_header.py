"""The header of a GGUF file, held against every rule of the format before a byte of data is looked at.

The rules are those of ggml's reader and some it does without: counts that the rest of the file could hold, names in
UTF-8, products of dimensions that do not wrap, data that ends where the file does. Values of keys are stepped over,
not kept: a vocabulary of 150 000 tokens is decoded when somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcore.formats.faults import malformed, truncated
from qcore.formats.gguf_cursor import Cursor
from qcore.formats.gguf_types import BY_ID, NEVER_STORED, BlockType

if TYPE_CHECKING:
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source

__all__ = ["ALIGNMENT", "ALIGNMENT_KEY", "KINDS", "MAGIC", "Header", "Item", "Slot", "padded", "read_header"]

MAGIC = b"GGUF"
ALIGNMENT, ALIGNMENT_KEY = 32, "general.alignment"
_FIXED = 24  # magic, version, two counts
_LEAST_KEY, _LEAST_TENSOR = 14, 24
_STEP_OF_ALIGNMENT = 8
_BELOW = 1 << 63

# number in the file -> name and width; strings and arrays have no fixed one
KINDS = (
    ("u8", 1), ("i8", 1), ("u16", 2), ("i16", 2), ("u32", 4), ("i32", 4), ("f32", 4), ("bool", 1),
    ("str", 0), ("array", 0), ("u64", 8), ("i64", 8), ("f64", 8),
)  # fmt: skip
_STRING, _ARRAY, _BOOL = 8, 9, 7


@dataclass(frozen=True, slots=True)
class Item:
    """A key's value, still in the file: its type (``u32``, ``str[]``), number of elements, and where it lies."""

    kind: str
    count: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor's place: its type, its shape as NumPy has it, where its data begins and how much it is."""

    type: BlockType
    shape: tuple[int, ...]
    start: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says: keys and tensors in the order of the file, and the byte order of all its numbers."""

    version: int
    order: str
    alignment: int
    items: dict[str, Item]
    slots: dict[str, Slot]


def padded(offset: int, alignment: int) -> int:
    """Return the next multiple of the alignment.

    Examples
    --------
    >>> padded(33, 32), padded(64, 32)
    (64, 64)
    """
    return -(-offset // alignment) * alignment


def read_header(source: Source, limits: Limits) -> Header:
    """Read and check the header of an open file."""
    path, size = source.name, source.size
    if size < _FIXED:
        raise truncated(path, size, "the fixed part of the header", _FIXED)
    head = source.read(0, 8)
    if head[:4] != MAGIC:
        raise malformed(path, 0, "the mark at the start", head[:4], MAGIC)
    version, order = int.from_bytes(head[4:], "little"), "<"
    if version & 0xFFFF == 0:  # a version that is small only the other way round
        version, order = int.from_bytes(head[4:], "big"), ">"
    if version not in (2, 3):
        raise malformed(path, 4, "the version", version, "2 or 3")
    cursor = Cursor(source, order, 8)
    tensors, keys = cursor.number("Q", "the counts"), cursor.number("Q", "the counts")
    limits.hold("gguf-tensors", tensors, path=path)
    limits.hold("gguf-keys", keys, path=path)
    cursor.room(keys * _LEAST_KEY + tensors * _LEAST_TENSOR, f"{keys} keys and {tensors} tensors")
    items: dict[str, Item] = {}
    for _ in range(keys):
        at = cursor.offset
        key = _key(cursor, limits)
        if key in items:
            raise malformed(path, at, f"the key {key!r}", "there a second time", "each key once")
        items[key] = _item(cursor, key, limits)
    alignment = _alignment(source, order, items.get(ALIGNMENT_KEY), limits)
    claims = _claims(cursor, tensors, limits)
    slots = _slots(source, padded(cursor.offset, alignment), alignment, claims)
    _hold_end(source, cursor.offset, alignment, slots)
    return Header(version, order, alignment, items, slots)


def _key(cursor: Cursor, limits: Limits) -> str:
    at = cursor.offset
    key = cursor.text("a key", lambda length: limits.hold("gguf-key", length, path=cursor.path))
    if not key:
        raise malformed(cursor.path, at, "a key", "empty", "a name")
    return key


def _item(cursor: Cursor, key: str, limits: Limits) -> Item:
    """Step over the value of a key."""
    what = f"the value of {key!r}"
    at = cursor.offset
    number = cursor.number("I", what)
    count, suffix = 1, ""
    if number == _ARRAY:
        at, suffix = cursor.offset, "[]"
        number, count = cursor.number("I", what), cursor.number("Q", what)
        limits.hold("gguf-array", count, path=cursor.path)
        if number == _ARRAY:
            raise malformed(
                cursor.path, at, f"the array {key!r}", "an array of arrays", "one of plain values"
            )
    if number >= len(KINDS):
        raise malformed(cursor.path, at, f"the type of {key!r}", number, f"0 to {len(KINDS) - 1}")
    start = cursor.offset
    name, width = KINDS[number]
    if number == _STRING:
        most = limits["gguf-string"]
        cursor.step_over_strings(
            count, what, most, lambda length: limits.hold("gguf-string", length, path=cursor.path)
        )
    else:
        cursor.room(count * width, what)
        if number == _BOOL:
            _hold_bools(cursor, count, key)
        cursor.move(start + count * width)
    return Item(name + suffix, count, start, cursor.offset)


def _hold_bools(cursor: Cursor, count: int, key: str) -> None:
    at = cursor.offset
    data = cursor.take(count, f"the value of {key!r}")
    if data.strip(b"\0\1"):
        wrong = next(index for index, byte in enumerate(data) if byte > 1)
        raise malformed(cursor.path, at + wrong, f"a truth value of {key!r}", data[wrong], "0 or 1")


def _alignment(source: Source, order: str, item: Item | None, limits: Limits) -> int:
    if item is None:
        return ALIGNMENT
    if item.kind != "u32":
        raise malformed(source.name, item.start, f"the type of {ALIGNMENT_KEY}", item.kind, "u32")
    found = int.from_bytes(source.read(item.start, 4), "little" if order == "<" else "big")
    limits.hold("gguf-alignment", found, path=source.name)
    if not found or found % _STEP_OF_ALIGNMENT:
        allowed = f"a multiple of {_STEP_OF_ALIGNMENT}"
        raise malformed(source.name, item.start, ALIGNMENT_KEY, found, allowed)
    return found


@dataclass(frozen=True, slots=True)
class _Claim:
    """A tensor as the header describes it: where it is described, its type, shape, offset and size of its data."""

    at: int
    type: BlockType
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def _claims(cursor: Cursor, count: int, limits: Limits) -> dict[str, _Claim]:
    claims: dict[str, _Claim] = {}
    for _ in range(count):
        at = cursor.offset
        name = cursor.text("a tensor's name", lambda length: limits.hold("name", length, path=cursor.path))
        if name in claims:
            raise malformed(cursor.path, at, f"the tensor {name!r}", "there a second time", "each name once")
        claims[name] = _claim(cursor, name, at, limits)
    return claims


def _claim(cursor: Cursor, name: str, at: int, limits: Limits) -> _Claim:
    """Read one tensor's record and hold what can be checked of it alone."""
    path, what = cursor.path, f"the record of {name!r}"
    dims = cursor.number("I", what)
    limits.hold("gguf-rank", dims, path=path, tensor=name)
    *inner, number, offset = cursor.numbers(f"{dims}QIQ", what)
    shape = tuple(reversed(inner))
    row = BY_ID.get(number)
    if row is None:
        found = NEVER_STORED.get(number, f"number {number}")
        raise malformed(path, at, "the type", found, "a type that files hold", tensor=name)
    # each dimension counts: one that is zero hides nothing beside it
    for dim in shape:
        if dim >= _BELOW:
            raise malformed(path, at, "a dimension", dim, "less than 2^63", tensor=name)
    count = limits.hold_shape(shape, path=path, tensor=name)
    limits.hold("elements", max(count, row.nbytes_of(count)), path=path, tensor=name)
    row_length = shape[-1] if shape else 1
    if row_length % row.block:
        allowed = f"a multiple of {row.block}, as {row.name} has blocks of that"
        raise malformed(path, at, "the length of a row", row_length, allowed, tensor=name)
    return _Claim(at, row, shape, offset, row.nbytes_of(count))


def _slots(source: Source, start: int, alignment: int, claims: dict[str, _Claim]) -> dict[str, Slot]:
    """Hold that data lies in the order of the records, each padded, without gaps or overlaps."""
    slots: dict[str, Slot] = {}
    expected = 0
    for name, claim in claims.items():
        if claim.offset != expected:
            kind = "leaves a gap" if claim.offset > expected else "overlaps what is before it"
            raise malformed(
                source.name, claim.at, "the offset of the data", f"{claim.offset}, which {kind}", expected,
                tensor=name,
            )  # fmt: skip
        end = start + claim.offset + claim.nbytes
        if end > source.size:
            raise truncated(source.name, source.size, f"the data of {name!r}", end, tensor=name)
        slots[name] = Slot(claim.type, claim.shape, start + claim.offset, claim.nbytes)
        expected = padded(claim.offset + claim.nbytes, alignment)
    return slots


def _hold_end(source: Source, header: int, alignment: int, slots: dict[str, Slot]) -> None:
    """Hold that nothing follows the data but its padding."""
    last = next(reversed(slots.values())) if slots else None
    end = header if last is None else last.start + last.nbytes
    most = padded(end, alignment)
    if source.size > most:
        raise malformed(source.name, most, "the end of the file", source.size, f"{end}, padded to {most}")
