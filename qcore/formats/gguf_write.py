"""Writing GGUF: each tensor in the type that holds it exactly, the keys of the file it comes from, and no others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO

from qcore import errors
from qcore.formats import convention
from qcore.formats.content import byte_view
from qcore.formats.digests import NO_DIGEST, digest
from qcore.formats.gguf_header import ALIGNMENT, ALIGNMENT_KEY, MAGIC, padded
from qcore.formats.gguf_types import BY_DTYPE, BY_NAME, BlockType, scheme_of
from qcore.formats.gguf_values import LAYOUT, Layout, encoded, layout_of, string
from qcore.formats.limits import LIMITS, Limits

if TYPE_CHECKING:
    from qcore.formats.content import Content, Group

__all__ = ["DIGEST_KEY", "SCHEME_KEY", "sidecar_of", "write"]

SCHEME_KEY, DIGEST_KEY = "qcore.scheme.", "qcore.digest."
_ARCHITECTURE, _FILE_TYPE, _VERSION = (
    "general.architecture",
    "general.file_type",
    "general.quantization_version",
)
_UNKNOWN, _QUANTIZATION_VERSION = "unknown", "2"
_FORMAT_VERSION = 3
_LONGEST_NAME, _HIGHEST_RANK = LIMITS["gguf-name"].value, LIMITS["gguf-rank"].value
_LARGEST_ALIGNMENT = LIMITS["gguf-alignment"].value
_CARRIERS = ("format", "producer", "version")
_WEIGHT, _SCALE = ".weight", ".scale"

_LOG = logging.getLogger(__name__)

Pieces = Iterator[Any]


@dataclass(frozen=True, slots=True)
class _Part:
    """One tensor record of the file to be: its name, type and shape."""

    name: str
    type: BlockType
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return self.type.nbytes_of(prod(self.shape))


@dataclass(frozen=True, slots=True)
class _Tensor:
    """The parts of one tensor, and how their bytes come when their turn does."""

    parts: tuple[_Part, ...]
    load: Callable[[], tuple[Pieces, ...]]
    record: str | None = None


def sidecar_of(name: str) -> str:
    """Return the name of the factor beside an NVFP4 tensor.

    Examples
    --------
    >>> sidecar_of("blk.0.ffn_up.weight")
    'blk.0.ffn_up.scale'
    """
    return name.removesuffix(_WEIGHT) + _SCALE


def write(file: BinaryIO, path: str, content: Content) -> None:
    """Write a whole file: header, then tensors one after the other, each padded to the alignment.

    Texts that come from a GGUF file are its keys again, in their order and with their types, and its tensors keep
    their order; ``general.file_type`` follows the types of the tensors where these are others now.
    """
    layout = Layout({}, {})
    if LAYOUT in content.metadata:
        layout = layout_of(content.metadata[LAYOUT], path)
    tensors = [_tensor(group, path, layout) for group in content.groups]
    place = {name: index for index, name in enumerate(layout.tensors)}
    tensors.sort(key=lambda tensor: place.get(tensor.parts[0].name, len(place)))
    parts = [part for tensor in tensors for part in tensor.parts]
    parts.sort(key=lambda part: place.get(part.name, len(place)))
    _hold_parts(parts, path)
    kinds, texts = _keys(content, layout, parts)
    texts.update({SCHEME_KEY + t.parts[0].name: t.record for t in tensors if t.record is not None})
    if content.digests:
        texts.update({DIGEST_KEY + part.name: NO_DIGEST for part in parts})
    alignment = int(texts.get(ALIGNMENT_KEY, ALIGNMENT))
    header = _header(parts, kinds, texts, alignment)
    file.write(header)
    starts = _starts(parts, len(header), alignment)
    for tensor in tensors:
        for part, pieces in zip(tensor.parts, tensor.load(), strict=True):
            file.seek(starts[part.name])
            kept = _writing(file, pieces)
            if content.digests:
                texts[DIGEST_KEY + part.name] = digest(kept)
            else:
                for _ in kept:
                    pass
            file.write(bytes(padded(part.nbytes, alignment) - part.nbytes))
    if content.digests:
        file.seek(0)
        file.write(_header(parts, kinds, texts, alignment))


def _writing(file: BinaryIO, pieces: Pieces) -> Iterator[Any]:
    for piece in pieces:
        file.write(piece)
        yield piece


def _tensor(group: Group, path: str, layout: Layout) -> _Tensor:
    """Decide how a tensor is written: as it lies in another GGUF file, in blocks, or as plain numbers."""
    info = group.info
    name = info.name
    stored = group.as_stored
    if stored is not None and stored.format == "gguf" and all(part.type in BY_NAME for part in stored.parts):
        names = (name, sidecar_of(name))
        parts = tuple(
            _Part(new, BY_NAME[part.type], part.shape) for new, part in zip(names, stored.parts, strict=False)
        )
        reading = stored.parts
        return _Tensor(
            parts,
            lambda: tuple(part.read() for part in reading),
            _record(group, parts[0].type, Layout({}, {})),
        )
    if info.scheme is not None:
        return _quantized(group, path, layout)
    row = BY_DTYPE.get(str(info.dtype))
    if row is None:
        what = f"{info.dtype} elements"
        raise errors.build("file-cannot-hold", tensor=name, path=path, format="gguf", what=what)
    part = _Part(name, row, info.shape)
    if group.raw is not None:  # in pieces, from where it lies
        raw = group.raw
        return _Tensor((part,), lambda: (raw(),))
    return _Tensor((part,), lambda: (iter((byte_view(group.load()[name]).data,)),))


def _quantized(group: Group, path: str, layout: Layout) -> _Tensor:
    from qcore.formats.gguf_repack import blocks_of, type_of

    info = group.info
    assert info.scheme is not None
    row = type_of(info.scheme, info.codebook)
    length = info.shape[-1] if info.shape else 1
    if row is None or length % row.block:
        what = (
            f"a {info.scheme} tensor"
            if row is None
            else f"a row of {length} as {row.name}, blocks of {row.block}"
        )
        raise errors.build("file-cannot-hold", tensor=info.name, path=path, format="gguf", what=what)
    parts = [_Part(info.name, row, info.shape)]
    if info.scheme.is_two_level:
        parts.append(_Part(sidecar_of(info.name), BY_NAME["F32"], (1,)))

    def load() -> tuple[Pieces, ...]:
        import numpy as np

        tensor = convention.join(info, group.load().__getitem__)
        blocks = iter((blocks_of(row, tensor, path, info.name).data,))
        if tensor.global_scale is None:
            return (blocks,)
        return (blocks, iter((byte_view(np.array([tensor.global_scale], np.float32)).data,)))

    return _Tensor(tuple(parts), load, _record(group, row, layout))


def _record(group: Group, row: BlockType, layout: Layout) -> str | None:
    """A tensor's record, where reading its type alone would not give the same tensor back."""
    info = group.info
    if info.scheme is None:
        return None
    assert row.scheme is not None
    own = scheme_of(row.scheme)
    told = replace(info.scheme, tensor=None) if row.name == "NVFP4" else info.scheme
    if layout.tensors.get(info.name) == row.name:
        told = replace(
            told, store=own.store
        )  # it had none in the file it comes from: how it was packed since is no news
    return None if told == own and not info.rules else group.record


