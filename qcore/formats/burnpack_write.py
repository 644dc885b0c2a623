"""Writing burnpack: a whole new file, or an open one again with texts added or in another generation's form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from qcore import errors
from qcore.formats import convention
from qcore.formats.burnpack_ranges import ALIGNMENT, Descriptor, aligned
from qcore.formats.burnpack_words import NEWEST, Generation, generation, word_for
from qcore.formats.cbor_encode import Encoded, encode
from qcore.formats.content import Content, Group, byte_view
from qcore.formats.digests import NO_DIGEST, running
from qcore.formats.limits import Limits
from qcore.formats.protocol import Entry
from qcore.formats.source import pieces

if TYPE_CHECKING:
    from qcore.formats.burnpack_file import BurnpackFile

__all__ = ["rewrite", "write"]

LOOKUP_KEY, RULES_KEY, DIGEST_KEY, BURN_KEY = "qcore.lookup.", "qcore.rules.", "qcore.digest.", "qcore.burn"
_PREFIX: Final = b"NRUB\x01\x00"
_ZEROS: Final = bytes(ALIGNMENT)


@dataclass(frozen=True, slots=True)
class _Item:
    """One tensor to write: what stands for its type, what else its descriptor says, and its bytes, in pieces."""

    name: str
    word: Any
    shape: tuple[int, ...]
    nbytes: int
    data: Callable[[], Iterable[Any]]
    more: Mapping[str, Any]
    begin: int | None = None
    """Where it lies in the data, if that is settled."""


def write(file: BinaryIO, path: str, content: Content) -> None:
    """Write a whole file: metadata by name, data in the order of the content."""
    made_by = generation(content.options.get("burn"))
    texts = dict(content.metadata)
    groups = [_merged(group) for group in content.groups]
    replace(content, groups=tuple(groups)).hold_names(path, reserved=())
    items: list[_Item] = []
    for group in groups:
        info = group.info
        more = {key: info.extra[key] for key in ("param_id",) if key in info.extra}
        items.append(_Item(info.name, word_for(info, made_by, path), info.shape, group.entries[0].nbytes,
                           _pieces_of(group), more))  # fmt: skip
        if len(group.entries) > 1:
            table = group.entries[1]
            items.append(_Item(table.name, "F32", table.shape, table.nbytes, _table_of(group), {}))
            texts[LOOKUP_KEY + info.name] = info.codebook or ""
        if content.digests and info.rules:
            texts[RULES_KEY + info.name] = json.dumps(
                dict(info.rules), sort_keys=True, separators=(",", ":"), allow_nan=False
            )
    source = content.options.get("like")
    others = content.options.get("others", {}) if source is None else _others(source)
    if content.digests:
        texts[BURN_KEY] = made_by.burn
    _write_file(file, path, items, texts, others, made_by, digests=content.digests)


def rewrite(
    file: BinaryIO,
    path: str,
    stored: BurnpackFile,
    texts: Mapping[str, str],
    *,
    digests: bool = False,
    burn: str | None = None,
) -> None:
    """Write an open file again: byte for byte where nothing is asked for, else with texts or in another form.

    Everything that the file says is kept: the order of the data, identities of parameters, scalars, keys that are
    not known here. Data is copied in pieces, never loaded whole.
    """
    made_by, header = generation(burn), stored.header
    same_form = header.is_newest and made_by is NEWEST
    if same_form and not texts and not digests:
        file.writelines(pieces(stored.source, 0, stored.source.size))
        return
    told = {**header.texts, **texts}
    if header.legacy and made_by.aligned:
        told.pop("version", None)  # it would say that the data is not aligned
    if digests or BURN_KEY in told:
        told[BURN_KEY] = made_by.burn
    items = [
        _Item(
            tensor.name, None if same_form else _word_again(tensor, made_by, path), tensor.shape,
            tensor.end - tensor.begin, _raw_of(stored, tensor.name), _more(tensor),
            tensor.begin if same_form else None,
        )
        for tensor in sorted(header.tensors.values(), key=lambda tensor: (tensor.begin, tensor.end))
    ]  # fmt: skip
    kept = header.keys["tensors"] if same_form else None
    _write_file(file, path, items, told, _others(stored), made_by, digests=digests, descriptors=kept)


def _more(tensor: Descriptor) -> dict[str, Any]:
    known = {} if tensor.param_id is None else {"param_id": tensor.param_id}
    return {**known, **{key: Encoded(item) for key, item in tensor.unknown.items()}}


def _others(source: BurnpackFile) -> dict[str, Encoded]:
    """The keys of the root beside tensors and texts."""
    keys = source.header.keys
    return {key: Encoded(keys[key]) for key in keys if key not in ("tensors", "metadata")}


def _word_again(tensor: Descriptor, made_by: Generation, path: str) -> Any:
    """The type of a tensor of a file in another generation's words; types that are read as another one stay."""
    if tensor.scheme is not None:
        return word_for(_Quantized(tensor.name, tensor.scheme), made_by, path)
    assert tensor.word is not None
    word = tensor.word.word
    if not word.startswith("Bool"):
        return word
    if made_by.bool_has_store:
        return {"Bool": word[len("Bool(") : -1]}
    if word != "Bool(Native)":
        raise errors.build("file-cannot-hold", tensor=tensor.name, path=path,
                           format=f"burnpack (Burn {made_by.burn})", what=word)  # fmt: skip
    return "Bool"


