"""What is to be written, before a format knows of it: a group of arrays for each tensor, loaded one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats import convention
from qcore.formats.dtypes import BY_NAME
from qcore.formats.limits import Limits
from qcore.formats.protocol import AsStored, Entry, Reader, StoredReader, TensorInfo

if TYPE_CHECKING:
    import numpy as np

    from qcore.scheme import QuantScheme

__all__ = ["Content", "Deferred", "Group", "byte_view", "gather"]


@dataclass(frozen=True, slots=True)
class Group:
    """One tensor to write: what it consists of, its record if it is quantized, and how to get the arrays.

    ``as_stored`` is what a file that it comes from stores: a writer of the same format takes that over.
    """

    info: TensorInfo
    entries: tuple[Entry, ...]
    load: Callable[[], Mapping[str, np.ndarray]]
    as_stored: AsStored | None = None
    raw: Callable[[], Iterator[bytes]] | None = None
    """The bytes of a plain array in C order, little-endian, piece by piece, where its source has them so."""

    @property
    def record(self) -> str | None:
        """The record of a quantized tensor."""
        info = self.info
        if info.scheme is None:
            return None
        return convention.record_of(info.scheme, info.shape, info.rules, info.codebook)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A tensor that is known but not there yet: read, or made, when its turn to be written comes."""

    info: TensorInfo
    load: Callable[[], Any]
    raw: Callable[[], Iterator[bytes]] | None = None
    as_stored: AsStored | None = None

    @classmethod
    def of(cls, reader: Reader, name: str) -> Deferred:
        """A tensor of an open file, left there for now."""
        info, stored = reader.info(name), getattr(reader, "stored", None)
        whole = reader.as_stored(name) if isinstance(reader, StoredReader) else None
        # types narrower than a byte are packed in files; an origin says that the file has it in another form
        row = BY_NAME.get(info.dtype or "")
        plain = row is not None and row.bits >= 8 and row.name != "bool" and not info.origin
        if stored is None or not plain or not _streams(reader, name):
            return cls(info, lambda: reader.tensor(name), as_stored=whole)
        return cls(info, lambda: reader.tensor(name), lambda: stored.raw(name), whole)


def _streams(reader: Reader, name: str) -> bool:
    """Whether the raw bytes of an entry are in C order and little-endian: an .npy file may have any order."""
    in_order = getattr(getattr(reader, "stored", None), "in_order", None)
    if in_order is not None:
        return bool(in_order(name))
    return reader.format in ("safetensors", "burnpack", "gguf", "pt")


@dataclass(frozen=True, slots=True)
class Content:
    """Everything a writer needs: groups in their order, texts, and whether each array's digest is recorded."""

    groups: tuple[Group, ...]
    metadata: Mapping[str, str]
    digests: bool = False
    records: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """What only one format knows of: the Burn generation to write, an open file whose scalars go along."""

    def entries(self) -> Iterator[Entry]:
        """Every array of every group."""
        for group in self.groups:
            yield from group.entries

    def with_text(self, key: str, text: str) -> Content:
        """The same content with one more text."""
        return replace(self, metadata={**self.metadata, key: text})

    def hold_names(self, path: str, *, reserved: tuple[str, ...]) -> None:
        """Refuse what a reader would refuse: names taken, reserved, too long or no Unicode, and high ranks."""
        limits = Limits()
        seen: set[str] = set()
        for entry in self.entries():
            reason = None
            if entry.name in reserved:
                reason = "the name is reserved by the format"
            elif entry.name in seen:
                reason = "the name is taken by another tensor or a part of one"
            else:
                try:
                    limits.hold("name", len(entry.name.encode()), path=path)
                except UnicodeEncodeError:
                    reason = "the name is not valid Unicode"
            if reason:
                raise errors.build("file-name-refused", path=path, name=ascii(entry.name), reason=reason)
            limits.hold("rank", len(entry.shape), path=path, tensor=entry.name)
            seen.add(entry.name)


def gather(
    tensors: Mapping[str, Any] | Reader, path: str, metadata: Mapping[str, str] | None, *, digests: bool
) -> Content:
    """Describe what is to be written; arrays of an open file stay there until their turn comes."""
    names = sorted(tensors) if isinstance(tensors, Mapping) else sorted(tensors.names())
    groups = []
    for name in names:
        if not isinstance(name, str):
            raise errors.build(
                "argument-type", argument="a tensor's name", expected="a text", got=type(name).__name__
            )
        value = tensors[name] if isinstance(tensors, Mapping) else Deferred.of(tensors, name)
        groups.append(_given(name, value, path))
    records = {group.info.name: text for group in groups if (text := group.record) is not None}
    texts = {} if isinstance(tensors, Mapping) else dict(tensors.metadata)
    for key, text in (metadata or {}).items():
        if not all(isinstance(word, str) for word in (key, text)):
            raise errors.build(
                "argument-type", argument="metadata", expected="texts by texts", got=f"{key!r}: {text!r}"
            )
        texts[key] = text
    return Content(tuple(groups), texts, digests, records)


def _given(name: str, value: Any, path: str) -> Group:
    import numpy as np

    from qcore.formats.foreign import ForeignTensor
    from qcore.tensor import QTensor

    if isinstance(value, Deferred):
        return _deferred(name, value)
    if isinstance(value, QTensor):
        codebook = None if value.codebook is None else value.codebook.name
        return _quantized(name, value.scheme, value.shape, value.rules, codebook, lambda: value)
    if isinstance(value, ForeignTensor):
        group = _plain(name, "float32", value.shape, value.dequantize)
        return replace(group, as_stored=value.as_stored(name))
    array = np.asarray(value)
    known = array.dtype.name in BY_NAME or array.dtype == np.complex128
    if not known or array.dtype.names is not None:
        raise errors.build(
            "file-cannot-hold", tensor=name, path=path, format="tensor", what=f"{array.dtype} elements"
        )
    return _plain(name, array.dtype.name, array.shape, lambda: array)


def _deferred(name: str, value: Deferred) -> Group:
    info = value.info
    if info.scheme is not None:
        group = _quantized(name, info.scheme, info.shape, info.rules, info.codebook, value.load)
    else:
        assert info.dtype is not None
        group = _plain(name, info.dtype, info.shape, value.load)
    info = replace(group.info, extra=info.extra)
    return replace(group, info=info, raw=value.raw, as_stored=value.as_stored)


def _quantized(
    name: str,
    scheme: QuantScheme,
    shape: tuple[int, ...],
    rules: Mapping[str, Any],
    codebook: str | None,
    load: Callable[[], Any],
) -> Group:
    entries = convention.entries_of(name, scheme, shape)
    parts = tuple(entry.name for entry in entries)
    info = TensorInfo(
        name, shape, None, scheme, sum(entry.nbytes for entry in entries), parts, rules, codebook
    )
    return Group(info, entries, lambda: convention.arrays_of(name, load()))


def _plain(name: str, dtype: str, shape: tuple[int, ...], load: Callable[[], Any]) -> Group:
    import numpy as np

    entry = convention.entry(name, dtype, shape)
    return Group(
        TensorInfo(name, shape, dtype, None, entry.nbytes, (name,)),
        (entry,),
        lambda: {name: np.asarray(load())},  # one in a foreign form decodes
    )


def byte_view(array: np.ndarray) -> np.ndarray:
    """Bytes of an array, little-endian and in C order, as a flat uint8 view or copy."""
    import sys

    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.byteorder == ">" or (sys.byteorder == "big" and flat.dtype.byteorder == "="):
        flat = flat.byteswap()
    return flat.view(np.uint8)
