"""A strict JSON reader that walks a text once and knows where it is.

The library's parser keeps the last of two equal keys, takes ``NaN`` for a number, turns ``1e3`` into a float and
builds whatever a file asks it to build, many times the size of its text. This one hands out one token at a time, so
that a reader takes only what its format allows, and every complaint carries the byte it is about.
"""

import json
import re
from collections.abc import Iterator

from qcore import errors
from qcore.formats.faults import malformed

__all__ = ["Cursor"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# the plain case of a whole number: fewer digits than the largest has, and the end of an element behind it
_NATURAL = re.compile(r"(?:0|[1-9][0-9]{0,17})(?=[,\]])")
_WORD = re.compile(r"[A-Za-z_+\-.0-9]+")
_LITERALS = ("true", "false", "null")
_DEEPEST = 128
_MOST_SKIPPED = 1 << 16  # no writer is known that puts anything there
_STRINGS = json.JSONDecoder()  # in C; strict about control characters
_SHOWN = 40


class Cursor:
    """A position in a JSON text.

    Parameters
    ----------
    text
        The decoded text.
    path
        Name of the file, for messages.
    base
        Offset of the text's first byte in the file.
    """

    def __init__(self, text: str, *, path: str, base: int) -> None:
        self._text = text
        self._path = path
        self._base = base
        self._at = 0
        self._skipped = 0

    def fault(
        self,
        found: object,
        allowed: object,
        *,
        at: int | None = None,
        rule: str = "the header",
        tensor: str | None = None,
    ) -> errors.QuantError:
        """Build the error of a broken rule at a position, the current one by default."""
        return malformed(self._path, self.offset(at), rule, found, allowed, tensor=tensor)

    def offset(self, at: int | None = None) -> int:
        """Byte offset in the file of a position in the text."""
        at = self._at if at is None else at
        return self._base + len(self._text[:at].encode("utf-8", "surrogatepass"))

    def here(self) -> int:
        """Position of the next token."""
        if self._text[self._at : self._at + 1] <= " ":  # most texts have no spaces to look for
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
        return self._at

    def peek(self) -> str:
        """The next character that is not a space; empty at the end."""
        at = self.here()
        return self._text[at : at + 1]

    def shown(self) -> str:
        """The next token as a message shows it."""
        at = self.here()
        if at == len(self._text):
            return "the end of the header"
        word = _WORD.match(self._text, at)
        piece = self._text[at : word.end() if word else at + 1]
        return piece if len(piece) <= _SHOWN else piece[:_SHOWN] + "..."

    def take(self, character: str) -> bool:
        """Step over a character if it is the next one."""
        if not self._text.startswith(character, self.here()):
            return False
        self._at += 1
        return True

    def ahead(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the next token, without stepping over it."""
        return pattern.match(self._text, self.here())

    def step_over(self, match: re.Match[str]) -> None:
        """Step over what :meth:`ahead` found."""
        self._at = match.end()

    def expect(self, character: str, what: str) -> None:
        """Step over a character that must be the next one."""
        if not self.take(character):
            raise self.fault(self.shown(), what)

    def end(self) -> None:
        """Hold that nothing but spaces follows."""
        if self.here() != len(self._text):
            raise self.fault(self.shown(), "nothing after the header's object")

    def string(self, what: str) -> str:
        """Read a string that is valid Unicode."""
        if self.peek() != '"':
            raise self.fault(self.shown(), what)
        start = self._at
        try:
            found, self._at = _STRINGS.raw_decode(self._text, start)
        except json.JSONDecodeError as problem:
            raise self.fault(problem.msg, what, at=problem.pos) from None
        value = str(found)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise self.fault("half of a surrogate pair", what, at=start) from None
        return value

    def natural(self, what: str) -> int:
        """Read a whole number from 0 to 2^64 - 1, written without a fraction or an exponent."""
        at = self.here()
        match = _NATURAL.match(self._text, at)
        if match:
            self._at = match.end()
            return int(match.group())
        match = _NUMBER.match(self._text, at)
        written = match.group() if match else ""
        # twenty digits hold every u64, and int() of millions of them is slow
        if not written.isdigit() or len(written) > 20 or int(written) >= 1 << 64 or self._glued(at, written):
            raise self.fault(self.shown(), what)
        self._at = at + len(written)
        return int(written)

    def _glued(self, at: int, written: str) -> bool:
        word = _WORD.match(self._text, at)
        return word is not None and word.end() != at + len(written)

    def keys(self, what: str) -> Iterator[tuple[str, int]]:
        """Walk the keys of an object: yields each with its position and stands before its value."""
        self.expect("{", what)
        if self.take("}"):
            return
        while True:
            at = self.here()
            key = self.string("a key in quotes")
            self.expect(":", "a colon after the key")
            yield key, at
            if self.take("}"):
                return
            self.expect(",", "a comma or the end of the object")

    def items(self, what: str) -> Iterator[int]:
        """Walk a list: yields each index and stands before the value."""
        self.expect("[", what)
        if self.take("]"):
            return
        index = 0
        while True:
            yield index
            index += 1
            if self.take("]"):
                return
            self.expect(",", "a comma or the end of the list")

    def skip(self) -> None:
        """Step over one value of any kind, building nothing; all that is stepped over together is short."""
        start = self.here()
        self._skip(0, start + _MOST_SKIPPED - self._skipped)
        self._skipped += self._at - start

    def _skip(self, depth: int, until: int) -> None:
        mark = self.peek()
        if self._at > until:
            raise self.fault("more text under unknown keys", f"at most {_MOST_SKIPPED} characters of it")
        if depth > _DEEPEST:
            raise self.fault("values nested deeper", f"at most {_DEEPEST} levels")
        if mark == "{":
            for _ in self.keys("an object"):
                self._skip(depth + 1, until)
        elif mark == "[":
            for _ in self.items("a list"):
                self._skip(depth + 1, until)
        elif mark == '"':
            self.string("a string")
        else:
            self._skip_scalar()

    def _skip_scalar(self) -> None:
        word = _WORD.match(self._text, self.here())
        if word is None or not (word.group() in _LITERALS or _NUMBER.fullmatch(word.group())):
            raise self.fault(self.shown(), "a JSON value")
        self._at = word.end()
