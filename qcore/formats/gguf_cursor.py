"""Stepping through the header of a GGUF file: a window of it in memory, numbers and strings out of it, in bounds."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from qcore.formats.faults import malformed, truncated

if TYPE_CHECKING:
    from qcore.formats.source import Source

__all__ = ["Cursor"]

_FIRST_WINDOW, _WIDEST_WINDOW = 1 << 16, 1 << 22


@cache
def _layout(order: str, form: str) -> struct.Struct:
    return struct.Struct(order + form)


class Cursor:
    """A place in a file and what follows it.

    Windows are read as the place moves, twice as wide each time: reading a header costs time in proportion to it.
    """

    def __init__(self, source: Source, order: str, offset: int) -> None:
        self.path = source.name
        self._source = source
        self._order = order
        self._base = offset  # where the window begins in the file
        self._window = b""
        self._at = 0  # place in the window
        self._width = _FIRST_WINDOW

    @property
    def offset(self) -> int:
        """The place in the file."""
        return self._base + self._at

    def room(self, count: int, what: str) -> None:
        """Hold that the file has so many bytes from here."""
        if self.offset + count > self._source.size:
            raise truncated(self.path, self._source.size, what, self.offset + count)

    def move(self, offset: int) -> None:
        """Go to a place from here on."""
        self._at = offset - self._base
        if self._at > len(self._window):
            self._base, self._window, self._at = offset, b"", 0

    def _need(self, count: int, what: str) -> None:
        """Make the window hold so many bytes from here."""
        if self._at + count <= len(self._window):
            return
        self.room(count, what)
        self._base, self._at = self.offset, 0
        length = min(max(count, self._width), self._source.size - self._base)
        self._window = self._source.read(self._base, length)
        self._width = min(2 * self._width, _WIDEST_WINDOW)

    def take(self, count: int, what: str) -> bytes:
        """Return the next bytes."""
        self._need(count, what)
        self._at += count
        return self._window[self._at - count : self._at]

    def numbers(self, form: str, what: str) -> tuple[int, ...]:
        """Return the next numbers, in the letters of :mod:`struct`."""
        layout = _layout(self._order, form)
        self._need(layout.size, what)
        self._at += layout.size
        return layout.unpack_from(self._window, self._at - layout.size)

    def number(self, form: str, what: str) -> int:
        """Return the next number."""
        return self.numbers(form, what)[0]

    def text(self, what: str, hold: Callable[[int], None]) -> str:
        """Return the next string; ``hold`` refuses lengths beyond a limit."""
        length = self.number("Q", what)
        hold(length)
        at = self.offset
        data = self.take(length, what)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as problem:
            place = at + problem.start
            raise malformed(self.path, place, what, f"byte 0x{data[problem.start]:02x}", "UTF-8") from None

    def step_over_strings(self, count: int, what: str, most: int, hold: Callable[[int], None]) -> None:
        """Step over strings: nothing but their lengths is looked at, and ``hold`` refuses those beyond ``most``."""
        self.room(8 * count, what)
        unpack = _layout(self._order, "Q").unpack_from
        window, at, size = self._window, self._at, len(self._window)
        for _ in range(count):
            if at + 8 > size:
                self._at = at
                self._need(8, what)
                window, at, size = self._window, self._at, len(self._window)
            (length,) = unpack(window, at)
            at += 8 + length
            if length > most or at > size:
                hold(length)
                self._at = at - length
                self.room(length, what)
                self.move(self.offset + length)
                window, at, size = self._window, self._at, len(self._window)
        self._at = at
