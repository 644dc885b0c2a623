"""The header of an .npy array, read by a grammar of its own: the usual reader evaluates it as Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcore import errors
from qcore.formats.dtypes import BY_NAME
from qcore.formats.faults import malformed, truncated

if TYPE_CHECKING:
    from qcore.formats.limits import Limits

__all__ = ["MAGIC", "ArrayHeader", "parse"]

MAGIC = b"\x93NUMPY"
# version -> bytes of the header's length, encoding
_VERSIONS = {(1, 0): (2, "latin-1"), (2, 0): (4, "latin-1"), (3, 0): (4, "utf-8")}
_FIELD = re.compile(r"""\s*(['"])(\w+)\1\s*:\s*('[^']*'|"[^"]*"|True|False|\([^()]*\))\s*(,|(?=\}))""")
_STRUCTURED = re.compile(r"""\s*(['"])descr\1\s*:\s*\[""")
_DESCR = re.compile(r"([<>|])([a-zA-Z])([0-9]+)")
_DIM = re.compile(r"\s*([0-9]{1,20})L?\s*")
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_WIDTHS = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """What an array's header says."""

    dtype: str
    big_endian: bool
    fortran: bool
    shape: tuple[int, ...]
    nbytes: int
    start: int


def parse(
    read: Callable[[int, int], bytes], size: int, path: str, limits: Limits, *, tensor: str, dtype: str | None
) -> ArrayHeader:
    """Read and check the header of an array.

    Parameters
    ----------
    read
        Gives bytes at an offset, counted from the array's first byte.
    size
        Bytes of the array with its header; exactly.
    path, tensor
        For messages.
    limits
        The limits of this reader.
    dtype
        What the elements are, where the file does not say.
    """
    fixed = len(MAGIC) + 2
    if size < fixed:
        raise truncated(path, size, "the header of an array", fixed, tensor=tensor)
    head = read(0, fixed)
    if head[: len(MAGIC)] != MAGIC:
        raise malformed(path, 0, "the first bytes", head[: len(MAGIC)], MAGIC, tensor=tensor)
    version = (head[-2], head[-1])
    if version not in _VERSIONS:
        allowed = ", ".join(f"{major}.{minor}" for major, minor in _VERSIONS)
        raise malformed(path, len(MAGIC), "the version", f"{version[0]}.{version[1]}", allowed, tensor=tensor)
    width, encoding = _VERSIONS[version]
    if size < fixed + width:
        raise truncated(path, size, "the header of an array", fixed + width, tensor=tensor)
    length = int.from_bytes(read(fixed, width), "little")
    limits.hold("npy-header", length, path=path, tensor=tensor)
    start = fixed + width + length
    if start > size:
        raise truncated(path, size, "the header of an array", start, tensor=tensor)
    try:
        text = read(fixed + width, length).decode(encoding)
    except UnicodeDecodeError as problem:
        at = fixed + width + problem.start
        raise malformed(path, at, "the header", "no text", encoding.upper(), tensor=tensor) from None
    fields = _fields(text, path, fixed + width, tensor)
    name, big_endian, itemsize = _element(fields["descr"], dtype, path, tensor)
    shape = _shape(fields["shape"], limits, path, fixed + width, tensor)
    count = limits.hold_shape(shape, path=path, tensor=tensor)
    nbytes = count * itemsize
    limits.hold("elements", max(count, nbytes), path=path, tensor=tensor)
    if start + nbytes > size:
        raise truncated(path, size, f"the array {tensor!r}", start + nbytes, tensor=tensor)
    if start + nbytes < size:
        raise malformed(path, start + nbytes, "the end of the array", size, start + nbytes, tensor=tensor)
    return ArrayHeader(name, big_endian, fields["fortran_order"] == "True", shape, nbytes, start)


def _fields(text: str, path: str, base: int, tensor: str) -> dict[str, str]:
    """Split the literal into its three fields; the grammar allows nothing else."""

    def fault(at: int, found: object, allowed: str) -> errors.QuantError:
        return malformed(path, base + at, "the header", found, allowed, tensor=tensor)

    body = text.rstrip(" \n")
    if not body.startswith("{") or not body.endswith("}"):
        raise fault(0, repr(body[:40]), "{'descr': ..., 'fortran_order': ..., 'shape': ...}")
    fields: dict[str, str] = {}
    at = 1
    while match := _FIELD.match(body, at):
        key, value = match.group(2), match.group(3)
        if key in fields:
            raise fault(match.start(2), f"the key {key!r} a second time", "each key once")
        fields[key] = value
        at = match.end()
    if _STRUCTURED.match(body, at):
        raise fault(at, "a structured dtype", "a plain dtype, as in 'descr': '<f4'")
    if body[at:].strip() != "}":
        raise fault(at, repr(body[at : at + 40]), "a key in quotes with a text, True, False or a tuple")
    wanted = {"descr": "'\"", "fortran_order": "TF", "shape": "("}
    if fields.keys() != wanted.keys():
        raise fault(0, f"the keys {', '.join(fields)}", ", ".join(wanted))
    for key, first in wanted.items():
        if fields[key][0] not in first:
            raise fault(0, f"{key} = {fields[key][:40]}", "a text, a truth value and a tuple")
    return fields


def _element(quoted: str, dtype: str | None, path: str, tensor: str) -> tuple[str, bool, int]:
    """Return name, byte order and width of the elements."""
    descr = quoted[1:-1]
    match = _DESCR.fullmatch(descr)
    order, kind, digits = match.groups() if match else ("", descr.lstrip("<>|=")[:1], "0")
    width = int(digits[:9])
    if kind == "O":
        raise errors.build("file-pickle-refused", tensor=tensor, path=path, found="an object array")
    lost = kind == "V" or (kind, width) == ("f", 1)
    if dtype is not None and (lost or kind == "u"):
        if max(BY_NAME[dtype].bits, 8) != 8 * width:
            expected = f"a type of {width} bytes, as stored"
            raise errors.build("option-value", tensor=tensor, option="dtype", expected=expected, got=dtype)
        return dtype, order == ">", width
    if lost:
        raise errors.build("npy-lost-dtype", tensor=tensor, path=path, descr=descr)
    if width not in _WIDTHS.get(kind, ()) or (order == "|") != (width == 1):
        allowed = "b1, i1 to i8, u1 to u8, f2 to f8, c8 or c16 with < or > (| for one byte)"
        raise malformed(path, "in its header", "the dtype", repr(descr[:40]), allowed, tensor=tensor)
    name = "bool" if kind == "b" else f"{_KINDS[kind]}{8 * width}"
    return name, order == ">", width


def _shape(text: str, limits: Limits, path: str, base: int, tensor: str) -> tuple[int, ...]:
    inner = text[1:-1].strip()
    words = inner.split(",") if inner else []
    if len(words) > 1 and not words[-1].strip():
        words.pop()
    elif len(words) == 1:
        words = [f"{words[0]}!"]  # (3) is a number in Python, not a tuple
    limits.hold("rank", len(words), path=path, tensor=tensor)
    dims = []
    for word in words:
        match = _DIM.fullmatch(word)
        if match is None:
            raise malformed(path, base, "the shape", text[:60], "a tuple of whole numbers", tensor=tensor)
        dims.append(int(match.group(1)))
    return tuple(dims)