@dataclass(frozen=True, slots=True)
class _Quantized:
    name: str
    scheme: Any


def _merged(group: Group) -> Group:
    """A group whose first entry is the one range of bytes that a quantized tensor has here."""
    if group.info.scheme is None:
        return group
    tables = [entry for entry in group.entries if entry.name == group.info.name + convention.TABLE]
    nbytes = sum(entry.nbytes for entry in group.entries if entry not in tables)
    return replace(group, entries=(Entry(group.info.name, "uint8", (nbytes,), nbytes), *tables))


def _pieces_of(group: Group) -> Callable[[], Iterable[Any]]:
    """The bytes of a group's tensor: streamed where the source has them as they are, else taken from its arrays."""

    def pieces() -> Iterator[Any]:
        if group.raw is not None:
            yield from group.raw()
            return
        name = group.info.name
        parts = (
            (name,)
            if group.info.scheme is None
            else (name, name + convention.SCALE, name + convention.GLOBAL)
        )
        arrays = group.load()
        for part in parts:
            if part in arrays:
                yield byte_view(arrays[part]).data

    return pieces


def _table_of(group: Group) -> Callable[[], Iterable[Any]]:
    return lambda: (byte_view(group.load()[group.info.name + convention.TABLE]).data,)


def _raw_of(stored: BurnpackFile, name: str) -> Callable[[], Iterable[Any]]:
    return lambda: stored.raw(name)


def _write_file(
    file: BinaryIO,
    path: str,
    items: Sequence[_Item],
    texts: dict[str, str],
    others: Mapping[str, Encoded],
    made_by: Generation,
    *,
    digests: bool,
    descriptors: bytes | None = None,
) -> None:
    """Write everything; digests have a fixed length and are filled in at the end, when they are known."""
    limits = Limits()
    if not made_by.aligned:
        texts["version"] = "0.19.0"  # what tells this form from a truncated file of a later one
    limits.hold("burnpack-tensors", len(items), path=path)
    limits.hold("burnpack-texts", len(texts), path=path)
    places = list(_placed(items, made_by, limits, path))
    if digests:
        texts.update({DIGEST_KEY + item.name: NO_DIGEST for item in items})

    def header() -> bytes:
        named = sorted(zip(items, places, strict=True), key=lambda pair: pair[0].name)
        said = Encoded(descriptors) if descriptors is not None else {
            item.name: {"dtype": item.word, "shape": item.shape, "data_offsets": [at, at + item.nbytes], **item.more}
            for item, at in named
        }  # fmt: skip
        root: dict[str, Any] = {"tensors": said}
        if texts:
            root["metadata"] = dict(sorted(texts.items()))
        data = encode({**root, **others})
        limits.hold("burnpack-metadata", len(data), path=path)
        head = _PREFIX + len(data).to_bytes(4, "little") + data
        return head + bytes(aligned(len(head)) - len(head)) if made_by.aligned else head

    head = header()
    size = len(head) + max((at + item.nbytes for item, at in zip(items, places, strict=True)), default=0)
    limits.hold("burnpack-file", size, path=path)
    file.write(head)
    written = 0
    for item, at in zip(items, places, strict=True):
        while written < at:
            written += file.write(_ZEROS[: at - written])
        taken = running()
        for piece in item.data():
            written += file.write(piece)
            if digests:
                taken.update(piece)
        if written != at + item.nbytes:
            got = written - at
            code = "data-short" if got < item.nbytes else "data-long"
            raise errors.build(code, tensor=item.name, got=got, expected=item.nbytes)
        if digests:
            texts[DIGEST_KEY + item.name] = taken.text()
    if digests:
        file.seek(0)
        file.write(header())


def _placed(items: Sequence[_Item], made_by: Generation, limits: Limits, path: str) -> Iterator[int]:
    at = 0
    for item in items:
        limits.hold("burnpack-tensor", item.nbytes, path=path, tensor=item.name)
        at = item.begin if item.begin is not None else aligned(at) if made_by.aligned else at
        yield at
        at += item.nbytes