def _hold_parts(parts: list[_Part], path: str) -> None:
    """Refuse what ggml would refuse."""
    seen: set[str] = set()
    limits = Limits()
    limits.hold("gguf-tensors", len(parts), path=path)
    for part in parts:
        reason = None
        if part.name in seen:
            reason = "the name is taken by another tensor or a part of one"
        elif "\0" in part.name:
            reason = "ggml ends names at NUL"
        else:
            try:
                length = len(part.name.encode())
            except UnicodeEncodeError:
                reason = "the name is not valid Unicode"
            else:
                if length > _LONGEST_NAME:
                    reason = f"it has {length} bytes, ggml reads {_LONGEST_NAME}"
        if reason:
            raise errors.build("file-name-refused", path=path, name=ascii(part.name), reason=reason)
        if len(part.shape) > _HIGHEST_RANK:
            what = f"{len(part.shape)} dimensions"
            raise errors.build("file-cannot-hold", tensor=part.name, path=path, format="gguf", what=what)
        seen.add(part.name)


def _keys(content: Content, layout: Layout, parts: list[_Part]) -> tuple[dict[str, str], dict[str, str]]:
    """The keys to write, in their order: kinds of those that are no strings, and texts."""
    given = {key: text for key, text in content.metadata.items() if key != LAYOUT}
    if layout.keys:  # what a format in between says about itself
        given = {key: text for key, text in given.items() if key in layout.keys or key not in _CARRIERS}
    kinds = {key: kind for key, kind in layout.keys.items() if key in given}
    texts = {key: given[key] for key in kinds}
    if _ARCHITECTURE not in given:
        texts = {_ARCHITECTURE: _UNKNOWN, **texts}
    if given.get(_ARCHITECTURE, _UNKNOWN) == _UNKNOWN:
        _LOG.warning("tensors only: llama.cpp will not load this, it has no model's keys")
    texts.update(sorted((key, text) for key, text in given.items() if key not in texts))
    others = {part.name: part.type.name for part in parts} != dict(layout.tensors)
    if _VERSION not in given and others and not all(part.type.is_plain for part in parts):
        kinds[_VERSION], texts[_VERSION] = "u32", _QUANTIZATION_VERSION
    if ALIGNMENT_KEY in texts:
        alignment = texts[ALIGNMENT_KEY]
        number = int(alignment) if alignment.isdecimal() and len(alignment) < 8 else 0
        # ggml wants a power of two; other multiples of eight are read only
        if not 8 <= number <= _LARGEST_ALIGNMENT or number & (number - 1):
            texts[ALIGNMENT_KEY] = str(ALIGNMENT)
        kinds[ALIGNMENT_KEY] = "u32"
    if _FILE_TYPE in texts and others:
        texts[_FILE_TYPE] = _file_type(parts, texts[_FILE_TYPE])
    return kinds, texts


