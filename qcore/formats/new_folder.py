"""A folder that appears whole: written beside its place under a name of its own and renamed.

One that is replaced must hold nothing but files, and safetensors among them; it is moved aside first and removed last,
and what is in it beside weights, index and configuration stays. A process that dies between the two renames leaves the
old folder as ``.qcore-<destination>-<random>.old``; the next save that succeeds removes it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qcore import errors
from qcore.formats.checkpoint import INDEX_SUFFIX
from qcore.formats.conventions.settings import CONFIG, NAMES

__all__ = ["PIECE", "copy", "hold_replaceable", "new_file", "new_folder"]

PIECE = 4 << 20


@contextmanager
def new_folder(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Make a folder that appears under its name when the block ends without an error."""
    target = Path(os.path.realpath(path))
    hold_replaceable(target, str(path), overwrite=overwrite)
    prefix = f".qcore-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}-"
    _remove_leftovers(target.parent, prefix, ".tmp")
    temporary = target.parent / f"{prefix}{secrets.token_hex(8)}.tmp"
    fresh = temporary.with_suffix(".new")  # a name nobody takes for a leftover before it is locked
    os.mkdir(fresh)
    try:
        with _locked(fresh):
            os.rename(fresh, temporary)
            yield temporary
        _flush(temporary)
        if target.exists():
            hold_replaceable(target, str(path), overwrite=overwrite)
            _keep_others(target, temporary)
            os.rename(target, temporary.with_suffix(".old"))
        os.rename(temporary, target)
        _flush(target.parent)
        # the one just moved aside, and those of writers that died where this line stands
        _remove_leftovers(target.parent, prefix, ".old")
    finally:
        for left in (fresh, temporary):
            if left.exists():
                shutil.rmtree(left)


def hold_replaceable(target: Path, path: str, *, overwrite: bool) -> None:
    """Refuse a destination that exists, unless it is a checkpoint and may be replaced, or an empty folder."""
    if not target.exists():
        return
    if not target.is_dir():
        raise errors.build("file-exists", path=path)
    names = sorted(os.listdir(target))
    if not names:
        return
    plain = all((target / name).is_file() for name in names)
    if not overwrite or not plain or not any(name.endswith(".safetensors") for name in names):
        raise errors.build("file-exists", path=path)


def _keep_others(old: Path, new: Path) -> None:
    """Take along what is neither weights nor said about them: nobody asked to lose it."""
    for name in sorted(os.listdir(old)):
        weights = name.endswith((".safetensors", INDEX_SUFFIX)) or name in (CONFIG, *NAMES)
        if weights or (new / name).exists():
            continue
        try:
            os.link(old / name, new / name)
        except OSError:  # a file system without hard links
            copy(old / name, new / name)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process, where the system can; raises OSError where another one does."""
    if os.name == "nt":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(parent: Path, prefix: str, suffix: str) -> None:
    """Remove what killed writers of the same folder left behind."""
    for name in os.listdir(parent) if parent.is_dir() else ():
        if name.startswith(prefix) and name.endswith(suffix) and (parent / name).is_dir():
            with suppress(OSError), _locked(parent / name):
                shutil.rmtree(parent / name)


def _flush(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file of the new folder down to the disk."""
    with open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def copy(source: Path, target: Path) -> None:
    """Copy a file into the new folder."""
    with open(source, "rb") as old, new_file(target) as new:
        shutil.copyfileobj(old, new, PIECE)
