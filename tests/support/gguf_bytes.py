"""GGUF files put together field by field, right or wrong: nothing of the writer under test is used."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

TYPES = {
    "u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"),
    "f32": (6, "f"), "bool": (7, "B"), "str": (8, ""), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d"),
}  # fmt: skip
ARRAY = 9


@dataclass
class Tensor:
    """A tensor's record, its data, and whatever is to be written in place of the right numbers."""

    name: bytes = b"w"
    dims: Sequence[int] = (4,)  # innermost first, as the file has them
    type: int = 0
    data: bytes = bytes(16)
    offset: int | None = None
    rank: int | None = None


@dataclass
class File:
    """A whole file."""

    tensors: Sequence[Tensor] = ()
    keys: Sequence[tuple[bytes, bytes]] = ()
    version: int = 3
    order: str = "<"
    magic: bytes = b"GGUF"
    alignment: int = 32
    tail: bytes = b""
    counts: tuple[int | None, int | None] = field(default=(None, None))
    pads_last: bool = True

    def header(self) -> bytes:
        """Everything before the data, without padding."""
        pack = self._pack
        tensors, keys = self.counts
        head = [self.magic, pack("I", self.version)]
        head += [pack("Q", len(self.tensors) if tensors is None else tensors)]
        head += [pack("Q", len(self.keys) if keys is None else keys)]
        head += [self.text(key) + value for key, value in self.keys]
        offset = 0
        for tensor in self.tensors:
            rank = len(tensor.dims) if tensor.rank is None else tensor.rank
            head += [self.text(tensor.name), pack("I", rank), *(pack("Q", dim) for dim in tensor.dims)]
            head += [pack("I", tensor.type), pack("Q", offset if tensor.offset is None else tensor.offset)]
            offset += len(tensor.data) + -len(tensor.data) % self.alignment
        return b"".join(head)

    def build(self) -> bytes:
        """The file's bytes."""
        file = self.header()
        for index, tensor in enumerate(self.tensors):
            file += bytes(-len(file) % self.alignment) + tensor.data
            if index == len(self.tensors) - 1 and self.pads_last:
                file += bytes(-len(file) % self.alignment)
        return file + self.tail

    def text(self, data: bytes) -> bytes:
        """A string."""
        return self._pack("Q", len(data)) + data

    def scalar(self, kind: str, value: object) -> bytes:
        """A value with its type."""
        number, form = TYPES[kind]
        body = self.text(value) if isinstance(value, bytes) else self._pack(form, value)
        return self._pack("I", number) + body

    def array(self, kind: str, values: Sequence[object], count: int | None = None) -> bytes:
        """An array with its type."""
        number, form = TYPES[kind]
        body = b"".join(self.text(v) if isinstance(v, bytes) else self._pack(form, v) for v in values)
        return self._pack("IIQ", ARRAY, number, len(values) if count is None else count) + body

    def _pack(self, form: str, *values: object) -> bytes:
        return struct.pack(self.order + form, *values)
