"""GGUF: llama.cpp's files, read block type by block type and written in the types that hold our schemes exactly.

Dimensions stand innermost first in the file and are turned around here, so a weight is ``[out, in]`` as in PyTorch.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore.formats import convention, gguf_split, gguf_write
from qcore.formats.dtypes import BY_NAME as DTYPES
from qcore.formats.dtypes import numpy_dtype
from qcore.formats.faults import malformed
from qcore.formats.gguf_header import Header, Slot, read_header
from qcore.formats.gguf_types import NVFP4_TWO_LEVELS, scheme_of
from qcore.formats.gguf_values import Texts
from qcore.formats.limits import Limits
from qcore.formats.protocol import AsStored, Entry, StoredPart, TensorInfo
from qcore.formats.source import PIECE, Shards, Source, pieces

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.foreign import ForeignTensor
    from qcore.tensor import QTensor

__all__ = ["GgufFile", "read", "write"]

write = gguf_write.write

_LOG = logging.getLogger(__name__)
_SIDECAR_SHAPE = (1,)


class GgufFile:
    """The checked tensors of an open GGUF file, or of a set of files that one model was split into."""

    def __init__(self, parts: Sequence[tuple[Source, Header]], limits: Limits) -> None:
        first, header = parts[0]
        if len(parts) > 1:
            header = gguf_split.whole(parts)
        sources = [source for source, _ in parts]
        self.source: Source | Shards = first if len(parts) == 1 else Shards(sources)
        self._name = first.name
        self._swapped = header.order == ">"
        self._slots = header.slots
        self._holders = {name: source for source, part in parts for name in part.slots}
        self.entries: Mapping[str, Entry] = MappingProxyType(
            {
                name: Entry(name, slot.type.dtype or slot.type.name, slot.shape, slot.nbytes)
                for name, slot in header.slots.items()
            }
        )
        self.metadata: Mapping[str, str] = Texts(first, header)
        self.records = self._after(gguf_write.SCHEME_KEY, header.items)
        self.digests = self._after(gguf_write.DIGEST_KEY, header.items)
        self.infos: Mapping[str, TensorInfo] = MappingProxyType(self._found(limits))

    def _after(self, prefix: str, keys: Mapping[str, Any]) -> Mapping[str, str]:
        return MappingProxyType(
            {key[len(prefix) :]: self.metadata[key] for key in keys if key.startswith(prefix)}
        )

    def _found(self, limits: Limits) -> dict[str, TensorInfo]:
        """Say what each tensor is; the factor beside an NVFP4 tensor is part of it."""
        sidecars = {
            sidecar: name
            for name, slot in self._slots.items()
            if slot.type.name == "NVFP4" and self._is_sidecar(sidecar := gguf_write.sidecar_of(name))
        }
        beside = {name: sidecar for sidecar, name in sidecars.items()}
        found = {}
        for name, slot in self._slots.items():
            if name not in sidecars:
                info = self._info(name, slot, beside.get(name))
                found[name] = self._recorded(info, slot, limits) if name in self.records else info
        return found

    def _is_sidecar(self, name: str) -> bool:
        slot = self._slots.get(name)
        return slot is not None and slot.type.dtype == "float32" and slot.shape == _SIDECAR_SHAPE

    def _info(self, name: str, slot: Slot, sidecar: str | None) -> TensorInfo:
        row = slot.type
        if row.is_plain:
            return TensorInfo(name, slot.shape, row.dtype, None, slot.nbytes, (name,))
        if row.is_foreign:
            return TensorInfo(
                name, slot.shape, "float32", None, slot.nbytes, (name,), origin=row.name, fidelity=row.fidelity,
            )  # fmt: skip
        text = str(row.scheme) if sidecar is None else NVFP4_TWO_LEVELS
        parts = (name,) if sidecar is None else (name, sidecar)
        nbytes = sum(self._slots[part].nbytes for part in parts)
        codebook = "iq4-nl" if "lookup" in text else None
        return TensorInfo(
            name, slot.shape, None, scheme_of(text), nbytes, parts,
            codebook=codebook, origin=row.name, fidelity=row.fidelity,
        )  # fmt: skip

    def _recorded(self, info: TensorInfo, slot: Slot, limits: Limits) -> TensorInfo:
        """Take what a tensor was when it was written, as long as the type is the one it would be written as."""
        path, name = self._name, info.name
        told = convention.described(name, self.records[name], path, limits)
        from qcore.formats.gguf_repack import type_of

        assert told.scheme is not None
        same = told.shape == info.shape and told.scheme.is_two_level == (len(info.parts) > 1)
        if not same or type_of(told.scheme, told.codebook) is not slot.type:
            found = f"{told.scheme} {list(told.shape)}"
            allowed = f"what {slot.type.name} {list(info.shape)} holds"
            raise malformed(path, f"in the record of {name!r}", "the tensor", found, allowed, tensor=name)
        return replace(info, scheme=told.scheme, rules=told.rules)

    def _words(self, slot: Slot, stored: Iterator[bytes], name: str) -> Iterator[bytes]:
        """Bytes as a little-endian file has them."""
        if not self._swapped:
            yield from stored
            return
        import numpy as np

        row = slot.type
        if row.words is None:
            allowed = "a type whose big-endian form is known"
            raise malformed(self._name, slot.start, "the type", row.name, allowed, tensor=name)
        for piece in stored:
            blocks = np.frombuffer(bytearray(piece), np.uint8).reshape(-1, row.nbytes)
            for offset, width, count in row.words:
                field = blocks[:, offset : offset + width * count]
                field[:] = field.reshape(len(blocks), count, width)[:, :, ::-1].reshape(len(blocks), -1)
            yield blocks.tobytes()

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one tensor's bytes as a little-endian file has them, piece by piece, each whole blocks."""
        slot = self._slots[name]
        whole_blocks = PIECE // slot.type.nbytes * slot.type.nbytes
        return self._words(slot, pieces(self._holders[name], slot.start, slot.nbytes, whole_blocks), name)

    def _stored(self, name: str) -> np.ndarray:
        import numpy as np

        slot = self._slots[name]
        stored = np.empty(slot.nbytes, np.uint8)
        if not self._swapped:
            self._holders[name].read_into(slot.start, stored.data)
            return stored
        at = 0
        for piece in self.raw(name):
            stored[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        return stored

    def array(self, name: str) -> np.ndarray:
        """Read one entry: a plain tensor's elements, or the bytes of one in blocks."""
        slot = self._slots[name]
        stored = self._stored(name)
        if slot.type.dtype is None:
            return stored
        dtype = numpy_dtype(slot.type.dtype)
        array: np.ndarray = stored.view(dtype).reshape(slot.shape)
        wide = DTYPES[slot.type.dtype].bits > 8
        return array.byteswap(inplace=True) if sys.byteorder == "big" and wide else array

    def tensor(self, name: str) -> np.ndarray | QTensor | ForeignTensor:
        """Read a tensor."""
        from qcore.formats import gguf_repack

        info, slot = self.infos[name], self._slots[name]
        if slot.type.is_plain:
            return self.array(name)
        stored = self.array(name)
        if slot.type.is_foreign:
            return gguf_repack.foreign_tensor(slot.type, stored, slot.shape)
        if slot.type.name == "NVFP4":
            self._tell_odd_scales(name, stored)
        level = self.array(info.parts[1])[0] if len(info.parts) > 1 else None
        scheme = info.scheme if name in self.records or level is not None else None
        return gguf_repack.quantized_tensor(
            slot.type, stored, slot.shape, scheme=scheme, global_scale=level, rules=info.rules
        )

    def _tell_odd_scales(self, name: str, stored: np.ndarray) -> None:
        count = int((stored.reshape(-1, 36)[:, :4] == 0xFF).sum())
        if count:
            _LOG.warning(
                "%s: %d scales of %r are the byte 0xFF, which ggml reads as 480; they are read as 0",
                self._name, count, name,
            )  # fmt: skip

    def as_stored(self, info: TensorInfo) -> AsStored:
        """A tensor's bytes as they lie, for a writer of this format."""
        parts = []
        for part in info.parts:
            slot = self._slots[part]

            def read(name: str = part) -> Iterator[bytes]:
                return self.raw(name)

            parts.append(StoredPart(part, slot.type.name, slot.shape, slot.nbytes, read))
        return AsStored("gguf", tuple(parts))


def read(source: Source, limits: Limits, dtype: Any) -> GgufFile:
    """Open the tensors of a file. ``dtype`` is for formats that lose it; this one names every type."""
    parts = gguf_split.parts(source, read_header(source, limits), limits)
    try:
        return GgufFile(parts, limits)
    except BaseException:
        for other, _ in parts:
            other.close()
        raise
