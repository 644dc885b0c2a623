"""Rows of scales: too few, too many, of the wrong kind."""

from __future__ import annotations

from qcore.errors.base import ErrorDoc, ScaleError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="missing-global-scale",
        family=ScaleError,
        message="a two-level scheme should have a per-tensor scale",
        cause=(
            "The block scales of a two-level scheme are relative to one per-tensor f32 scale. Without it "
            "their magnitude is unknown."
        ),
        when=(
            "quantize with explicit QuantParams whose global_scale is None, under a scheme that has a "
            "block and a tensor level. On burn-ndarray only for schemes it would otherwise accept."
        ),
        solutions=(
            "Give it: QuantParams(scales, global_scale=...).",
            "Let both be derived: qcore.compute_qparams(x, scheme).",
            "Use a one-level scheme: drop the tensor level (the t: field of the text).",
            (
                "Check how the parameters were made, or which file they came from: the global scale was "
                "lost there."
            ),
        ),
        refs=("superfluous-global-scale", "data-needs-global", "global-short"),
    ),
    ErrorDoc(
        code="superfluous-global-scale",
        family=ScaleError,
        message="a per-tensor scale should come with a two-level scheme",
        cause=(
            "The scheme has one level, whose scales are absolute; nothing would multiply by a global scale."
        ),
        when=(
            "quantize with explicit QuantParams that have a global_scale, under a scheme without two levels."
        ),
        solutions=(
            "Leave global_scale out; multiply the scales by it first if they are relative to it.",
            "Add the tensor level: scheme.per_tensor(ScaleDtype.F32), in text /t:f32.",
        ),
        refs=("missing-global-scale", "data-superfluous-global"),
    ),
    ErrorDoc(
        code="global-scale-size",
        family=ScaleError,
        message="the per-tensor scale must have exactly one element, got {dims}",
        cause="The global scale is one number for the whole tensor.",
        when="QuantParams or TensorData.quantized with a global_scale of no or several elements.",
        solutions=(
            "Pass one number, or an array of one element.",
            "If there is one number per row or block, pass them as scales.",
        ),
        refs=("wrong-scale-count",),
    ),
    ErrorDoc(
        code="wrong-scale-count",
        family=ScaleError,
        message=(
            "Invalid per-block quantization: {count} blocks for a Shape {{ dims: {dims} }} tensor with "
            "{block} blocks"
        ),
        variants={
            "per-tensor": "a per-tensor scheme takes exactly one scale, got {count}",
        },
        cause=(
            "There must be one scale per block, in C order of the grid (each dimension divided by its "
            "extent, rounded up). Exactly one scale for all blocks is accepted too, but on burn-ndarray."
        ),
        when=(
            "quantize, or TensorData.quantized, with explicit scales whose number does not fit the scheme "
            "and shape."
        ),
        solutions=(
            "Compare with scheme.params_shape(shape), the shape of the grid of scales.",
            "Let them be derived: qcore.compute_qparams(x, scheme).",
            (
                "Check that the scales belong to this tensor and orientation; transposing one transposes "
                "the other."
            ),
        ),
        refs=("global-scale-size",),
    ),
    ErrorDoc(
        code="negative-scale",
        family=ScaleError,
        message="{what} must not be negative, got {value} at index {index}",
        cause=(
            "Quantizing divides by the scale and rounds it to its dtype, upwards; both suppose a size. "
            "Negative scales are legal to load and to dequantize, since some file formats store them."
        ),
        when="quantize with explicit params that hold a negative scale. (-0.0 counts as 0.)",
        solutions=(
            "Pass the absolute values; the codes change their signs.",
            (
                "To keep codes that were made with negative scales, build the tensor: TensorData.quantized "
                "and from_data."
            ),
        ),
        refs=("non-finite-scale",),
    ),
    ErrorDoc(
        code="non-finite-scale",
        family=ScaleError,
        message="{what} must be finite, got {value} at index {index}",
        cause="A NaN or infinite scale makes every element of its block meaningless.",
        when="quantize with explicit params that hold NaN or an infinity. from_data loads any scale bytes.",
        solutions=(
            (
                "Look at the tensor the scales came from: a non-finite element, or an overflow in half "
                "precision."
            ),
            (
                "Let them be derived: qcore.compute_qparams(x, scheme), which refuses non-finite elements "
                "by index."
            ),
            "qcore verify lists non-finite scales of a file.",
        ),
        refs=("negative-scale", "non-finite"),
    ),
)
