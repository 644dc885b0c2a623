"""safetensors: reading entries by position, and writing them as the reference writer does.

The reference writer keeps the texts of a file in a hash map whose order changes from run to run, so the header is
written here; for the same arrays and texts in order the bytes are those of the reference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from qcore.formats import subbyte
from qcore.formats.content import byte_view
from qcore.formats.digests import NO_DIGEST, digest
from qcore.formats.dtypes import BY_NAME, numpy_dtype
from qcore.formats.faults import malformed
from qcore.formats.limits import Limits
from qcore.formats.safetensors_header import METADATA, PREFIX_BYTES, read_header
from qcore.formats.source import pieces

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.content import Content, Group
    from qcore.formats.protocol import Entry
    from qcore.formats.source import Source

__all__ = ["SafetensorsFile", "read", "write"]

SCHEME_KEY, DIGEST_KEY, VERSION_KEY = "qcore.scheme.", "qcore.digest.", "qcore.version"
_ALIGNMENT = 8


class SafetensorsFile:
    """The checked entries of an open safetensors file."""

    def __init__(self, source: Source, limits: Limits) -> None:
        header = read_header(source, limits)
        self._source = source
        self._starts = header.starts
        self.entries = MappingProxyType(header.entries)
        self.metadata = MappingProxyType(header.metadata)
        self.records = _after(SCHEME_KEY, header.metadata)
        self.digests = _after(DIGEST_KEY, header.metadata)

    def array(self, name: str) -> np.ndarray:
        """Read one entry as an array of its own."""
        import numpy as np

        entry = self.entries[name]
        stored = np.empty(entry.nbytes, np.uint8)
        self._source.read_into(self._starts[name], stored.data)
        row = BY_NAME[entry.dtype]
        dtype = numpy_dtype(entry.dtype)
        if row.bits < 8:
            return subbyte.unpack(stored, row.bits, entry.shape).view(dtype)
        if entry.dtype == "bool" and stored.size and stored.max() > 1:
            at = self._starts[name] + int((stored > 1).argmax())
            raise malformed(self._source.name, at, "a BOOL", int(stored.max()), "0 or 1", tensor=name)
        array: np.ndarray = stored.view(dtype).reshape(entry.shape)
        return array.byteswap(inplace=True) if sys.byteorder == "big" and dtype.itemsize > 1 else array

    def position(self, name: str) -> int | None:
        """Offset of an entry's first byte, where its elements lie one after the other."""
        return self._starts[name] if BY_NAME[self.entries[name].dtype].bits >= 8 else None

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one entry's bytes, piece by piece."""
        return pieces(self._source, self._starts[name], self.entries[name].nbytes)


def _after(prefix: str, metadata: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(
        {key[len(prefix) :]: text for key, text in metadata.items() if key.startswith(prefix)}
    )


def read(source: Source, limits: Limits, dtype: Any) -> SafetensorsFile:
    """Open the entries of a file. ``dtype`` is for formats that lose it; this one names every dtype."""
    return SafetensorsFile(source, limits)


def write(file: BinaryIO, path: str, content: Content) -> None:
    """Write a whole file: the header, then each array at the place that the header gives it.

    Arrays lie in the reference writer's order, wide dtypes first, while tensors are loaded one after the other, so
    each array is written where it belongs. Digests are known last: their texts have a fixed length and are filled
    in at the end.
    """
    from qcore import __version__

    content.hold_names(path, reserved=(METADATA,))
    texts = dict(content.metadata)
    if content.records:
        texts.setdefault("format", "pt")
        texts[VERSION_KEY] = __version__
        texts.update({SCHEME_KEY + name: text for name, text in content.records.items()})
    ordered = sorted(content.entries(), key=lambda entry: (_order(entry, path), entry.name))
    if content.digests:
        texts[VERSION_KEY] = __version__
        texts.update({DIGEST_KEY + entry.name: NO_DIGEST for entry in ordered})
    header = _header(ordered, texts, path)
    file.write(header)
    start = len(header)
    places: dict[str, int] = {}
    for entry in ordered:
        places[entry.name] = start
        start += entry.nbytes
    for group in content.groups:
        for name, stored in _pieces(group):
            file.seek(places[name])
            written = _written(file, stored)
            if content.digests:
                texts[DIGEST_KEY + name] = digest(written)
            else:
                for _ in written:
                    pass
    if content.digests:
        file.seek(0)
        file.write(_header(ordered, texts, path))


def _pieces(group: Group) -> Iterator[tuple[str, Iterable[Any]]]:
    """The bytes of each array of a group: streamed where the source has them as they are."""
    if group.raw is not None:
        yield group.entries[0].name, group.raw()
        return
    arrays = group.load()
    for entry in group.entries:
        yield entry.name, (_stored_bytes(arrays[entry.name], entry).data,)


def _written(file: BinaryIO, pieces: Iterable[Any]) -> Iterator[Any]:
    """Write pieces, and hand each on."""
    for piece in pieces:
        file.write(piece)
        yield piece


def _order(entry: Entry, path: str) -> int:
    from qcore import errors

    row = BY_NAME.get(entry.dtype)
    if row is None or entry.nbytes < 0:
        what = (
            f"{entry.dtype} elements"
            if row is None
            else f"{list(entry.shape)} {entry.dtype} elements: half a byte"
        )
        raise errors.build("file-cannot-hold", tensor=entry.name, path=path, format="safetensors", what=what)
    return row.order


def _header(ordered: list[Entry], texts: Mapping[str, str], path: str) -> bytes:
    root: dict[str, Any] = {METADATA: dict(sorted(texts.items()))} if texts else {}
    begin = 0
    for entry in ordered:
        end = begin + entry.nbytes
        code = BY_NAME[entry.dtype].code
        root[entry.name] = {"dtype": code, "shape": list(entry.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(root, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    Limits().hold("safetensors-header", len(text), path=path)
    return len(text).to_bytes(PREFIX_BYTES, "little") + text


def _stored_bytes(array: np.ndarray, entry: Entry) -> np.ndarray:
    data = byte_view(array)
    bits = BY_NAME[entry.dtype].bits
    return subbyte.pack(data, bits) if bits < 8 else data
