"""Digests of stored arrays: a fast one of 128 bits is recorded, and what earlier versions recorded is still verified.

A digest's text names how it was made: ``xxh3-128:`` and 32 digits. It tells accidents, not forgeries: whoever changes
the data can change the text. A text without a name is a blake2b of 128 bits, as up to now; ``crc32:`` is the sum that
zip archives hold.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

from qcore import errors

__all__ = ["NO_DIGEST", "digest", "digest_like", "running"]

RECORDED = "xxh3-128"
NO_DIGEST = f"{RECORDED}:{'0' * 32}"
"""What stands in a header until the digest is known: a text of the same length."""
_UNNAMED = "blake2b-128"


class Running(Protocol):
    """A digest that grows piece by piece."""

    def update(self, piece: bytes | bytearray | memoryview, /) -> object:
        """Take in a piece."""

    def hexdigest(self) -> str:
        """The digest so far, in hexadecimal."""


class _Crc32:
    def __init__(self) -> None:
        self._sum = 0

    def update(self, piece: bytes | bytearray | memoryview, /) -> None:
        self._sum = zlib.crc32(piece, self._sum)

    def hexdigest(self) -> str:
        return f"{self._sum:08x}"


def _xxh3() -> Running:
    import xxhash

    return xxhash.xxh3_128()


def _blake2b() -> Running:
    return hashlib.blake2b(digest_size=16)


_ALGORITHMS: Mapping[str, Callable[[], Running]] = MappingProxyType(
    {RECORDED: _xxh3, _UNNAMED: _blake2b, "crc32": _Crc32}
)


class running:  # used as the verb it is
    """A digest that is recorded, taken while the data is written.

    Examples
    --------
    >>> taken = running()
    >>> taken.update(b"abc")
    >>> taken.text()
    'xxh3-128:06b05ab6733a618578af5f94892f3950'
    """

    def __init__(self, algorithm: str = RECORDED, *, named: bool = True) -> None:
        self._name = f"{algorithm}:" if named else ""
        self._taken = _ALGORITHMS[algorithm]()

    def update(self, piece: bytes | bytearray | memoryview) -> None:
        """Take in a piece."""
        self._taken.update(piece)

    def text(self) -> str:
        """The digest, with the name of how it was made."""
        return self._name + self._taken.hexdigest()


def digest(pieces: Iterable[bytes | memoryview]) -> str:
    """Return the digest that is recorded for an array, of its stored bytes."""
    return _of(running(), pieces)


def digest_like(recorded: str, pieces: Iterable[bytes | memoryview]) -> str:
    """Return the digest of an array's stored bytes, made as a recorded one says that it was made.

    Examples
    --------
    >>> digest_like("cf4ab791c62b8d2b2109c90275287816", [b"abc"])  # without a name: blake2b
    'cf4ab791c62b8d2b2109c90275287816'
    """
    name, colon, _ = recorded.partition(":")
    algorithm = name if colon else _UNNAMED
    if algorithm not in _ALGORITHMS:
        raise errors.build("unknown-name", kind="digest", name=name, choices=tuple(_ALGORITHMS))
    return _of(running(algorithm, named=bool(colon)), pieces)


def _of(taken: running, pieces: Iterable[bytes | memoryview]) -> str:
    for piece in pieces:
        taken.update(piece)
    return taken.text()
