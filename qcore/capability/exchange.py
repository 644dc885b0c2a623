"""Rows of file formats and servers that other programs define: the forms they store quantized weights in."""

from __future__ import annotations

from typing import Final

from qcore.capability.families import (
    BLOCKS,
    FP4,
    ONE_PER_TENSOR,
    PLAIN_SCALES,
    Q2,
    Q4,
    Q8,
    SYMMETRIC,
    TWO_LEVELS,
    Family,
    Form,
)
from qcore.capability.rows import Row, per_op
from qcore.capability.rules import MEANINGLESS, one_of_forms, only
from qcore.scheme import QuantValue, ScaleDtype

__all__ = ["EXCHANGE_TARGETS"]

_F16: Final = frozenset({ScaleDtype.F16})
_UE8M0: Final = frozenset({ScaleDtype.UE8M0})
_UE4M3: Final = frozenset({ScaleDtype.UE4M3})
_E4M3: Final = frozenset({QuantValue.E4M3})
_OF_16: Final = frozenset({(16,)})
_OF_32: Final = frozenset({(32,)})
_UP_TO_128: Final = 128


def _blocks(
    values: frozenset[QuantValue],
    scales: frozenset[ScaleDtype],
    extents: frozenset[tuple[int, ...]] | None = None,
    levels: frozenset[str] = BLOCKS,
) -> Family:
    return Family(values=values, modes=SYMMETRIC, levels=levels, scales=scales, extents=extents)


_GGUF_FORMS: Final = (
    Form("Q8_0", _blocks(Q8, _F16, _OF_32)),
    Form("Q4_0", _blocks(Q4, _F16, _OF_32)),
    Form("MXFP4", _blocks(FP4, _UE8M0, _OF_32)),
    Form("NVFP4", _blocks(FP4, _UE4M3, _OF_16, BLOCKS | TWO_LEVELS), row_multiple=64),
)
_MXFP4: Final = Form("mxfp4-pack-quantized", _blocks(FP4, _UE8M0, _OF_32))
_NVFP4: Final = Form("nvfp4-pack-quantized", _blocks(FP4, _UE4M3, _OF_16, TWO_LEVELS))
_INT8: Final = Form("int-quantized", _blocks(Q8, PLAIN_SCALES, levels=BLOCKS | ONE_PER_TENSOR))
_FP8: Final = Form(
    "float-quantized", _blocks(_E4M3, PLAIN_SCALES, levels=BLOCKS | ONE_PER_TENSOR), max_block_rank=2
)

_CT_FORMS: Final = (
    _INT8,
    _FP8,
    Form("pack-quantized", _blocks(Q8 | Q4 | Q2, PLAIN_SCALES)),
    Form("mxfp8-quantized", _blocks(_E4M3, _UE8M0, _OF_32)),
    _MXFP4,
    _NVFP4,
)
_VLLM_FORMS: Final = (
    _INT8,
    _FP8,
    Form("pack-quantized", _blocks(Q4, PLAIN_SCALES), max_extent=_UP_TO_128),
    _MXFP4,
    _NVFP4,
)

_GGUF_TAKES: Final = (
    "it holds Q8 and Q4 values in blocks of 32 with F16 scales, E2M1 in blocks of 32 with UE8M0 scales, and E2M1 in "
    "blocks of 16 with UE4M3 scales"
)
_CT_TAKES: Final = (
    "it holds integers with F32, F16 or BF16 scales per group of a row (8 bits also per tensor), E4M3 per tensor or "
    "block, and the forms of mxfp8, mxfp4 and nvfp4"
)
_VLLM_TAKES: Final = (
    "it reads 4-bit integers in groups up to 128, 8-bit ones and E4M3 with F32, F16 or BF16 scales, and the forms of "
    "mxfp4 and nvfp4"
)
_LOAD_ONLY: Final = (only("load"),)

EXCHANGE_TARGETS: Final = (
    Row(
        name="gguf",
        summary="ggml's file format: what can be written without requantizing",
        revision="ggml, autumn 2026 (gguf 0.19.0)",
        versioned=True,
        rules=per_op(_LOAD_ONLY, load=(*MEANINGLESS, *one_of_forms(_GGUF_FORMS, _GGUF_TAKES, (1, 4)))),
    ),
    Row(
        name="compressed-tensors",
        summary="the safetensors convention of the compressed-tensors library, linear weights [out, in]",
        revision="compressed-tensors 0.20.1",
        versioned=True,
        rules=per_op(_LOAD_ONLY, load=(*MEANINGLESS, *one_of_forms(_CT_FORMS, _CT_TAKES, (2, 2)))),
    ),
    Row(
        name="vllm",
        summary="vLLM, reading compressed-tensors checkpoints",
        revision="compressed-tensors 0.20.1, autumn 2026",
        versioned=True,
        rules=per_op(_LOAD_ONLY, load=(*MEANINGLESS, *one_of_forms(_VLLM_FORMS, _VLLM_TAKES, (2, 2)))),
    ),
)
