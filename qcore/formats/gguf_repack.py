"""Quantized tensors to and from rows of ggml's blocks; only bits move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from qcore import errors
from qcore.formats.foreign import ForeignParts, ForeignTensor
from qcore.formats.gguf_blocks import MINIMA, OFFSET_OF_8, SPLITS, halves
from qcore.formats.gguf_types import BY_NAME, BlockType, scheme_of
from qcore.plan import Plan, make_plan
from qcore.scheme import Codebook, QuantMode, QuantScheme, QuantValue, ScaleDtype
from qcore.tensor import QTensor, fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["blocks_of", "foreign_tensor", "quantized_tensor", "type_of"]

_STEP = 1 << 20
_LEAST_Q8: Final = -128
_BEYOND_Q2: Final = 2
_NAN_SCALE: Final = 0x7F


def quantized_tensor(
    row: BlockType,
    stored: np.ndarray,
    shape: tuple[int, ...],
    *,
    scheme: QuantScheme | None = None,
    global_scale: float | None = None,
    rules: Mapping[str, Any] | None = None,
) -> QTensor:
    """Make a tensor of rows of blocks.

    Parameters
    ----------
    row
        The type of the blocks.
    stored
        Their bytes.
    shape
        Logical shape; its last axis is a whole number of blocks.
    scheme
        What the tensor was before it was written; None means the type's own scheme, and where codes are met that it
        has no room for, its full-range sister.
    global_scale
        The factor that some NVFP4 tensors have beside them.
    rules
        How the tensor was made, for the record.
    """
    blocks = stored.reshape(-1, row.nbytes)
    with np.errstate(all="ignore"):  # an infinite scale is what the file says
        codes, scales = _split(row, blocks)
    own = scheme_of(str(row.scheme))
    if scheme is None:
        scheme, codes, scales = _room_for(row, own, codes, scales)
    codebook = Codebook.iq4_nl() if scheme.mode is QuantMode.LOOKUP else None
    plan = make_plan(scheme, shape, codebook=codebook)
    return QTensor.from_parts(
        values=_values(codes, scheme, own, plan),
        scales=scales.view(scheme.scale_dtype.numpy_dtype).reshape(scheme.params_shape(shape)),
        scheme=scheme,
        shape=shape,
        global_scale=global_scale,
        codebook=codebook,
        rules=rules,
    )


def _values(codes: np.ndarray, scheme: QuantScheme, own: QuantScheme, plan: Plan) -> np.ndarray:
    """Store codes, or words of them, as the scheme does."""
    if codes.dtype == np.uint32:
        stored = codes.view(fields.storage_dtype(make_plan(own, plan.shape)))
        if scheme.store == own.store:
            return stored.reshape(plan.storage_shape)
        own_plan = make_plan(own, plan.shape)
        codes = fields.unpack_fields(stored.reshape(own_plan.storage_shape), own_plan)
    if scheme.store.is_native:
        return codes.reshape(plan.storage_shape).view(fields.storage_dtype(plan))
    return fields.pack_fields(codes.reshape(plan.shape), plan)


def _split(row: BlockType, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take blocks apart, some at a time: the fields on their way need several times the room of the result."""
    split = SPLITS[row.name]
    if not len(blocks):
        codes, scales = split(np.zeros((1, row.nbytes), np.uint8))
        return codes[:0], scales[:0]
    step = max(1, _STEP // row.block)
    first = split(blocks[:step])
    if len(blocks) <= step:
        return first
    codes = np.empty((len(blocks), first[0].shape[1]), first[0].dtype)
    scales = np.empty((len(blocks), first[1].shape[1]), first[1].dtype)
    codes[:step], scales[:step] = first
    for start in range(step, len(blocks), step):
        codes[start : start + step], scales[start : start + step] = split(blocks[start : start + step])
    return codes, scales


def _room_for(
    row: BlockType, scheme: QuantScheme, codes: np.ndarray, scales: np.ndarray
) -> tuple[QuantScheme, np.ndarray, np.ndarray]:
    """Return the scheme whose range holds the codes: ggml's own quantizers stay within the symmetric one."""
    if row.name == "Q8_0" and codes.size and codes.min() == _LEAST_Q8:
        return scheme.with_value(QuantValue.Q8F), codes, scales
    if row.name == "TQ2_0" and codes.size and codes.max() == _BEYOND_Q2:
        return scheme.with_value(QuantValue.Q2F), -codes, -scales
    return scheme, codes, scales


def foreign_tensor(row: BlockType, stored: np.ndarray, shape: tuple[int, ...]) -> ForeignTensor:
    """Make a foreign tensor of rows of blocks."""
    length = shape[-1] // row.block * row.nbytes
    rows = stored.reshape(-1, length) if length else stored.reshape(0, 0)
    if row.name not in MINIMA:
        return ForeignTensor(row.name, shape, row.block, rows, _vectors(row))
    run, split = MINIMA[row.name]

    def parts(rows: np.ndarray) -> ForeignParts:
        blocks = rows.reshape(-1, row.nbytes)
        with np.errstate(all="ignore"):
            found = split(blocks if len(blocks) else np.zeros((1, row.nbytes), np.uint8))
        return ForeignParts(*(part[: len(blocks)] for part in found))

    def decode(rows: np.ndarray) -> np.ndarray:
        codes, scales, minima = split(rows.reshape(-1, row.nbytes))
        runs = codes.reshape(*scales.shape, run).astype(np.float32)
        runs *= scales[..., None]
        runs += minima[..., None]
        return runs.reshape(len(rows), -1)

    return ForeignTensor(row.name, shape, run, rows, decode, parts)


def _vectors(row: BlockType) -> Callable[[np.ndarray], np.ndarray]:
    """Codes that are indices of vectors: the tables are those of ggml's own package."""

    def decode(rows: np.ndarray) -> np.ndarray:
        try:
            from gguf import GGMLQuantizationType, quants
        except ImportError as error:
            purpose = f"dequantizing {row.name}"
            raise errors.build("package-missing", package="gguf", purpose=purpose) from error
        found: np.ndarray = quants.dequantize(rows, GGMLQuantizationType[row.name])
        return found

    return decode


def type_of(scheme: QuantScheme, codebook: str | None) -> BlockType | None:
    """Return the type that holds tensors of a scheme exactly; None where there is none."""
    block = scheme.block
    if block is None:
        return None
    extents = tuple(block.size)
    if scheme.mode is QuantMode.LOOKUP:
        # the table is ggml's own: its type has no room for another
        fits = codebook == "iq4-nl" and scheme.value.bits == 4 and scheme.tensor is None
        return BY_NAME["IQ4_NL"] if fits and extents == (32,) and block.dtype is ScaleDtype.F16 else None
    name = _FORMS.get((scheme.value.bits, scheme.value.is_minifloat, extents, block.dtype))
    if name is None or (scheme.tensor is not None and name != "NVFP4"):
        return None
    return BY_NAME[name]


_FORMS: Final[dict[tuple[int, bool, tuple[int, ...], ScaleDtype], str]] = {
    (8, False, (32,), ScaleDtype.F16): "Q8_0",
    (4, False, (32,), ScaleDtype.F16): "Q4_0",
    (4, True, (32,), ScaleDtype.UE8M0): "MXFP4",
    (4, True, (16,), ScaleDtype.UE4M3): "NVFP4",
}


def blocks_of(row: BlockType, tensor: QTensor, path: str, name: str) -> np.ndarray:
    """Write a tensor as rows of blocks.

    Raises
    ------
    qcore.errors.UnsupportedSchemeError
        ``file-cannot-hold`` for scales that ggml would read as something else.
    """
    scales = np.ascontiguousarray(tensor.scales).view(np.uint8).reshape(-1)
    if row.name == "NVFP4" and (scales >= _NAN_SCALE).any():
        at = int((scales >= _NAN_SCALE).argmax())
        what = f"the scale byte 0x{scales[at]:02x} (scale {at}), which ggml reads as another number"
        raise errors.build("file-cannot-hold", tensor=name, path=path, format="gguf", what=what)
    blocks = np.empty((tensor.size // row.block, row.nbytes), np.uint8)
    if not len(blocks):
        return blocks
    head = scales.size // len(blocks)
    blocks[:, :head] = scales.reshape(-1, head)
    if row.name == "Q8_0":
        blocks[:, head:] = tensor.codes.reshape(len(blocks), row.block).view(np.uint8)
        return blocks
    words = _words(row, tensor).reshape(len(blocks), -1)
    step = max(1, _STEP // row.block)
    for start in range(0, len(blocks), step):
        piece = words[start : start + step]
        if row.name == "Q4_0":
            piece = piece ^ OFFSET_OF_8
        blocks[start : start + step, head:] = halves(piece, 8 if row.name == "NVFP4" else 16)
    return blocks


def _words(row: BlockType, tensor: QTensor) -> np.ndarray:
    """The tensor's codes as words of eight neighbours along its rows."""
    own = scheme_of(str(row.scheme))
    values = np.ascontiguousarray(tensor.values)
    if tensor.scheme.store.packing_dim != 0:
        codes = tensor.codes.view(fields.code_dtype(make_plan(own, tensor.shape)))
        values = fields.pack_fields(codes, make_plan(own, tensor.shape))
    return values.view(np.uint8).reshape(-1).view("<u4")
