"""Rows of what is given to quantize and what is to be filled."""

from __future__ import annotations

from qcore.errors.base import DTypeError, ErrorDoc, NonFiniteError, ShapeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="input-dtype",
        family=DTypeError,
        message="f16, bf16, f32 or f64 values are taken, got {dtype}",
        cause=(
            "Integers, booleans, small floats, complex numbers, texts and objects have no agreed meaning "
            "as weights."
        ),
        when="quantize, compute_qparams, compare and Codebook.fit with an input of another dtype.",
        solutions=(
            "Say what is meant: x.astype(np.float32).",
            "If the numbers are codes already, build the tensor: TensorData.quantized and from_data.",
            "Small floats with scales are a quantized tensor: open the file with qcore.open.",
        ),
        refs=("input-device", "ndarray-needs-f32"),
    ),
    ErrorDoc(
        code="input-device",
        family=DTypeError,
        message="the tensor is on {device}, and only tensors in host memory are taken",
        cause="Nothing is copied from a device behind your back.",
        when=(
            "quantize and the like with a torch tensor on a GPU or the meta device, or one that needs a "
            "gradient."
        ),
        solutions=(
            "Move it: x.detach().cpu().",
            'To quantize on a GPU, pass host memory and backend="opencl".',
        ),
        refs=("input-dtype",),
    ),
    ErrorDoc(
        code="argument-type",
        family=DTypeError,
        message="{argument} must be {expected}, got {got}",
        cause="The argument is of a type that cannot mean what is asked for.",
        when="Arguments of the wrong Python type: a scheme, a shape, a store, params, a codebook.",
        solutions=(
            "Pass what the message names.",
            "Schemes, presets and options may be given as text.",
        ),
        refs=("scheme-text", "unknown-name"),
    ),
    ErrorDoc(
        code="ndarray-needs-f32",
        family=DTypeError,
        message="the ndarray backend quantizes F32 tensors only, got {dtype}",
        cause="Burn's ndarray backend reads the input strictly as f32 and stops at anything else.",
        when="quantize on burn-ndarray with f64, f16 or bf16 values.",
        solutions=(
            "Convert first: x.astype(np.float32).",
            "Quantize on cpu, which takes all four; the bytes are those of the converted tensor.",
        ),
        refs=("input-dtype",),
    ),
    ErrorDoc(
        code="out-dtype",
        family=DTypeError,
        message="out must have dtype {expected}, got {got}",
        cause="Decoding writes the dtype that was asked for and converts nothing on the way.",
        when="q.dequantize(dtype=..., out=array) when the array's dtype is another, or is not a float type.",
        solutions=(
            "Pass an array of that dtype.",
            "Pass dtype=None to take the dtype of out.",
        ),
        refs=("out-shape",),
    ),
    ErrorDoc(
        code="out-shape",
        family=ShapeError,
        message="out must have shape {expected}, got {got}",
        variants={
            "shape": "out must have shape {expected}, got {got}",
            "read-only": "out is read-only",
            "overlap": "out overlaps the memory it would be computed from",
        },
        cause="The result is written in place, element by element, into memory that must be its own.",
        when=(
            "q.dequantize(out=array) with an array of another shape, one that cannot be written, or one "
            "that overlaps."
        ),
        solutions=(
            "Make it: np.empty(q.shape, np.float32).",
            "Pass an array that owns its memory and is writeable.",
            "Leave out= out.",
        ),
        refs=("out-dtype",),
    ),
    ErrorDoc(
        code="non-finite",
        family=NonFiniteError,
        message="the tensor holds {count} non-finite values, the first at index {index}: {value}",
        cause=(
            "NaN has no code and infinity has no scale; one of them in a block would spoil the others or "
            "vanish without a word."
        ),
        when='quantize and compute_qparams with NaN or infinities under nonfinite="raise", the default.',
        solutions=(
            "Find out where they come from: np.argwhere(~np.isfinite(x)).",
            (
                'Accept them: nonfinite="saturate" stores NaN as the zero code and infinities as the ends '
                "of the range."
            ),
            "A finite f64 beyond the range of f32 counts as infinite: rescale the tensor.",
        ),
        refs=("non-finite-scale",),
    ),
)
