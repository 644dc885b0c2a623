"""The header of a safetensors file, held against every rule of the format before a byte of data is looked at.

The rules are those of the reference reader, and some it does without: no key twice, whole numbers written as whole
numbers, names of a sane length. Ranges, sorted by offset, cover the data without a hole or an overlap up to the
last byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from qcore.formats.dtypes import BY_CODE, packed_nbytes
from qcore.formats.faults import malformed, truncated
from qcore.formats.json_cursor import Cursor
from qcore.formats.protocol import Entry

if TYPE_CHECKING:
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source

__all__ = ["METADATA", "PREFIX_BYTES", "Header", "read_header"]

METADATA = "__metadata__"
PREFIX_BYTES = 8
_N = "(?:0|[1-9][0-9]{0,17})"
_ENTRY = re.compile(
    rf'\{{"dtype": ?"([A-Z0-9_]{{1,16}})", ?"shape": ?\[((?:{_N}, ?){{0,7}}{_N}|)\], ?'
    rf'"data_offsets": ?\[({_N}), ?({_N})\]\}}'
)

# dtype, shape, range of the data
_Fields: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says: entries in the order of their data, where each begins in the file, and the texts."""

    entries: dict[str, Entry]
    starts: dict[str, int]
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Claim:
    """An entry and the range of data that it claims, from the start of the data."""

    entry: Entry
    begin: int
    end: int


def read_header(source: Source, limits: Limits) -> Header:
    """Read and check the header of an open file."""
    path, size = source.name, source.size
    if size < PREFIX_BYTES:
        raise truncated(path, size, "the length of the header", PREFIX_BYTES)
    length = int.from_bytes(source.read(0, PREFIX_BYTES), "little")
    limits.hold("safetensors-header", length, path=path)
    start = PREFIX_BYTES + length
    if start > size:
        raise truncated(path, size, "the header", start)
    data = source.read(PREFIX_BYTES, length)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        at = PREFIX_BYTES + problem.start
        raise malformed(path, at, "the header", f"byte 0x{data[problem.start]:02x}", "UTF-8") from None
    cursor = Cursor(text, path=path, base=PREFIX_BYTES)
    metadata: dict[str, str] | None = None
    claims: dict[str, _Claim] = {}
    for name, at in cursor.keys("the header's object"):
        if name in claims or (name == METADATA and metadata is not None):
            raise cursor.fault(f"the key {name!r} a second time", "each key once", at=at)
        if name == METADATA:
            metadata = _texts(cursor)
        else:
            limits.hold("name", len(name.encode()), path=path)
            claims[name] = _claim(cursor, name, at, limits, path)
    cursor.end()
    ordered = sorted(claims.values(), key=lambda claim: (claim.begin, claim.end))
    _hold_ranges(ordered, path, start, size)
    entries = {claim.entry.name: claim.entry for claim in ordered}
    return Header(entries, {claim.entry.name: start + claim.begin for claim in ordered}, metadata or {})


def _texts(cursor: Cursor) -> dict[str, str]:
    texts: dict[str, str] = {}
    for key, at in cursor.keys(f"an object under {METADATA}"):
        if key in texts:
            raise cursor.fault(f"the key {key!r} a second time", "each key once", at=at)
        texts[key] = cursor.string("a text in quotes")
    return texts


def _claim(cursor: Cursor, name: str, at: int, limits: Limits, path: str) -> _Claim:
    """Read one entry and hold what can be checked of it alone."""
    code, shape, span = _as_written(cursor, limits) or _fields(cursor, name, at, limits)
    if len(span) != 2:
        raise cursor.fault(len(span), 2, at=at, rule="the number of data_offsets", tensor=name)
    row, count = BY_CODE[code], limits.hold_shape(shape, path=path, tensor=name)
    limits.hold("elements", max(count, count * row.bits // 8), path=path, tensor=name)
    needed = packed_nbytes(row, count)
    if needed is None:
        rule = f"the number of {code} elements"
        raise cursor.fault(count, "a whole number of bytes", at=at, rule=rule, tensor=name)
    begin, end = span
    if end < begin or end - begin != needed:
        allowed = f"{needed} bytes for {code} {list(shape)}"
        raise cursor.fault(f"{begin} to {end}", allowed, at=at, rule="the range of the data", tensor=name)
    return _Claim(Entry(name, row.name, shape, needed), begin, end)


def _as_written(cursor: Cursor, limits: Limits) -> _Fields | None:
    """Read an entry in one step where it is spelled as writers spell it; a hundred thousand of them take a while."""
    match = cursor.ahead(_ENTRY)
    if match is None or match[1] not in BY_CODE:
        return None
    shape = tuple(map(int, match[2].split(","))) if match[2] else ()
    if len(shape) > limits["rank"]:
        return None
    cursor.step_over(match)
    return match[1], shape, (int(match[3]), int(match[4]))


def _fields(cursor: Cursor, name: str, at: int, limits: Limits) -> _Fields:
    """Read an entry field by field, whatever its spelling, and name the first thing that is wrong."""
    code: str | None = None
    shape: tuple[int, ...] | None = None
    span: tuple[int, ...] | None = None
    seen: set[str] = set()
    for key, place in cursor.keys(f"an object under {name!r}"):
        if key in seen:
            raise cursor.fault(f"the key {key!r} a second time", "each key once", at=place)
        seen.add(key)
        if key == "dtype":
            code = cursor.string("a dtype in quotes")
            if code not in BY_CODE:
                raise cursor.fault(f"the dtype {code!r}", f"one of {', '.join(BY_CODE)}", at=place)
        elif key == "shape":
            shape = tuple(_naturals(cursor, limits["rank"], "dimensions"))
        elif key == "data_offsets":
            span = tuple(_naturals(cursor, 2, "offsets"))
        else:
            cursor.skip()
    for word, got in (("dtype", code), ("shape", shape), ("data_offsets", span)):
        if got is None:
            raise cursor.fault(f"no {word} under {name!r}", "dtype, shape and data_offsets", at=at)
    assert code is not None
    assert shape is not None
    assert span is not None
    return code, shape, span


def _naturals(cursor: Cursor, most: int, what: str) -> Iterator[int]:
    for index in cursor.items(f"a list of {what}"):
        if index >= most:
            raise cursor.fault(f"more than {most} {what}", f"at most {most}")
        yield cursor.natural("a whole number from 0 to 2^64 - 1")


def _hold_ranges(ordered: list[_Claim], path: str, start: int, size: int) -> None:
    """Hold that the ranges, in order, touch each other from the first byte of the data to the last."""
    covered, previous = 0, "the header"
    for claim in ordered:
        name = claim.entry.name
        if claim.begin != covered:
            kind = "overlaps" if claim.begin < covered else "leaves a hole after"
            found = f"{claim.begin} to {claim.end}, which {kind} {previous}"
            raise malformed(
                path, start + claim.begin, "the range of the data", found, f"{covered} on", tensor=name
            )
        covered, previous = claim.end, repr(name)
    if start + covered > size:
        raise truncated(path, size, f"the data of {previous}", start + covered)
    if start + covered < size:
        raise malformed(path, start + covered, "the end of the file", size, start + covered)
