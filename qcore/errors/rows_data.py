"""Rows of quantized data as bytes, and of operations on it."""

from __future__ import annotations

from qcore.errors.base import ErrorDoc, FormatError, ShapeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="data-short",
        family=FormatError,
        message="quantized tensor data is shorter than its scheme's parameters",
        variants={
            "values": "the data holds {got} bytes, its scheme and shape take {expected}",
        },
        cause=(
            "The scales are found from the end of the bytes, and there are not enough bytes for them or "
            "for the values."
        ),
        when="from_data, list(data) and readers, with too few bytes for the scheme and shape.",
        solutions=(
            "Compare with the length the scheme and shape take: values, then scales, then the global scale.",
            "Check that scheme and shape belong to these bytes: another store or block changes the length.",
            "If the bytes come from a file, verify it: qcore verify.",
        ),
        refs=("data-long", "global-short", "block-scales-short"),
    ),
    ErrorDoc(
        code="global-short",
        family=FormatError,
        message="quantized parameter buffer is shorter than the scheme's global scale",
        cause="A two-level scheme ends with one f32 global scale; fewer than four bytes are there.",
        when="Splitting the bytes of a two-level tensor that are too short for their last region.",
        solutions=(
            "Check whether the bytes were made with a one-level scheme.",
            "If the bytes come from a file, verify it: qcore verify.",
        ),
        refs=("data-short", "missing-global-scale"),
    ),
    ErrorDoc(
        code="block-scales-short",
        family=FormatError,
        message="quantized parameter buffer is shorter than the scheme's block scales",
        cause=(
            "Before the global scale there must be one scale per block of the grid, each of its dtype's "
            "width."
        ),
        when="Splitting the bytes of a two-level tensor that hold the global scale but not all block scales.",
        solutions=(
            "Check the block and its scale dtype: they decide how many scales there are and how wide.",
            "If the bytes come from a file, verify it: qcore verify.",
        ),
        refs=("data-short",),
    ),
    ErrorDoc(
        code="data-long",
        family=FormatError,
        message="the data holds {got} bytes, its scheme and shape take exactly {expected}",
        cause=(
            "Reading never guesses which bytes are too many: scales are located from the end, so all would "
            "shift."
        ),
        when="from_data and readers, with more bytes than the scheme and shape take.",
        solutions=(
            "Check the shape and the store: words are padded per line, not once for the tensor.",
            "Cut padding that another writer appended.",
        ),
        refs=("data-short",),
    ),
    ErrorDoc(
        code="data-values-count",
        family=FormatError,
        message="{count} quantized values do not fill a tensor of shape {shape}",
        cause="There must be one code per element.",
        when=(
            "TensorData.quantized, pack and unpack, with another number of codes than the shape has elements."
        ),
        solutions=(
            "Pass codes for every element, unpacked, in C order.",
            "Check the shape.",
        ),
        refs=("wrong-scale-count",),
    ),
    ErrorDoc(
        code="data-needs-global",
        family=FormatError,
        message="{scheme} requires a per-tensor scale",
        cause="The bytes of a two-level tensor end with its global scale.",
        when="TensorData.quantized of a two-level scheme without global_scale.",
        solutions=(
            "Give global_scale; 1.0 if the block scales are absolute.",
            "Use a one-level scheme.",
        ),
        refs=("missing-global-scale", "data-superfluous-global"),
    ),
    ErrorDoc(
        code="data-superfluous-global",
        family=FormatError,
        message="{scheme} does not take a per-tensor scale",
        cause="The bytes of a one-level tensor have no place for a global scale.",
        when="TensorData.quantized with global_scale and a scheme without two levels.",
        solutions=(
            "Leave global_scale out; multiply the scales by it first if they are relative to it.",
            "Add the tensor level: scheme.per_tensor(ScaleDtype.F32).",
        ),
        refs=("superfluous-global-scale", "data-needs-global"),
    ),
    ErrorDoc(
        code="data-value-type",
        family=FormatError,
        message="Invalid quantized type",
        cause="Codes are whole numbers of at most eight bits; floats and wider types are not codes.",
        when="TensorData.quantized and pack with codes whose dtype is not an integer type.",
        solutions=(
            "Quantize floats with qcore.quantize.",
            "Convert codes to int8, or to uint8 for minifloats and lookup indices.",
        ),
        refs=("code-out-of-range", "input-dtype"),
    ),
    ErrorDoc(
        code="would-split-block",
        family=ShapeError,
        message="{operation} would split a block: {reason}",
        cause=(
            "Codes and scales can stay as they are only where whole blocks (and whole words) map to whole "
            "ones."
        ),
        when="reshape, slicing and concat of a quantized tensor across the edges of its blocks.",
        solutions=(
            (
                "Dequantize, do it on the floats, and quantize again: "
                "qcore.quantize(q.dequantize().reshape(...), q.scheme)."
            ),
            "Cut at multiples of the block's extents.",
            "Do it before quantizing.",
        ),
        refs=("index-invalid", "concat-mismatch"),
    ),
    ErrorDoc(
        code="axis-invalid",
        family=ShapeError,
        message="axes {axis} do not fit a tensor of {rank} dimensions",
        cause="An axis lies outside the tensor, or the axes of a transposition do not name each one once.",
        when="transpose, concat, pack and unpack with such axes.",
        solutions=(
            "Name axes from 0 to rank - 1, or from -rank to -1.",
            "For a transposition name every axis exactly once, or none to reverse them all.",
        ),
        refs=("shape-invalid",),
    ),
    ErrorDoc(
        code="shape-invalid",
        family=ShapeError,
        message="{shape} is not a shape",
        variants={
            "size": "shape {shape} does not hold {count} elements",
        },
        cause="A shape is a list of whole numbers, none negative, whose product is the number of elements.",
        when="TensorData, reshape, pack, unpack and check with such a shape.",
        solutions=(
            "Compare with q.shape and q.size.",
            "One dimension of a reshape may be -1 and is then computed.",
        ),
        refs=("axis-invalid", "data-values-count"),
    ),
    ErrorDoc(
        code="index-invalid",
        family=ShapeError,
        message="index {index} does not fit shape {shape}",
        cause="A quantized tensor is indexed by whole numbers in range, slices and one ellipsis.",
        when="q[index] with an index out of range, too many indices, arrays, booleans or None.",
        solutions=(
            "Use slices whose ends are multiples of the block's extents.",
            "For anything else, dequantize first: q.dequantize()[index].",
        ),
        refs=("would-split-block",),
    ),
    ErrorDoc(
        code="shape-mismatch",
        family=ShapeError,
        message="a tensor of shape {expected} cannot be compared with one of shape {got}",
        cause="Errors are measured element by element.",
        when="compare with a quantized tensor or an array of another shape.",
        solutions=(
            "Compare with what was made of this tensor.",
            "If one is transposed or reshaped, bring it into the other's layout first.",
        ),
        refs=("shape-invalid",),
    ),
    ErrorDoc(
        code="concat-mismatch",
        family=ShapeError,
        message="these tensors cannot be joined: {reason}",
        cause=(
            "Joining keeps codes and scales, so all parts need one scheme, one codebook and shapes that fit."
        ),
        when=(
            "qcore.concat of nothing, of different schemes, ranks, codebooks, or shapes that differ off "
            "the axis."
        ),
        solutions=(
            "Requantize the parts with one scheme.",
            "Join the floats and quantize the result: np.concatenate([a.dequantize(), b.dequantize()]).",
        ),
        refs=("would-split-block",),
    ),
    ErrorDoc(
        code="array-needs-copy",
        family=ShapeError,
        message="a quantized tensor becomes an array only by decoding it, so copy=False cannot be met",
        cause="The floats do not exist until the codes are multiplied by their scales.",
        when="np.asarray(q, copy=False) and np.array(q, copy=False).",
        solutions=(
            "Let it copy: np.asarray(q).",
            "Decode into an array of yours: q.dequantize(out=array).",
            "Take the stored parts without a copy: q.parts(copy=False).",
        ),
        refs=("out-shape",),
    ),
)
