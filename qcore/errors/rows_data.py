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
        refs=("layout-argument", "operation-not-implemented"),
    ),
    ErrorDoc(
        code="layout-argument",
        family=ShapeError,
        message="{operation}: {reason}",
        cause="The axes, shape or index do not fit the tensor.",
        when=(
            "transpose, reshape, slicing, concat, compare and shapes that are given, with arguments that "
            "do not fit."
        ),
        solutions=(
            "Compare with q.shape.",
            "Axes are each named once; a shape keeps the number of elements; slices have step 1.",
        ),
        refs=("would-split-block",),
    ),
    ErrorDoc(
        code="needs-copy",
        family=ShapeError,
        message="a quantized tensor becomes an array only by decoding it, so copy=False cannot be met",
        cause="The floats do not exist until the codes are multiplied by their scales.",
        when="np.asarray(q, copy=False), np.array(q, copy=False).",
        solutions=(
            "Let it copy: np.asarray(q).",
            "Decode into an array of yours: q.dequantize(out=array).",
            "Take the stored parts without a copy: q.parts(copy=False).",
        ),
    ),
)
