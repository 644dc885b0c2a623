"""ModelOpt: NVFP4 with ``weight_scale_2`` as a multiplier, and 8-bit floats with one scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    from qcore.formats.protocol import Entry

__all__ = ["NAME", "find"]

NAME = "modelopt"


def find(look: Look) -> Iterator[Found]:
    """Weights of four bits with two scales, weights of eight with one."""
    for prefix in look.prefixes("weight_scale_2"):
        weight, level = (
            look.entry(prefix + "weight", "uint8"),
            look.entry(prefix + "weight_scale_2", "float32"),
        )
        scale = look.entry(prefix + "weight_scale", "float8_e4m3fn")
        if weight is None or level is None or scale is None or not weight.shape:
            continue  # not quantized, or by a format of another kind
        found = _nvfp4(look, weight, scale, level)
        if found is not None:
            yield found
        elif look.declared:
            raise look.fault(
                scale.name,
                "the grid of scales",
                list(scale.shape),
                f"a sixteenth of {list(weight.shape)} x 2",
            )
    for prefix in look.prefixes("weight_scale"):
        weight = look.entry(prefix + "weight", "float8_e4m3fn")
        if weight is not None and (prefix + "weight_scale_2") not in look.plain:
            found = _fp8(look, weight, look.plain[prefix + "weight_scale"])
            if found is not None:
                yield found


def _nvfp4(look: Look, weight: Entry, scale: Entry, level: Entry) -> Found | None:
    shape = (*weight.shape[:-1], weight.shape[-1] * 2)
    count = 1
    for dim in level.shape:
        count *= dim
    if scale.shape != (*shape[:-1], -(-shape[-1] // 16)) or count != 1:
        return None

    def make(fetch: Fetch) -> Parts:
        one: Any = fetch(level.name).reshape(-1)[0]
        return Parts(fetch(weight.name), fetch(scale.name), one)

    parts = (weight.name, scale.name, level.name)
    return look.quantized(
        weight.name, parts, "e2m1/packed/b16:ue4m3/t:f32", shape, make, origin=f"{NAME} nvfp4"
    )


def _fp8(look: Look, weight: Entry, scale: Entry) -> Found | None:
    import numpy as np

    from qcore.formats.conventions.bits import along_rows

    scales = along_rows(scale, weight.shape)
    if scales is None:
        return None
    return look.quantized(
        weight.name, (weight.name, scale.name), f"e4m3/native/{scales.levels}", weight.shape,
        lambda fetch: Parts(fetch(weight.name).view(np.uint8), scales.lay(fetch(scale.name))),
        origin=f"{NAME} fp8", fidelity=scales.fidelity, rules={"tied": "row"} if scales.tied else None,
    )  # fmt: skip
