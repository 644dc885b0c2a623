"""File formats: one row each, with the module that reads and writes it as a word until it is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcore import errors

if TYPE_CHECKING:
    from qcore.formats.protocol import Stored, TensorInfo, Writer
    from qcore.formats.source import Source

__all__ = ["FORMATS", "FileFormat", "detect", "for_suffix"]

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class FileFormat:
    """One row: how files of a format are recognised, what they hold, and where reader and writer live.

    What is not written is not among the formats that a destination may have.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    module: str
    holds: str
    writes: bool = True

    def reader(self) -> Callable[..., Stored]:
        """Load ``read(source, limits, dtype)`` of the row's module."""
        reader: Callable[..., Stored] = import_module(self.module).read
        return reader

    def writer(self) -> Writer:
        """Load ``write(file, path, content)`` of the row's module."""
        writer: Writer = import_module(self.module).write
        return writer

    def rewriter(self) -> Callable[..., None] | None:
        """Load ``rewrite(file, path, stored, texts, digests=, **options)``, where the row's module has one."""
        rewriter: Callable[..., None] | None = getattr(import_module(self.module), "rewrite", None)
        return rewriter

    def fidelity(self, info: TensorInfo) -> str:
        """How faithfully the format holds a tensor: ``exact`` unless the row's module grades it."""
        grade = getattr(import_module(self.module), "fidelity", None)
        return "exact" if grade is None else str(grade(info))


_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
FORMATS: tuple[FileFormat, ...] = (
    FileFormat("safetensors", (".safetensors",), (), "qcore.formats.safetensors_file", "everything"),
    FileFormat("gguf", (".gguf",), (b"GGUF",), "qcore.formats.gguf_file", "what ggml has a type for"),
    FileFormat("burnpack", (".bpk",), (b"NRUB",), "qcore.formats.burnpack_file", "everything"),
    FileFormat("npz", (".npz",), _ZIP, "qcore.formats.npz_file", "everything"),
    FileFormat("pt", (".pt", ".pth"), _ZIP, "qcore.formats.pt_file", "plain tensors", writes=False),
    FileFormat("npy", (".npy",), (b"\x93NUMPY",), "qcore.formats.npy_file", "one plain array"),
)
_PICKLE_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")
_PICKLE_MARKS = tuple(bytes([0x80, version]) for version in range(2, 6))
_WRITTEN = tuple(row for row in FORMATS if row.writes)


def for_suffix(path: Path, name: str | None = None) -> FileFormat:
    """Return the format that a file to be written is meant to have: the named one, else by its suffix."""
    if name is not None:
        for row in _WRITTEN:
            if row.name == name or f".{name}" in row.suffixes:
                return row
        choices = tuple(row.name for row in _WRITTEN)
        raise errors.build("unknown-name", kind="format to write", name=name, choices=choices)
    suffix = path.suffix.lower()
    for row in _WRITTEN:
        if suffix in row.suffixes:
            return row
    choices = tuple(suffix for row in _WRITTEN for suffix in row.suffixes)
    raise errors.build("unknown-name", kind="file suffix", name=suffix, choices=choices)


def detect(source: Source) -> FileFormat:
    """Return the format of an open file: by its first bytes, and by its suffix only where a format has no mark."""
    head = source.read(0, min(source.size, 16))
    suffix = source.path.suffix.lower()
    if head.startswith(_ZIP):
        return _archive(source)
    for row in FORMATS:
        if any(head.startswith(magic) for magic in row.magic):
            return row
    for row in FORMATS:
        # a mark that is missing is the format's own error to explain, as long as the suffix names it; and the
        # length that a safetensors file begins with may look like the first bytes of a pickle
        named = suffix in row.suffixes and suffix not in _PICKLE_SUFFIXES
        if named or (row.name == "safetensors" and head[8:9] == b"{"):
            return row
    pickled = head.startswith(_PICKLE_MARKS)
    # .bin is the suffix of anything; what is no pickle there by its first bytes is not recognised
    if pickled or (suffix in _PICKLE_SUFFIXES and suffix != ".bin"):
        found = "by its first bytes" if pickled else f"as {suffix} files do"
        raise errors.build("file-pickle-refused", path=source.name, found=found)
    raise errors.build("file-not-recognised", path=source.name, found=_shown(head))


def _archive(source: Source) -> FileFormat:
    """Tell the two formats that are zip archives apart by the member that only one of them has."""
    from qcore.formats.zip_members import names

    wanted = "pt" if any(name.endswith("data.pkl") for name in names(source)) else "npz"
    return next(row for row in FORMATS if row.name == wanted)


def _shown(head: bytes) -> Any:
    return repr(head[:_SHOWN]) if head else "nothing: it is empty"
