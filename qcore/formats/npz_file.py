"""An .npz archive: arrays by name, and one member of ours that says what plain arrays cannot.

NumPy's format has no names for bfloat16 and small floats, so their bits are stored as unsigned integers. The member
``__qcore__`` is a JSON object: ``dtypes`` names those arrays' elements, ``schemes`` holds the records of quantized
tensors, ``metadata`` the caller's texts, ``digests`` one digest for each array. NumPy hands it out as bytes and
reads the rest.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from qcore import errors
from qcore.formats import convention, npy_header
from qcore.formats.content import byte_view
from qcore.formats.digests import running
from qcore.formats.dtypes import BY_NAME, CARRIERS
from qcore.formats.dtypes import parse as parse_dtype
from qcore.formats.faults import malformed
from qcore.formats.npy_file import array_header, decode
from qcore.formats.protocol import Entry
from qcore.formats.zip_members import Member, members, stream

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.content import Content, Group
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source

__all__ = ["NpzFile", "read", "write"]

_RECORD = "__qcore__"
_SUFFIX = ".npy"
_HEAD = 1 << 16
# zip's first day: an archive says nothing about when it was made
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


class NpzFile:
    """The checked entries of an open .npz archive."""

    def __init__(self, source: Source, limits: Limits, dtype: Any) -> None:
        self._source = source
        self._limits = limits
        self._asked = dtype
        found = members(source, limits)
        record = self._record(found.pop(_RECORD, None))
        self.metadata = _texts(record, "metadata", source.name)
        self.digests = _texts(record, "digests", source.name)
        self._dtypes = _texts(record, "dtypes", source.name)
        schemes = _objects(record, "schemes", source.name)
        self.records = MappingProxyType({name: json.dumps(text) for name, text in schemes.items()})
        self._members: dict[str, Member] = {}
        for name, member in found.items():
            if not name.endswith(_SUFFIX):
                raise malformed(
                    source.name, "in its directory", "a member", repr(name), f"arrays, NAME{_SUFFIX}"
                )
            self._members[name[: -len(_SUFFIX)]] = member
        self._headers = {name: self._header(name) for name in self._members}
        entries = {name: Entry(name, h.dtype, h.shape, h.nbytes) for name, h in self._headers.items()}
        self.entries = MappingProxyType(entries)

    def _record(self, member: Member | None) -> dict[str, Any]:
        if member is None:
            return {}
        path = self._source.name
        self._limits.hold("npz-record", member.size, path=path)
        try:
            text = b"".join(stream(self._source, member)).decode()
        except UnicodeDecodeError as problem:
            raise malformed(path, f"in its member {_RECORD!r}", "the text", problem.reason, "UTF-8") from None
        return convention.strict_object(text, path, f"in its member {_RECORD!r}")

    def _header(self, name: str) -> npy_header.ArrayHeader:
        member, source = self._members[name], self._source
        dtype = self._dtypes.get(name, self._dtype_asked(name))
        if member.deflated:
            head = _head(stream(source, member))

            def read(offset: int, count: int) -> bytes:
                return head[offset : offset + count]
        else:

            def read(offset: int, count: int) -> bytes:
                return source.read(member.start + offset, count)

        return npy_header.parse(
            read,
            member.size,
            source.name,
            self._limits,
            tensor=name,
            dtype=None if dtype is None else parse_dtype(dtype),
        )

    def _dtype_asked(self, name: str) -> Any:
        return self._asked.get(name) if isinstance(self._asked, Mapping) else self._asked

    def array(self, name: str) -> np.ndarray:
        """Read one array and hold its check sum."""
        import numpy as np

        header, pieces = self._headers[name], bytearray()
        for piece in stream(self._source, self._members[name]):
            pieces += piece
        stored = np.frombuffer(pieces, np.uint8)[header.start :]
        return decode(stored, header, self._source.name, name)

    def in_order(self, name: str) -> bool:
        """Whether one array's elements lie in C order, little-endian."""
        header = self._headers[name]
        return not header.fortran and not header.big_endian

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one array's bytes, piece by piece."""
        skip = self._headers[name].start
        for piece in stream(self._source, self._members[name]):
            yield piece[skip:]
            skip = max(0, skip - len(piece))


def _head(pieces: Iterator[bytes]) -> bytes:
    head = bytearray()
    for piece in pieces:
        head += piece
        if len(head) > _HEAD + 16:
            break
    return bytes(head)


def _objects(record: Mapping[str, Any], key: str, path: str) -> dict[str, Any]:
    found = record.get(key, {})
    if not isinstance(found, dict):
        raise malformed(
            path, f"in its member {_RECORD!r}", f"the value of {key}", type(found).__name__, "an object"
        )
    return found


def _texts(record: Mapping[str, Any], key: str, path: str) -> Mapping[str, str]:
    found = _objects(record, key, path)
    for name, text in found.items():
        if not isinstance(text, str):
            raise malformed(path, f"in its member {_RECORD!r}", f"{key} of {name!r}", repr(text), "a text")
    return MappingProxyType(found)


def read(source: Source, limits: Limits, dtype: Any) -> NpzFile:
    """Open the entries of an archive; ``dtype``, one for all or by name, is what elements are where that is lost."""
    return NpzFile(source, limits, dtype)


def write(file: BinaryIO, path: str, content: Content) -> None:
    """Write a whole archive: arrays as they are, stored, in the order of their names; the record at the end."""
    content.hold_names(path, reserved=(_RECORD,))
    dtypes: dict[str, str] = {}
    digests: dict[str, str] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for group in content.groups:
            _write_group(archive, path, group, dtypes, digests)
        record = _record_text(content, dtypes, digests if content.digests else {})
        if record is not None:
            with archive.open(_row(_RECORD, path), "w") as member:
                member.write(record.encode())


def _write_group(
    archive: zipfile.ZipFile, path: str, group: Group, dtypes: dict[str, str], digests: dict[str, str]
) -> None:
    arrays = {} if group.raw is not None else group.load()
    for entry in group.entries:
        row = BY_NAME.get(entry.dtype)
        carrier = entry.dtype
        if row is not None and row.is_extension:
            dtypes[entry.name] = entry.dtype
            carrier = CARRIERS[max(row.bits, 8) // 8]
        pieces = (byte_view(arrays[entry.name]).data,) if group.raw is None else group.raw()
        taken = running()
        # the length is known beforehand, and the larger form of the header makes room for any
        with archive.open(_row(entry.name + _SUFFIX, path), "w", force_zip64=True) as member:
            member.write(array_header(carrier, entry.shape))
            for piece in pieces:
                member.write(piece)
                taken.update(piece)
        digests[entry.name] = taken.text()


def _row(name: str, path: str) -> zipfile.ZipInfo:
    if "\0" in name:
        raise errors.build(
            "file-name-refused", path=path, name=ascii(name), reason="zip archives end names at NUL"
        )
    row = zipfile.ZipInfo("member", _DATE)
    row.filename = row.orig_filename = name  # the constructor would turn the system's separators
    row.external_attr = _MODE
    row.create_system = 3  # the same bytes on every system
    return row


def _record_text(content: Content, dtypes: Mapping[str, str], digests: Mapping[str, str]) -> str | None:
    from qcore import __version__

    schemes = {name: json.loads(text) for name, text in content.records.items()}
    fields = {"dtypes": dtypes, "schemes": schemes, "metadata": dict(content.metadata), "digests": digests}
    record: dict[str, Any] = {key: value for key, value in fields.items() if value}
    if not record:
        return None
    return json.dumps({"qcore": __version__, **record}, sort_keys=True, separators=(",", ":"))
