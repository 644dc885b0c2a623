"""Rows of the Burn backends that are only asked about: flex, and the family that runs on cubecl's kernels."""

from __future__ import annotations

from typing import Final

from qcore.capability import rules
from qcore.capability.families import (
    FP4,
    FP8,
    LOOKUP,
    MINIFLOATS,
    PACKED,
    TWO_LEVELS,
    U32,
    WIDE_SCALES,
    Family,
)
from qcore.capability.rows import Row, Rules, per_op
from qcore.capability.rules import MEANINGLESS, Rule, lacks, misread, within
from qcore.scheme import ScaleDtype

__all__ = ["BURN_TARGETS"]

_REVISION: Final = "Burn after 0.22.0-pre.2, September 2026"

# ---- flex: stores every value as one i8 and never looks at the mode ----

_FLEX_TABLE: Final = misread(
    "it ignores the mode and takes table indices for symmetric integers", Family(modes=LOOKUP)
)
_FLEX_MINIFLOATS: Final = misread(
    "it takes the codes of small floats for integers", Family(values=MINIFLOATS)
)
_FLEX_WIDE: Final = misread(
    "it accepts such block scales and computes a global scale that is subnormal, so that the scales are garbage",
    Family(levels=TWO_LEVELS, scales=WIDE_SCALES - {ScaleDtype.UE8M0}, calibrating=True),
)
_FLEX_UNREADABLE: Final = within(
    "unsupported-scheme", Family(values=MINIFLOATS, stores=U32), Family(stores=PACKED), variant="not-yet"
)
_FLEX_AT_REST: Final = (*MEANINGLESS, _FLEX_TABLE, _FLEX_MINIFLOATS)

_FLEX: Final = per_op(
    _FLEX_AT_REST,
    quantize=(
        rules.INPUT_DTYPE,
        rules.PARAMS_AND_CALIBRATION,
        rules.UE8M0,
        *_FLEX_AT_REST,
        rules.ABSMEAN_TWO_LEVEL,
        _FLEX_WIDE,
        rules.MISSING_GLOBAL,
        rules.SUPERFLUOUS_GLOBAL,
    ),
    load=(
        *MEANINGLESS,
        _FLEX_TABLE,
        rules.PACKED_OUTSIDE,
        _FLEX_UNREADABLE,
        _FLEX_MINIFLOATS,
        rules.UE8M0,
        rules.WIDE_TWO_LEVEL,
        rules.FLAT_U32_LINE,
    ),
)

# ---- cubecl: kernels over words; a word has one scale, a line is whole words ----

_UNSUPPORTED: Final = "unsupported-scheme"
_CUBECL_ROUNDS: Final = misread(
    "it rounds the values to integers before converting them",
    Family(values=FP8),
    Family(values=FP4, stores=U32),
)
_CUBECL_PACKS_INTEGERS: Final = misread(
    "it unpacks the fields of words as integers, not as codes of small floats",
    Family(values=MINIFLOATS, stores=U32),
)
_CUBECL_PAIRS: Final = misread(
    "it takes a byte per value where the store holds two, and splits values from scales at the wrong place",
    Family(values=FP4, stores=PACKED),
)
_CUBECL_LAST_AXIS: Final = misread(
    "it takes words for packed along the last axis, whatever the scheme says",
    Family(stores=U32, packed_outside=True),
)


def _cubecl(*device: Rule) -> Rules:
    """Spell out what the kernels refuse, and what a device's language adds."""
    return per_op(
        (*MEANINGLESS, lacks("flip")),
        quantize=(
            rules.INPUT_DTYPE,
            rules.PARAMS_AND_CALIBRATION,
            *MEANINGLESS,
            within(_UNSUPPORTED, Family(modes=LOOKUP)),
            rules.SUB_BYTE,
            rules.UE8M0,
            rules.ABSMEAN_TWO_LEVEL,
            rules.NOT_DIVISIBLE,
            rules.TWO_LEVEL_BLOCK_DTYPE,
            rules.MISSING_GLOBAL,
            rules.SUPERFLUOUS_GLOBAL,
            rules.U32_LINE,
            within(_UNSUPPORTED, Family(values=FP4, stores=PACKED)),
            rules.BLOCK_NOT_PACKED,
            _CUBECL_ROUNDS,
            *device,
        ),
        load=(
            rules.LOOKUP_STAYS,
            *MEANINGLESS,
            rules.SUB_BYTE,
            rules.UE8M0,
            rules.WIDE_TWO_LEVEL,
            _CUBECL_PAIRS,
            _CUBECL_LAST_AXIS,
            rules.U32_LINE,
            rules.NOT_DIVISIBLE,
            rules.BLOCK_NOT_PACKED,
            *device,
        ),
        dequantize=(
            *MEANINGLESS,
            rules.LOOKUP_NOT_U32,
            within(_UNSUPPORTED, Family(modes=LOOKUP), Family(values=FP4, stores=PACKED)),
            rules.SUB_BYTE,
            rules.UE8M0,
            rules.U32_LINE,
            rules.BLOCK_NOT_PACKED,
            _CUBECL_PACKS_INTEGERS,
            *device,
        ),
    )


_WGSL_NO_E4M3: Final = misread(
    "WGSL has no conversion from e4m3, and a UE4M3 scale comes out as NaN",
    Family(scales=frozenset({ScaleDtype.UE4M3})),
)

BURN_TARGETS: Final = (
    Row(
        name="burn-flex",
        summary="Burn's default CPU backend; keeps one byte per value whatever the store says",
        revision=_REVISION,
        versioned=True,
        rules=_FLEX,
    ),
    Row(
        name="burn-cuda",
        summary="Burn on NVIDIA GPUs, cubecl's kernels",
        revision=_REVISION,
        versioned=True,
        rules=_cubecl(),
    ),
    Row(
        name="burn-wgpu",
        summary="Burn on WebGPU, cubecl's kernels in WGSL",
        revision=_REVISION,
        versioned=True,
        rules=_cubecl(_WGSL_NO_E4M3),
    ),
    Row(
        name="burn-metal",
        summary="Burn on Apple GPUs, cubecl's kernels in Metal",
        revision=_REVISION,
        versioned=True,
        rules=_cubecl(),
    ),
    Row(
        name="burn-vulkan",
        summary="Burn on Vulkan, cubecl's kernels in SPIR-V",
        revision=_REVISION,
        versioned=True,
        rules=_cubecl(),
    ),
    Row(
        name="burn-cubecl",
        summary="what burn-cuda, burn-wgpu, burn-metal and burn-vulkan all take",
        revision=_REVISION,
        versioned=True,
        rules=_cubecl(_WGSL_NO_E4M3),
    ),
)
