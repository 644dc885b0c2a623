"""The directory of a zip archive, held against the file: where each member's bytes lie, without reading them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcore import errors
from qcore.formats.faults import malformed
from qcore.formats.source import PIECE, pieces

if TYPE_CHECKING:
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source

__all__ = ["Member", "members", "names", "stream"]

_LOCAL = struct.Struct("<4s5H3I2H")
_NAME = 1 << 10  # as much of the first member's name as tells one format from another
_ENCRYPTED = 0x1
# deflate packs at most 258 bytes into two bits
_DEFLATE_RATIO = 1032


@dataclass(frozen=True, slots=True)
class Member:
    """A member: its name, the range of its bytes in the file, its length unpacked, and its check sum."""

    name: str
    start: int
    packed: int
    size: int
    deflated: bool
    crc: int


class _Positional(io.RawIOBase):
    """A source as the file object that the zip module reads its directory from."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        if base + offset < 0:
            raise OSError("before the first byte")  # what the zip module expects of a file
        self._at = base + offset
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # io hands in anything with a buffer
        count = max(0, min(len(view), self._source.size - self._at))
        self._source.read_into(self._at, view[:count])
        self._at += count
        return count


def names(source: Source) -> Iterator[str]:
    """Names of an archive's members, unchecked: the first one as it lies, then those of the directory."""
    head = source.read(0, min(source.size, _LOCAL.size + _NAME))
    if len(head) >= _LOCAL.size and head.startswith(b"PK\x03\x04"):
        length = _LOCAL.unpack_from(head)[-2]
        yield head[_LOCAL.size : _LOCAL.size + length].decode("utf-8", "replace")
    for row in _directory(source):
        yield row.orig_filename


def members(source: Source, limits: Limits) -> dict[str, Member]:
    """Read and check the directory of an archive."""
    path = source.name
    rows = _directory(source)
    limits.hold("zip-members", len(rows), path=path)
    found: dict[str, Member] = {}
    for row in rows:
        name = row.orig_filename
        limits.hold("name", len(name.encode("utf-8", "surrogatepass")), path=path)
        if name in found:
            raise malformed(path, "in its directory", "the name", f"{name!r} a second time", "each name once")
        found[name] = _member(source, row, name)
    _hold_ranges(sorted(found.values(), key=lambda member: member.start), path, source.size)
    limits.hold("npz-expanded", sum(member.size for member in found.values() if member.deflated), path=path)
    return found


def _directory(source: Source) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(io.BufferedReader(_Positional(source))) as archive:
            return archive.infolist()
    except errors.QuantError:
        raise
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        OSError,
        OverflowError,
        ValueError,
        struct.error,
    ) as problem:
        raise malformed(source.name, "in its directory", "the archive", problem, "a zip archive") from None


def _member(source: Source, row: zipfile.ZipInfo, name: str) -> Member:
    path, at = source.name, row.header_offset

    def fault(rule: str, got: object, allowed: object) -> errors.QuantError:
        return malformed(path, f"in its member {name!r}", rule, got, allowed, tensor=name)

    if row.flag_bits & _ENCRYPTED:
        raise fault("the member", "encrypted", "a plain one")
    if row.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise fault("the compression", row.compress_type, "0 (stored) or 8 (deflated)")
    if at < 0 or at + _LOCAL.size > source.size:
        raise fault("the place", at, f"0 to {source.size - _LOCAL.size}")
    fields = _LOCAL.unpack(source.read(at, _LOCAL.size))
    if fields[0] != b"PK\x03\x04":
        raise malformed(path, at, "the mark of a member", fields[0], b"PK\x03\x04", tensor=name)
    start = at + _LOCAL.size + fields[-2] + fields[-1]
    deflated = row.compress_type == zipfile.ZIP_DEFLATED
    if row.compress_size < 0 or start + row.compress_size > source.size:
        raise fault(
            "the range of the data", f"{start} to {start + row.compress_size}", f"up to {source.size}"
        )
    if row.file_size < 0 or (not deflated and row.file_size != row.compress_size):
        raise fault("the length", row.file_size, f"{row.compress_size}, as stored")
    if deflated and row.file_size > row.compress_size * _DEFLATE_RATIO:
        raise fault(
            "the length", row.file_size, f"{_DEFLATE_RATIO} times the {row.compress_size} packed bytes"
        )
    return Member(name, start, row.compress_size, row.file_size, deflated, row.CRC)


def _hold_ranges(ordered: list[Member], path: str, size: int) -> None:
    end, previous = 0, ""
    for member in ordered:
        if member.start < end:
            found = f"{member.start} to {member.start + member.packed}, which overlaps {previous!r}"
            where = f"in its member {member.name!r}"
            raise malformed(path, where, "the range of the data", found, f"{end} on", tensor=member.name)
        end, previous = member.start + member.packed, member.name


def stream(source: Source, member: Member, *, summed: bool = True) -> Iterator[bytes]:
    """Read a member unpacked, piece by piece, and hold its length and check sum at the end.

    ``summed=False`` allows a sum of 0 for one that was left out, as PyTorch can be told to.

    Memory grows with the bytes that are there, never with the length that the directory claims.
    """
    path = source.name
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if member.deflated else None
    done = crc = 0
    for piece in _unpacked(source, member, unpacker):
        done += len(piece)
        if done > member.size:
            break
        crc = zlib.crc32(piece, crc)
        yield piece
    where = f"in its member {member.name!r}"
    if done != member.size or (unpacker is not None and not unpacker.eof):
        raise malformed(path, where, "the unpacked length", done, member.size, tensor=member.name)
    if crc != member.crc and (summed or member.crc):
        raise errors.build(
            "file-checksum",
            tensor=member.name,
            path=path,
            name=member.name,
            got=f"{crc:08x}",
            expected=f"{member.crc:08x}",
        )


def _unpacked(source: Source, member: Member, unpacker: zlib._Decompress | None) -> Iterator[bytes]:
    for packed in pieces(source, member.start, member.packed):
        if unpacker is None:
            yield packed
            continue
        while packed:
            try:
                piece = unpacker.decompress(packed, PIECE)
            except zlib.error as problem:
                where = f"in its member {member.name!r}"
                raise malformed(
                    source.name, where, "the packed data", problem, "deflate", tensor=member.name
                ) from None
            packed = unpacker.unconsumed_tail
            if piece:
                yield piece
