"""A strict CBOR reader that walks bytes once and knows where it is.

The library's decoder evaluates tags (dates, patterns, cyclic lists) before a caller can refuse them, builds whatever
a file asks for, many times the size of its bytes, and says nothing of where it stopped. This one hands out one item
at a time, as its twin for JSON does: a reader takes only what its format allows, steps over what it does not know
without building it, and every complaint carries the byte it is about. There are no tags in the files read here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from qcore import errors
from qcore.formats.faults import malformed, truncated

if TYPE_CHECKING:
    from qcore.formats.limits import Limits

__all__ = ["Cursor"]

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _LIST, _MAP, _TAG, _OTHER = range(8)
_KINDS: Final = (
    "a whole number", "a negative number", "bytes", "a text", "a list", "a map", "a tag", "a simple value or float",
)  # fmt: skip
_SIMPLE: Final = {20: False, 21: True, 22: None}
_FLOATS: Final = {25: (2, ">e"), 26: (4, ">f"), 27: (8, ">d")}
_SHORT, _INDEFINITE, _BREAK = 24, 31, 0xFF
_OPEN = -1
"""The length of an indefinite item."""
_SHOWN = 40


class Cursor:
    """A position in CBOR bytes.

    Parameters
    ----------
    data
        The bytes.
    path
        Name of the file, for messages.
    base
        Offset of the first byte in the file.
    limits
        What holds the nesting.
    """

    def __init__(self, data: bytes, *, path: str, base: int, limits: Limits) -> None:
        self._data = data
        self._path = path
        self._base = base
        self._limits = limits
        self._depth = 0
        self._deepest = limits["burnpack-depth"]
        self.at = 0

    def fault(
        self,
        found: object,
        allowed: object,
        *,
        at: int | None = None,
        rule: str = "the metadata",
        tensor: str | None = None,
    ) -> errors.QuantError:
        """Build the error of a broken rule at a position, the current one by default."""
        place = self._base + (self.at if at is None else at)
        return malformed(self._path, place, rule, found, allowed, tensor=tensor)

    def span(self, start: int) -> bytes:
        """Return the bytes from a position to the current one, as they are."""
        return self._data[start : self.at]

    def kind(self) -> int:
        """Major type of the next item."""
        return self._byte("another item") >> 5

    def shown(self) -> str:
        """The next item as a message shows it."""
        if self.at >= len(self._data):
            return "the end of the metadata"
        head = self._data[self.at]
        if head >> 5 == _OTHER and head & 31 in _SIMPLE:
            return str(_SIMPLE[head & 31]).lower()
        return _KINDS[head >> 5] + (" of indefinite length" if head & 31 == _INDEFINITE else "")

    def _byte(self, what: str) -> int:
        if self.at >= len(self._data):
            end = self._base + len(self._data)
            raise truncated(self._path, end, f"{what} in its metadata", end + 1)
        return self._data[self.at]

    def _head(self, what: str) -> tuple[int, int]:
        """Step over a head: the major type and the argument, -1 for an indefinite length."""
        at = self.at
        head = self._byte(what)
        low = head & 31
        if low < _SHORT:
            self.at = at + 1
            return head >> 5, low
        if low == _INDEFINITE and head >> 5 in (_BYTES, _TEXT, _LIST, _MAP):
            self.at = at + 1
            return head >> 5, _OPEN
        if low > _SHORT + 3:
            raise self.fault(f"the byte 0x{head:02x}", what)
        width = 1 << (low - _SHORT)
        end = at + 1 + width
        self._hold_room(end, what)
        self.at = end
        return head >> 5, int.from_bytes(self._data[at + 1 : end], "big")

    def _hold_room(self, end: int, what: str) -> None:
        if end > len(self._data):
            size = self._base + len(self._data)
            raise truncated(self._path, size, f"{what} in its metadata", self._base + end)

    def natural(self, what: str) -> int:
        """Read a whole number from 0 to 2^64 - 1."""
        at, head = self.at, self._byte(what)
        if head < _SHORT:  # most are small
            self.at = at + 1
            return head
        if head >> 5 != _UNSIGNED:
            raise self.fault(self.shown(), what, at=at)
        return self._head(what)[1]

    def text(self, what: str) -> str:
        """Read a text, valid UTF-8."""
        at, head = self.at, self._byte(what)
        if head >> 5 != _TEXT:
            raise self.fault(self.shown(), what, at=at)
        end = at + 1 + (head & 31)
        if head & 31 < _SHORT and end <= len(self._data):  # most are short
            data = self._data[at + 1 : end]
            self.at = end
        else:
            data = self._string(what)
        try:
            return data.decode()
        except UnicodeDecodeError as problem:
            raise self.fault(f"no UTF-8: byte 0x{data[problem.start]:02x}", what, at=at) from None

    def _string(self, what: str) -> bytes:
        """Read a string of bytes or of text, of either kind of length."""
        major, length = self._head(what)
        if length != _OPEN:
            start, end = self.at, self.at + length
            self._hold_room(end, what)
            self.at = end
            return self._data[start:end]
        pieces = bytearray()
        while not self._ended(what):
            at = self.at
            inner, length = self._head(what)
            if inner != major or length == _OPEN:
                raise self.fault(f"{_KINDS[inner]} among the pieces", what, at=at)
            self._hold_room(self.at + length, what)
            pieces += self._data[self.at : self.at + length]
            self.at += length
        return bytes(pieces)

    def _ended(self, what: str) -> bool:
        """Step over the end of an indefinite item, if it is here."""
        if self._byte(what) != _BREAK:
            return False
        self.at += 1
        return True

    def _opened(self, major: int, what: str) -> int:
        """Step into a container: its length, or -1."""
        at = self.at
        if self._byte(what) >> 5 != major:
            raise self.fault(self.shown(), what, at=at)
        length = self._head(what)[1]
        self._depth += 1
        if self._depth > self._deepest:
            self._limits.hold("burnpack-depth", self._depth, path=self._path)
        return length

    def _elements(self, length: int, what: str) -> Iterator[int]:
        index = 0
        while not self._ended(what) if length == _OPEN else index < length:
            yield index
            index += 1
        self._depth -= 1

    def keys(self, what: str) -> Iterator[tuple[str, int]]:
        """Walk the keys of a map, each a text and there once; stands before the value."""
        seen: set[str] = set()
        for _ in self._elements(self._opened(_MAP, what), what):
            at = self.at
            key = self.text("a key that is a text")
            if key in seen:
                raise self.fault(f"the key {key[:_SHOWN]!r} a second time", "each key once", at=at)
            seen.add(key)
            yield key, at

    def items(self, what: str) -> Iterator[int]:
        """Walk a list: yields each index and stands before the value."""
        return self._elements(self._opened(_LIST, what), what)

    def variant(self, what: str) -> str:
        """Step to the content of a variant: a map of exactly one key, its length written."""
        at = self.at
        if self._byte(what) != (_MAP << 5 | 1):
            raise self.fault(self.shown(), what, at=at)
        self.at += 1
        return self.text(what)

    def skip(self) -> None:
        """Step over one item of any kind, building nothing."""
        what = "an item"
        major = self.kind()
        if major == _MAP:
            for _ in self._elements(self._opened(_MAP, what), what):
                self.skip()
                self.skip()
        elif major == _LIST:
            for _ in self.items(what):
                self.skip()
        elif major == _TEXT:
            self.text(what)
        elif major == _BYTES:
            self._string(what)
        else:
            self._scalar()

    def scalar(self) -> tuple[str, Any]:
        """Read a number or a truth: its kind (``int``, ``float``, ``bool``, ``null``) and its value."""
        if self.kind() in (_UNSIGNED, _NEGATIVE, _OTHER):
            return self._scalar()
        raise self.fault(self.shown(), "a number, true, false or null")

    def _scalar(self) -> tuple[str, Any]:
        at, low = self.at, self._data[self.at] & 31
        major, argument = self._head("an item")
        if major in (_UNSIGNED, _NEGATIVE):
            return "int", argument if major == _UNSIGNED else -1 - argument
        if major == _OTHER and low in _FLOATS:
            width, code = _FLOATS[low]
            return "float", struct.unpack(code, self._data[self.at - width : self.at])[0]
        if major == _OTHER and low in _SIMPLE:
            value = _SIMPLE[low]
            return "null" if value is None else "bool", value
        self.at = at
        raise self.fault(self.shown(), "numbers, texts, lists, maps, true, false and null, without tags")

    def small(self, budget: int, what: str) -> Any:
        """Build an item of at most ``budget`` values, all levels together, with short texts."""
        left = [budget]
        return self._small(left, what)

    def _small(self, left: list[int], what: str) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise self.fault("something with more values", what)
        major = self.kind()
        if major == _MAP:
            return {key: self._small(left, what) for key, _ in self.keys(what)}
        if major == _LIST:
            return [self._small(left, what) for _ in self.items(what)]
        if major == _TEXT:
            return self.text(what)
        return self._scalar()[1]
