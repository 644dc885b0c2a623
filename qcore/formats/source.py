"""A file that is read by position: every read names its offset, and a file that changed under the reader is an error.

Nothing is mapped: a mapped file that someone truncates kills the process that looks at it, a positional read only
comes up short.
"""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from qcore import errors

__all__ = ["PIECE", "Shards", "Source", "pieces"]

PIECE = 1 << 20
"""Bytes that are read at once of what need not be in memory whole."""
# one call of read(2) moves at most 2 GiB on Linux
_CALL = 1 << 30


class Source:
    """A regular file, opened for positional reads.

    Parameters
    ----------
    path
        The file. Pipes, devices and folders are refused: they have no positions.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.name = str(self.path)
        # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever; on regular files it changes nothing
        flags = (
            os.O_RDONLY
            | getattr(os, "O_BINARY", 0)
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_CLOEXEC", 0)
        )
        if self.path.is_dir():
            raise errors.build("file-not-regular", path=self.name, kind="a folder")
        self._descriptor: int | None = os.open(self.path, flags)
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise errors.build("file-not-regular", path=self.name, kind="a pipe or a device")
        self.size = status.st_size
        self._stamp = (status.st_size, status.st_mtime_ns)
        self._lock = threading.Lock()

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly ``count`` bytes at ``offset``, both inside the file as it was opened."""
        buffer = bytearray(count)
        self.read_into(offset, memoryview(buffer))
        return bytes(buffer)

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill a writable view of bytes from ``offset``."""
        done = 0
        while done < len(view):
            got = self._read_some(offset + done, view[done : done + _CALL])
            if not got:
                break
            done += got
        # asked after the bytes are here, so that a change before or during the read is seen
        status = os.fstat(self._open_descriptor())
        if done < len(view) or (status.st_size, status.st_mtime_ns) != self._stamp:
            raise errors.build(
                "file-changed", path=self.name, offset=offset, found=status.st_size, allowed=self.size
            )

    def _read_some(self, offset: int, view: memoryview) -> int:
        try:
            return self._read_once(self._open_descriptor(), offset, view)
        except OSError as error:
            error.filename = self.name  # a positional read knows only a number
            raise

    def _read_once(self, descriptor: int, offset: int, view: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(descriptor, [view], offset)
        if hasattr(os, "pread"):
            piece = os.pread(descriptor, len(view), offset)
        else:
            with self._lock:
                os.lseek(descriptor, offset, os.SEEK_SET)
                piece = os.read(descriptor, len(view))
        view[: len(piece)] = piece
        return len(piece)

    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            raise errors.build("file-closed", path=self.name)
        return self._descriptor

    def close(self) -> None:
        """Give the file back; reading from it is an error from now on."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class Shards:
    """Files that belong together, seen as one: their bytes one after the other, in their order."""

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self.size = sum(source.size for source in sources)

    def read(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes at ``offset`` of the files one after the other."""
        pieces = []
        for source in self.sources:
            take = min(count, max(0, source.size - offset))
            if take:
                pieces.append(source.read(offset, take))
                count -= take
            offset = max(0, offset - source.size)
        return b"".join(pieces)

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill a writable view of bytes from ``offset``."""
        view[:] = self.read(offset, len(view))

    def close(self) -> None:
        """Give the files back."""
        for source in self.sources:
            source.close()


def pieces(source: Source | Shards, start: int, count: int, step: int = PIECE) -> Iterator[bytes]:
    """Read ``count`` bytes from ``start`` on, at most ``step`` at a time."""
    for at in range(start, start + count, step):
        yield source.read(at, min(step, start + count - at))
