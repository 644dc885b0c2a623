"""What only a burnpack says of a tensor and of a file, carried through formats that have no word for it.

``qcore.param_ids`` is a JSON object of identities by name, as decimal texts: they are 64-bit numbers, which readers
of JSON round. ``qcore.scalars`` are the file's scalars, the CBOR of the burnpack in hexadecimal. Written to a burnpack
again, both are what they were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore.formats.convention import strict_object
from qcore.formats.faults import malformed

if TYPE_CHECKING:
    from qcore.formats.content import Content
    from qcore.formats.limits import Limits
    from qcore.formats.protocol import StoredReader, TensorInfo

__all__ = ["carried", "scalars_for", "with_ids"]

IDS, SCALARS = "qcore.param_ids", "qcore.scalars"
_KEY = "param_id"
_BELOW = 1 << 64


def carried(content: Content, like: StoredReader | None) -> Content:
    """Add the texts that carry identities and scalars; nothing where there are none."""
    ids = {
        group.info.name: str(group.info.extra[_KEY]) for group in content.groups if _KEY in group.info.extra
    }
    if ids:
        content = content.with_text(IDS, json.dumps(ids, sort_keys=True, separators=(",", ":")))
    scalars = None if like is None else _scalars(like)
    return content if not scalars else content.with_text(SCALARS, scalars.hex())


def _scalars(like: StoredReader) -> bytes | None:
    """The scalars of an open file, a burnpack or one that carries those of one, not looked at yet."""
    if like.format == "burnpack":
        own: bytes | None = getattr(like.stored, "scalars", None)
        return own
    text = like.stored.metadata.get(SCALARS)
    if text is None:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        where = f"in the text {SCALARS!r}"
        raise malformed(str(like.path), where, "the scalars", ascii(text[:40]), "hexadecimal") from None


def scalars_for(like: StoredReader | None, limits: Limits) -> Mapping[str, Any]:
    """The scalars that an open file of another format carries, checked, as a burnpack's writer takes them."""
    from qcore.formats.burnpack_header import hold_scalars
    from qcore.formats.cbor_encode import Encoded

    data = None if like is None or like.format == "burnpack" else _scalars(like)
    if like is None or data is None:
        return {}
    hold_scalars(data, f"{like.path}, in the text {SCALARS!r}", limits)
    return {"scalars": Encoded(data)}


def with_ids(
    infos: Mapping[str, TensorInfo], metadata: Mapping[str, str], path: str, limits: Limits
) -> Mapping[str, TensorInfo]:
    """Give tensors the identities that a file's texts carry."""
    if IDS not in metadata:
        return infos
    text, where = metadata[IDS], f"in the text {IDS!r}"
    limits.hold("config-json", len(text), path=path)
    found = dict(infos)
    for name, number in strict_object(text, path, where).items():
        whole = isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) <= 20
        if not whole or int(number) >= _BELOW:
            raise malformed(path, where, "an identity", ascii(str(number)[:40]), "64 bits, in decimal")
        if name in found:  # one whose tensor is gone says nothing
            extra = MappingProxyType({**found[name].extra, _KEY: int(number)})
            found[name] = replace(found[name], extra=extra)
    return found
