"""Rows of the backends. Reading the rules of an operation from the top gives the order of refusals."""

from __future__ import annotations

from typing import Final

from qcore.capability import rules
from qcore.capability.families import (
    BLOCKS,
    LOOKUP,
    MINIFLOATS,
    NATIVE,
    ONE_PER_TENSOR,
    Q2,
    Q4,
    Q8,
    SYMMETRIC,
    TWO_LEVELS,
    Family,
)
from qcore.capability.rows import BackendRow, Rules, per_op
from qcore.capability.rules import MEANINGLESS, Rule, outside, within
from qcore.scheme import QuantValue

__all__ = ["BACKENDS"]

BURN_NDARRAY_QUANTIZES: Final = (
    Family(values=Q8 | {QuantValue.Q2S}, stores=NATIVE, modes=SYMMETRIC, levels=ONE_PER_TENSOR),
    Family(values=Q8, stores=NATIVE, modes=SYMMETRIC, levels=BLOCKS | TWO_LEVELS),
)
BURN_NDARRAY_CANNOT_LOAD: Final = (Family(values=Q4 | Q2 | MINIFLOATS), Family(modes=LOOKUP))

_CALIBRATION: Final = (rules.ABSMEAN_TWO_LEVEL, rules.TWO_LEVEL_BLOCK_DTYPE, rules.OCP_ROUNDING)
_PARAMS: Final = (rules.MISSING_GLOBAL, rules.SUPERFLUOUS_GLOBAL)
_TABLE: Final = (rules.NEEDS_TABLE, rules.TABLE_WITHOUT_LOOKUP)


def _own(*device: Rule) -> Rules:
    """Spell out what qcore's own backends refuse, with what a kind of device lacks in its place of the order."""
    return per_op(
        (*MEANINGLESS, *device),
        quantize=(
            rules.INPUT_DTYPE,
            rules.PARAMS_AND_CALIBRATION,
            *MEANINGLESS,
            *_TABLE,
            *device,
            *_CALIBRATION,
            *_PARAMS,
        ),
        load=(rules.DOES_NOT_TRAVEL, *MEANINGLESS, *device, rules.TABLE_WITHOUT_LOOKUP),
    )


_BURN_NDARRAY: Final = per_op(
    MEANINGLESS,
    quantize=(
        rules.INPUT_DTYPE,
        rules.PARAMS_AND_CALIBRATION,
        rules.UE8M0,
        rules.SUPERFLUOUS_GLOBAL,
        outside("quantize-unsupported-scheme", *BURN_NDARRAY_QUANTIZES),
        *MEANINGLESS,
        rules.TABLE_WITHOUT_LOOKUP,
        rules.ABSMEAN_TWO_LEVEL,
        rules.RAGGED_CALIBRATION,
        rules.TWO_LEVEL_BLOCK_DTYPE,
        rules.OCP_ROUNDING,
        rules.MISSING_GLOBAL,
        rules.NEEDS_F32,
    ),
    load=(
        within("from-data-unsupported-scheme", *BURN_NDARRAY_CANNOT_LOAD),
        rules.NATIVE_PACKING,
        rules.PACKED_OUTSIDE,
        rules.UE8M0,
        *MEANINGLESS,
        rules.TABLE_WITHOUT_LOOKUP,
    ),
    strategy=(within("lookup-not-on-ndarray", Family(modes=LOOKUP)),),
    dequantize=(within("lookup-not-on-ndarray", Family(modes=LOOKUP)),),
)

BACKENDS: Final = (
    BackendRow(
        name="cpu",
        # "auto" takes what cpu takes: it falls back to it
        aliases=("auto",),
        summary="compiled kernels on the processor; everything the scheme model can express",
        loader="qcore.backends.cpu:open_backend",
        rules=_own(),
    ),
    BackendRow(
        name="opencl",
        summary="OpenCL kernels; the bits of cpu, without Native values narrower than a byte",
        loader="qcore.backends.opencl:open_backend",
        has_devices=True,
        rules=_own(rules.SUB_BYTE),
    ),
    BackendRow(
        name="burn-ndarray",
        aliases=("ndarray",),
        summary="exactly what Burn's ndarray backend takes (deprecated there from 0.22 in favour of flex)",
        revision="Burn after 0.22.0-pre.2, September 2026",
        versioned=True,
        loader="qcore.backends.cpu:open_backend",
        zero_substitute=0.10000000149011612,  # f32 of Burn's 0.1
        loads_native=True,
        exact_scale_count=True,
        rules=_BURN_NDARRAY,
    ),
    BackendRow(
        name="reference",
        summary="plain NumPy, written to be read; slow; what the tests hold the others to",
        loader="qcore.backends.reference:open_backend",
        rules=_own(),
    ),
)
