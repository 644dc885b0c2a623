"""What every format hands over: entries as stored, tensors as meant, and the reader between them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self

from qcore import errors

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.foreign import ForeignTensor
    from qcore.formats.limits import Limits
    from qcore.formats.source import Shards, Source
    from qcore.scheme import QuantScheme
    from qcore.tensor import QTensor

__all__ = ["AsStored", "Entry", "Reader", "Stored", "StoredPart", "StoredReader", "TensorInfo", "Writer"]


@dataclass(frozen=True, slots=True)
class Entry:
    """An array as a file stores it: its name there, NumPy's name of its dtype, its shape and its bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One array of a tensor as its file stores it: the format's own name of its type, and its bytes in pieces."""

    name: str
    type: str
    shape: tuple[int, ...]
    nbytes: int
    read: Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class AsStored:
    """A tensor as its file stores it: a writer of the same format takes it over without looking at it."""

    format: str
    parts: tuple[StoredPart, ...]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor as it is meant, known without reading its data.

    ``dtype`` names the element type of a plain tensor and is None for a quantized one, whose ``scheme`` is given
    instead; ``nbytes`` counts what the file spends on it; ``parts`` are the names of its stored arrays.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str | None
    scheme: QuantScheme | None
    nbytes: int
    parts: tuple[str, ...]
    rules: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    codebook: str | None = None
    origin: str = ""
    """Convention or foreign block type the tensor is stored in; empty for the format's own."""
    fidelity: str = "exact"
    """``exact`` (only bits move), ``lossless`` (equal values after arithmetic) or ``requantized``."""
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """What its format says beside: ``param_id``, the identity of a parameter in a burnpack."""

    @property
    def foreign(self) -> bool:
        """Whether no scheme expresses what is stored: ``dtype`` is then that of the floats it decodes to."""
        return self.scheme is None and self.fidelity == "requantized"

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    @property
    def bits_per_weight(self) -> float:
        """Stored bits for each element; 0.0 when there is none."""
        return 8 * self.nbytes / self.size if self.size else 0.0

    @property
    def kind(self) -> str:
        """The dtype's name, or the scheme's text."""
        return self.dtype if self.dtype is not None else str(self.scheme)


class Stored(Protocol):
    """What a format's module provides: checked entries in the file's order, and each one's array on demand."""

    entries: Mapping[str, Entry]
    metadata: Mapping[str, str]
    records: Mapping[str, str]
    digests: Mapping[str, str]

    def array(self, name: str) -> np.ndarray:
        """Read one entry."""

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one entry's bytes in C order, piece by piece, as digests are taken of them."""


class Reader(Protocol):
    """An open file: names, what is known of each tensor, and the tensors, each read when it is asked for."""

    path: Path
    format: str

    @property
    def metadata(self) -> Mapping[str, str]:
        """Texts that the file carries, without those of our own convention."""

    def names(self) -> tuple[str, ...]:
        """Names of the tensors in the file's order."""

    def info(self, name: str) -> TensorInfo:
        """Say what is known of a tensor without reading it."""

    def tensor(self, name: str) -> np.ndarray | QTensor | ForeignTensor:
        """Read a tensor."""

    def close(self) -> None:
        """Give the file back."""


class Writer(Protocol):
    """What a format's module provides for writing: one call, into a file that is already open and will be renamed."""

    def __call__(self, file: BinaryIO, path: str, content: Any) -> None:
        """Write everything."""


class StoredReader:
    """The reader of every format: plain entries as they are, those of our convention joined to tensors."""

    def __init__(
        self, path: str | os.PathLike[str], format: str, source: Source | Shards, stored: Stored, limits: Limits
    ) -> None:
        from qcore.formats import convention, identities

        self.path = Path(path)
        self.format = format
        self.source = source
        self.stored = stored
        self.folder: Path | None = None  # where configuration and tokenizer lie, for a whole checkpoint
        own = getattr(stored, "infos", None)  # a format that knows quantized tensors itself
        infos = convention.infos(stored, str(self.path), limits) if own is None else own
        self._infos = identities.with_ids(infos, stored.metadata, str(self.path), limits)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unusual about the file, though it can be read."""
        return tuple(getattr(self.stored, "notes", ()))

    @property
    def metadata(self) -> Mapping[str, str]:
        """Texts that the file carries, without those of our own convention."""
        return MappingProxyType({key: self.stored.metadata[key] for key in self.text_names()})

    def text_names(self) -> tuple[str, ...]:
        """Names of the texts, without looking at one."""
        return tuple(key for key in self.stored.metadata if not key.startswith("qcore."))

    def brief(self, key: str, length: int = 100) -> str:
        """The beginning of a text of the metadata, for which not more than that has to be read."""
        own = getattr(self.stored.metadata, "brief", None)
        if own is not None:
            shown: str = own(key, length)
            return shown
        text = self.stored.metadata[key]
        return text if len(text) <= length else text[:length] + "..."

    def names(self) -> tuple[str, ...]:
        """Names of the tensors in the file's order."""
        return tuple(self._infos)

    def info(self, name: str) -> TensorInfo:
        """Say what is known of a tensor without reading it."""
        if name not in self._infos:
            close = tuple(difflib.get_close_matches(name, self._infos, n=3))
            variant = None if close else "none-close"
            raise errors.build(
                "file-tensor-missing", variant=variant, path=str(self.path), name=name, choices=close
            )
        return self._infos[name]

    def tensor(self, name: str) -> np.ndarray | QTensor | ForeignTensor:
        """Read a tensor: an array of its own, a quantized tensor, or a foreign one."""
        from qcore.formats import convention

        info = self.info(name)
        own = getattr(self.stored, "tensor", None)
        if own is not None:
            found: np.ndarray | QTensor | ForeignTensor = own(name)
            return found
        if info.scheme is None:
            return self.stored.array(name)
        return convention.join(info, self.stored.array)

    def position(self, name: str) -> int | None:
        """Offset at which a plain tensor lies in the file, little-endian and in C order; None where it does not.

        With it a part of a tensor can be read: ``reader.source.read(offset, count)``.
        """
        info = self.info(name)
        locate = getattr(self.stored, "position", None)  # formats that compress or join have none
        own = getattr(self.stored, "tensor", None)
        if info.scheme is not None or locate is None or own is not None or name not in self.stored.entries:
            return None
        found: int | None = locate(name)
        return found

    def as_stored(self, name: str) -> AsStored | None:
        """A tensor as the file stores it, for a writer of the same format; None where the format has no such way."""
        own = getattr(self.stored, "as_stored", None)
        found: AsStored | None = None if own is None else own(self.info(name))
        return found

    def close(self) -> None:
        """Give the file back."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._infos)

    def __repr__(self) -> str:
        return f"<{self.format} file {str(self.path)!r}, {len(self)} tensors>"
