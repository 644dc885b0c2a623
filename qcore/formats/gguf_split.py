"""A model that was split into several GGUF files: ``NAME-00001-of-00003.gguf`` and its like, read as one.

The first part has the model's keys; each says under ``split.no`` and ``split.count`` which part it is, of how many,
and under ``split.tensors.count`` how many tensors there are in all. Opening any part opens the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from qcore import errors
from qcore.formats.faults import malformed
from qcore.formats.gguf_header import Header, Slot, read_header
from qcore.formats.gguf_values import Texts
from qcore.formats.limits import Limits
from qcore.formats.source import Source

__all__ = ["parts", "whole"]

_NUMBER, _COUNT, _TENSORS = "split.no", "split.count", "split.tensors.count"
_KEYS = (_NUMBER, _COUNT, _TENSORS)
_NAME = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
_WHOLE = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")
_WHERE = "in its keys"


def parts(source: Source, header: Header, limits: Limits) -> list[tuple[Source, Header]]:
    """Open what a file is a part of: every part with its header, in order; the file alone where it is whole.

    Parts that were opened here are closed again where one of them is refused.
    """
    if _COUNT not in header.items or _told(source, header, _COUNT) == 1:
        return [(source, header)]
    path, count = source.name, _told(source, header, _COUNT)
    limits.hold("shards", count, path=path)
    named = _NAME.fullmatch(source.path.name)
    if named is None or int(named["count"]) != count:
        raise malformed(path, _WHERE, "the name of one part of " + str(count), source.path.name, _shape(count))
    stem, mine = named["stem"], int(named["number"])
    found: list[tuple[Source, Header]] = []
    try:
        for number in range(1, count + 1):
            if number == mine:
                found.append((source, header))
                continue
            sibling = source.path.with_name(f"{stem}-{number:05d}-of-{count:05d}.gguf")
            if not sibling.exists():
                raise errors.build("file-part-missing", path=path, number=mine, count=count, missing=sibling.name)
            other = Source(sibling)
            try:
                found.append((other, read_header(other, limits)))
            except BaseException:
                other.close()
                raise
        _hold(found, limits)
    except BaseException:
        for other, _ in found:
            if other is not source:
                other.close()
        raise
    return found


def _shape(count: int) -> str:
    return f"NAME-00001-of-{count:05d}.gguf and so on"


def _told(source: Source, header: Header, key: str) -> int:
    """A number under a key, whatever kind of whole number it is."""
    item = header.items.get(key)
    if item is None or item.kind not in _WHOLE:
        kind = "missing" if item is None else item.kind
        raise malformed(source.name, _WHERE, f"the key {key!r}", kind, "a whole number")
    return int(Texts(source, header)[key])


def _hold(found: Sequence[tuple[Source, Header]], limits: Limits) -> None:
    """Hold the parts against each other."""
    first, head = found[0]
    total = _told(first, head, _TENSORS)
    limits.hold("gguf-tensors", total, path=first.name)
    for number, (source, header) in enumerate(found):
        for key, expected in ((_NUMBER, number), (_COUNT, len(found)), (_TENSORS, total)):
            got = _told(source, header, key)
            if got != expected:
                raise malformed(source.name, _WHERE, f"the key {key!r}", got, expected)
        if header.order != head.order:
            raise malformed(source.name, 4, "the byte order", header.order, f"{head.order}, as in its first part")
    holders: dict[str, Source] = {}
    for source, header in found:
        for name in header.slots:
            if name in holders:
                where = f"in the tensor {name!a}"
                raise malformed(source.name, where, "the name", f"that of one in {holders[name].name}", "each once")
            holders[name] = source
    if len(holders) != total:
        raise malformed(first.name, _WHERE, f"the key {_TENSORS!r}", total, f"{len(holders)}, as there are")


def whole(found: Sequence[tuple[Source, Header]]) -> Header:
    """The header of the model as if it had never been split."""
    slots: Mapping[str, Slot] = {name: slot for _, header in found for name, slot in header.slots.items()}
    head = found[0][1]
    items = {key: item for key, item in head.items.items() if key not in _KEYS}
    return replace(head, items=items, slots=dict(slots))
