"""A .pt or .pth file, PyTorch's zip archive: the tensors under its tables, read without running anything.

``NAME/data.pkl`` describes tables of tensors as a pickle, which :mod:`qcore.formats.pt_machine` reads; each storage is
the member ``NAME/data/KEY``. Tensors are views of storages with an offset and strides, and may share one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats import pt_machine, pt_tensors, subbyte
from qcore.formats.content import byte_view
from qcore.formats.dtypes import BY_NAME, numpy_dtype
from qcore.formats.faults import malformed
from qcore.formats.protocol import Entry
from qcore.formats.source import pieces
from qcore.formats.zip_members import Member, members, stream

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.limits import Limits
    from qcore.formats.pt_tensors import Placed
    from qcore.formats.source import Source

__all__ = ["PtFile", "read"]

_PICKLE = "/data.pkl"
_WORDS = MappingProxyType({1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"})
_NOTHING: Mapping[str, str] = MappingProxyType({})


class PtFile:
    """The checked tensors of an open archive."""

    records = _NOTHING

    def __init__(self, source: Source, limits: Limits) -> None:
        found = members(source, limits)
        root = _root(found, source.name)
        if any(name.startswith((f"{root}/code/", f"{root}/constants.pkl")) for name in found):
            raise errors.build(
                "file-pickle-refused", variant="asks-for-more", path=source.name, found="a TorchScript program"
            )
        where = f"in its member {root + _PICKLE!r}"
        self._source = source
        self._big = _is_big_endian(source, found.get(f"{root}/byteorder"))
        described = found[root + _PICKLE]
        limits.hold("pt-pickle", described.size, path=source.name)
        value = pt_machine.run(_whole(source, described), source.name, where, limits)
        named = pt_tensors.flatten(value, source.name, where, source.path.stem, limits)
        self._placed = {
            name: pt_tensors.place(name, view, found, root, source.name, limits)
            for name, view in named.tensors.items()
        }
        entries = {name: _entry(name, at) for name, at in self._placed.items()}
        self.entries = MappingProxyType(entries)
        # a sum of the archive speaks of a tensor where that is the whole of its storage, as it lies
        self.digests = MappingProxyType(
            {name: f"crc32:{at.member.crc:08x}" for name, at in self._placed.items() if self._is_summed(name)}
        )
        self.metadata = MappingProxyType(dict(named.texts))
        left = f"{named.left_out} values of its tables are no tensors and no texts, and are left out"
        self.notes = (left,) if named.left_out else ()

    def array(self, name: str) -> np.ndarray:
        """Read one tensor as an array of its own, dense and in the machine's byte order."""
        import numpy as np

        at = self._placed[name]
        stored = np.empty(at.count // 2 if at.dtype == "float4_e2m1fn" else at.reach * at.width, np.uint8)
        if stored.size:
            self._source.read_into(at.start, stored.data)
        if at.dtype == "float4_e2m1fn":
            return subbyte.unpack(stored, 4, at.shape).view(numpy_dtype(at.dtype))
        if at.dtype == "bool" and stored.size and stored.max() > 1:
            byte = at.start + int((stored > 1).argmax())
            raise malformed(self._source.name, byte, "a truth value", int(stored.max()), "0 or 1", tensor=name)
        # strides are taken over plain numbers of that width: NumPy does not know every type by its code
        words: np.ndarray = stored.view(_WORDS[at.width])
        if not at.dense:
            steps = tuple(stride * at.width for stride in at.strides)
            words = np.ascontiguousarray(np.lib.stride_tricks.as_strided(words, at.shape, steps, writeable=False))
        array: np.ndarray = words.view(numpy_dtype(at.dtype)).reshape(at.shape)
        swapped = self._big != (sys.byteorder == "big") and array.dtype.itemsize > 1
        return array.byteswap(inplace=True) if swapped else array

    def position(self, name: str) -> int | None:
        """Offset of a tensor's first byte, where its elements lie one after the other, little-endian."""
        at = self._placed[name]
        plain = at.dense and BY_NAME.get(at.dtype, BY_NAME["float64"]).bits >= 8
        return at.start if plain and not (self._big and at.width > 1) else None

    def _is_summed(self, name: str) -> bool:
        at = self._placed[name]
        whole = at.member.crc and self.entries[name].nbytes == at.member.size
        return bool(whole and at.dense and not (self._big and at.width > 1))

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one tensor's bytes in C order, little-endian, piece by piece."""
        at, start = self._placed[name], self.position(name)
        if start is None:
            return iter((byte_view(self.array(name)).tobytes(),))
        return pieces(self._source, start, at.count * at.width)


def _root(found: Mapping[str, Member], path: str) -> str:
    roots = [name[: -len(_PICKLE)] for name in found if name.endswith(_PICKLE) and name.count("/") == 1]
    if len(roots) != 1:
        raise malformed(path, "in its directory", "the number of members NAME/data.pkl", len(roots), "one")
    return roots[0]


def _whole(source: Source, member: Member) -> bytes:
    return b"".join(stream(source, member, summed=False))


def _is_big_endian(source: Source, member: Member | None) -> bool:
    if member is None:
        return False  # archives of before 2.1 do not say, and were written on such machines
    if member.size > len("little"):
        raise malformed(source.name, f"in its member {member.name!r}", "the length", member.size, "6 or 3")
    word = _whole(source, member)
    if word not in (b"little", b"big"):
        raise malformed(source.name, f"in its member {member.name!r}", "the byte order", word, "little or big")
    return word == b"big"


def _entry(name: str, at: Placed) -> Entry:
    bits = 4 if at.dtype == "float4_e2m1fn" else 8 * at.width
    return Entry(name, at.dtype, at.shape, at.count * bits // 8)


def read(source: Source, limits: Limits, dtype: Any) -> PtFile:
    """Open the tensors of an archive."""
    return PtFile(source, limits)
