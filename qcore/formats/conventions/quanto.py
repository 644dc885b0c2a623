"""Quanto: 8-bit codes under ``weight._data``, one scale a row under ``weight._scale``.

Its 4- and 2-bit weights have zero points, and lie in groups that do not tell the shape they came from: their arrays
stay plain ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    from qcore.formats.conventions.bits import Scales
    from qcore.formats.protocol import Entry

__all__ = ["NAME", "find"]

NAME = "quanto"
_VALUES = MappingProxyType({"int8": "q8f", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"})


def find(look: Look) -> Iterator[Found]:
    """Every module with codes of eight bits and scales beside them."""
    from qcore.formats.conventions.bits import along_rows

    for prefix in look.prefixes("weight._data"):
        codes, scales = look.entry(prefix + "weight._data", *_VALUES), look.entry(prefix + "weight._scale")
        if codes is None or scales is None or (prefix + "weight") in look.plain:
            continue
        laid = along_rows(scales, codes.shape)
        if laid is None:
            if look.declared:
                raise look.fault(scales.name, "the scales", list(scales.shape), f"one a row of {list(codes.shape)}")
            continue
        yield _joined(look, prefix + "weight", codes, scales, laid)


def _joined(look: Look, name: str, codes: Entry, scales: Entry, laid: Scales) -> Found:
    def make(fetch: Fetch) -> Parts:
        found = fetch(codes.name)
        return Parts(found if codes.dtype == "int8" else found.view("uint8"), laid.lay(fetch(scales.name)))

    text = f"{_VALUES[codes.dtype]}/native/{laid.levels}"
    rules = {"tied": "row"} if laid.tied else {}
    return look.quantized(
        name, (codes.name, scales.name), text, codes.shape, make,
        origin=NAME, fidelity=laid.fidelity, rules=rules,
    )  # fmt: skip
