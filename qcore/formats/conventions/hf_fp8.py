"""Hugging Face fp8 checkpoints: ``weight`` in E4M3 and ``weight_scale_inv``, which is a multiplier despite its name.

Scales belong to rectangles of 128 by 128, those at the edges partial. Where they are powers of two (``scale_fmt:
ue8m0``) a file may store them as F32, as E8M0, or as bytes: they stay what they are stored as.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qcore.formats.conventions.look import Found, Look, Parts

if TYPE_CHECKING:
    from qcore.formats.protocol import Entry

__all__ = ["NAME", "find"]

NAME = "hf-fp8"
_EXPONENTS = ("uint8", "float8_e8m0fnu")


def find(look: Look) -> Iterator[Found]:
    """Every weight with its scales; experts that are stacked have a name of their own in place of ``weight``."""
    for name, scale in look.plain.items():
        base = name.removesuffix("_scale_inv")
        if base == name and (name == "weight_scale" or name.endswith(".weight_scale")):
            base = name.removesuffix("_scale")
        weight = look.entry(base, "float8_e4m3fn", "float8_e5m2")
        if base == name or weight is None:
            continue
        found = _weight(look, weight, scale)
        if found is not None:
            yield found
        elif look.declared:
            allowed = f"one for each block of {list(weight.shape)}"
            raise look.fault(name, "the grid of scales", list(scale.shape), allowed)


def _weight(look: Look, weight: Entry, scale: Entry) -> Found | None:
    import numpy as np

    from qcore.formats.conventions.bits import FLOAT_SCALES, along_blocks, along_rows
    from qcore.formats.dtypes import numpy_dtype

    declared = look.config.get("weight_block_size")
    block = (128, 128)
    if isinstance(declared, list) and len(declared) == 2 and all(type(extent) is int for extent in declared):
        block = (declared[0], declared[1])
    exponents = scale.dtype in _EXPONENTS
    word = "ue8m0" if exponents else FLOAT_SCALES.get(scale.dtype)
    scales = None if word is None else along_blocks(scale, weight.shape, block, word)
    if scales is None:
        scales = along_rows(scale, weight.shape)
    if scales is None:
        return None
    value = "e4m3" if weight.dtype == "float8_e4m3fn" else "e5m2"
    kind = numpy_dtype("float8_e8m0fnu") if exponents else numpy_dtype(scale.dtype)
    return look.quantized(
        weight.name, (weight.name, scale.name), f"{value}/native/{scales.levels}", weight.shape,
        lambda fetch: Parts(fetch(weight.name).view(np.uint8), scales.lay(fetch(scale.name).view(kind))),
        origin=NAME, fidelity=scales.fidelity, rules={"tied": "row"} if scales.tied else None,
    )  # fmt: skip