def _file_type(parts: list[_Part], before: str) -> str:
    """llama.cpp's number of what most elements of matrices are; the old one where the type has none."""
    counts: dict[str, int] = {}
    for part in parts:
        if len(part.shape) > 1:
            counts[part.type.name] = counts.get(part.type.name, 0) + prod(part.shape)
    if not counts:
        return before
    most = max(counts, key=lambda name: (counts[name], -BY_NAME[name].id))
    number = BY_NAME[most].file_type
    return before if number is None else str(number)


def _header(parts: list[_Part], kinds: Mapping[str, str], texts: Mapping[str, str], alignment: int) -> bytes:
    head = [MAGIC, _FORMAT_VERSION.to_bytes(4, "little")]
    head += [count.to_bytes(8, "little") for count in (len(parts), len(texts))]
    for key, text in texts.items():
        head += [string(key), encoded(key, kinds.get(key, "str"), text)]
    offset = 0
    for part in parts:
        head += [string(part.name), len(part.shape).to_bytes(4, "little")]
        head += [dim.to_bytes(8, "little") for dim in reversed(part.shape)]
        head += [part.type.id.to_bytes(4, "little"), offset.to_bytes(8, "little")]
        offset += padded(part.nbytes, alignment)
    header = b"".join(head)
    return header if not parts else header + bytes(padded(len(header), alignment) - len(header))


def _starts(parts: list[_Part], start: int, alignment: int) -> dict[str, int]:
    starts: dict[str, int] = {}
    for part in parts:
        starts[part.name] = start
        start += padded(part.nbytes, alignment)
    return starts
