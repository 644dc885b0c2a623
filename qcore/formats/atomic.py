"""Files that appear whole or not at all.

A new file is written beside its destination under a name of its own, flushed to the disk, and renamed over the
destination as the last step; then the folder is flushed. Whoever looks sees the complete old file or the complete
new one. A process that dies in between leaves a file called ``.qcore-<destination>-<random>.tmp`` (both
hexadecimal); the next save of the same destination removes it, unless its writer is still alive and holds its lock.
"""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qcore import errors

__all__ = ["atomic_write", "destination_of"]


def destination_of(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Return the real file a save would write: links are followed, and what must not be replaced is refused.

    Parameters
    ----------
    path
        Where the caller wants the file. A symbolic link stays one: its target is what is replaced.
    overwrite
        Whether an existing regular file may be replaced.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise errors.build("file-not-regular", path=str(path), kind=kind)
    if not overwrite:
        raise errors.build("file-exists", path=str(path))
    return target


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a new file for writing that replaces ``path`` when the block ends without an error.

    Parameters
    ----------
    path
        The destination.
    overwrite
        Whether an existing file may be replaced; refused otherwise, both before the work and at its end.

    Yields
    ------
    A binary file, writable and seekable.
    """
    target = destination_of(path, overwrite=overwrite)
    prefix = f".qcore-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}-"
    temporary: Path | None = None
    try:
        _remove_leftovers(target.parent, prefix)
        temporary, file = _create(target.parent, prefix)
        with file:
            with suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # there an open file cannot be renamed
                _publish(temporary, target, path, overwrite=overwrite)
        if os.name == "nt":
            _publish(temporary, target, path, overwrite=overwrite)
        temporary = None
        _flush_folder(target.parent)
    except OSError as error:
        # the temporary name means nothing to the user, and a failing write names no file at all
        if error.errno is not None and (error.filename is None or prefix in str(error.filename)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        if temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def _publish(temporary: Path, target: Path, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Give the finished file its name."""
    if overwrite:
        os.replace(temporary, target)
        return
    try:
        # a link, unlike a rename, fails where another process made the file meanwhile
        os.link(temporary, target)
    except FileExistsError:
        raise errors.build("file-exists", path=str(path)) from None
    except OSError:
        # a file system without hard links: the name was free a moment ago
        destination_of(path, overwrite=False)
        os.replace(temporary, target)
    else:
        os.unlink(temporary)


def _create(folder: Path, prefix: str) -> tuple[Path, BinaryIO]:
    """Create a file under a name of its own, and lock it."""
    while True:
        path = folder / f"{prefix}{secrets.token_hex(8)}.tmp"
        file = open(path, "xb")  # noqa: SIM115  # handed to the caller, whose block closes it
        try:
            _lock(file.fileno())
            mine = True
        except BlockingIOError:
            mine = False  # another save holds it: it took the file, unlocked as yet, for a dead writer's
        except OSError:
            mine = True  # some network file systems have no locks
        if mine and path.exists():
            return path, file
        file.close()


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what killed writers of the same destination left behind."""
    try:
        names = os.listdir(folder)
    except OSError:  # a folder that can be written but not listed, or none: creating the file will tell
        return
    for name in names:
        if name.startswith(prefix) and name.endswith(".tmp"):
            with suppress(OSError), open(folder / name, "rb") as file:
                _lock(file.fileno())  # fails while the writer is alive
                os.unlink(folder / name)


def _lock(descriptor: int) -> None:
    """Lock a file for this process; the system lets go when the process ends, however it ends."""
    if os.name != "nt":  # there an open file cannot be removed anyway
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _flush_folder(folder: Path) -> None:
    """Write the folder's new entry to the disk, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
