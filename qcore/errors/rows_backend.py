"""Rows of what a backend, a target or a format cannot do. Texts that Burn words are Burn's, to the letter."""

from __future__ import annotations

from qcore.errors.base import ErrorDoc, UnsupportedSchemeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="packing-not-innermost",
        family=UnsupportedSchemeError,
        message="Packing must be on innermost dimension for splitting off values",
        cause=(
            "Burn's CPU backends split host bytes into values and scales with the words along the last "
            "axis only."
        ),
        when=(
            "from_data on burn-ndarray of Q8F or Q8S in PackedU32(d) with d > 0; loading such a tensor on "
            "burn-flex."
        ),
        solutions=(
            "Pack along the innermost dimension: QuantStore.packed_u32(0).",
            "Use the Native store.",
            "Load on cpu or opencl, which pack along any dimension.",
        ),
        refs=("from-data-unsupported-scheme", "packing-axis"),
    ),
    ErrorDoc(
        code="ue8m0-unsupported",
        family=UnsupportedSchemeError,
        message="UE8M0 scales are not yet supported",
        cause=(
            "Burn names the power-of-two scale dtype but has no rule that rounds to it and no code that "
            "reads it."
        ),
        when="quantize on burn-ndarray with UE8M0 scales at any level; targets that run Burn.",
        solutions=(
            "Use another scale dtype: F16, BF16, F32 or UE4M3.",
            "Stay on cpu or opencl, where UE8M0 works (mxfp4, mxfp8).",
        ),
        refs=("scale-rounding-needs-ue8m0",),
    ),
    ErrorDoc(
        code="u32-line",
        family=UnsupportedSchemeError,
        message="Can't store in u32",
        variants={
            "flat": (
                "{target} reads packed words as one flat run, but lines of {dim} values end inside a word "
                "of {per_word}"
            ),
        },
        cause=(
            "The last axis is not a whole number of 32-bit words. Burn's kernels cannot store such a line, "
            "and its flex backend reads the words as if no line were padded, which shifts every value "
            "after the first line."
        ),
        when=(
            "PackedU32 and a last dimension that is not a multiple of 4 (8-bit values), 8 (4-bit) or 16 "
            "(2-bit), for burn-cubecl, burn-flex and the targets made of their code."
        ),
        solutions=(
            "Use the Native store for 8-bit values.",
            "Pad the last dimension to a multiple of the values per word before quantizing.",
            "Keep this tensor in floats.",
            "Stay on cpu or opencl, which pad each line with zero bits.",
        ),
        refs=("block-not-packed",),
    ),
    ErrorDoc(
        code="block-not-packed",
        family=UnsupportedSchemeError,
        message="Block size must be divisible by {div}, got block_size={block_size}",
        cause=(
            "Burn's kernels handle whole words (or vectors) with one scale each, so a block may not end "
            "inside one."
        ),
        when=(
            "A last block extent that is not a multiple of the values per word, for burn-cubecl and its kin."
        ),
        solutions=(
            (
                "Choose a block whose last extent is a multiple of 16, which suits every value: b16, b32, "
                "b64, b128."
            ),
            "Use one scale for the tensor.",
            "Stay on cpu or opencl.",
        ),
        refs=("u32-line",),
    ),
    ErrorDoc(
        code="lookup-needs-u32",
        family=UnsupportedSchemeError,
        message="lookup decode is only wired for packed-u32 storage, got {store}",
        cause="Burn's kernels look up fields of 32-bit words only.",
        when="dequantize of a Lookup scheme in another store, for burn-cubecl and its kin.",
        solutions=(
            "Use PackedU32 for lookup schemes: /u32/lookup.",
            "Dequantize on cpu or opencl and hand over the floats.",
        ),
        refs=("lookup-not-on-ndarray",),
    ),
    ErrorDoc(
        code="unsupported-scheme",
        family=UnsupportedSchemeError,
        message="Unsupported quantization scheme {scheme}",
        variants={
            "no-form": "{target} has no form for {scheme}: {reason}",
            "misread": "{target} would misread {scheme}: {reason}",
            "native": "{value} is not supported for native quantization",
            "not-yet": "Not yet supported",
        },
        cause=(
            "The backend, target or file format has no form for this scheme, or takes it without complaint "
            "and computes something else from it. A wrong answer that nobody is told of counts as a "
            "refusal here."
        ),
        when=(
            "check on a target whose kernels, reader or container lack the combination of mode, value, "
            "store, block and scale dtype; also when Burn is known to read the bytes as another scheme."
        ),
        solutions=(
            "Use one of the portable presets, burn-int8 or burn-int4, for Burn targets.",
            "See where the scheme loads: qcore.survey(scheme, shape).",
            "Export in the form the target has: GGUF takes blocks of 32 with F16 scales, MXFP4 and NVFP4.",
            "Hand over the floats: q.dequantize().",
        ),
        refs=("quantize-unsupported-scheme",),
    ),
    ErrorDoc(
        code="absmean-two-level",
        family=UnsupportedSchemeError,
        message=(
            "AbsMean calibration has no two-level form: BitNet's gamma is a mean over the whole tensor or "
            "block, which a per-tensor scale cannot decompose"
        ),
        cause=(
            "The mean is taken over the whole tensor or block. Two levels split a scale into a per-tensor "
            "and a per-block part by their peaks, and a mean has none."
        ),
        when=(
            'calibration="absmean" (or a preset that implies it) with a scheme that has a block and a '
            "tensor level."
        ),
        solutions=(
            "Drop one level: keep the block scales, or the per-tensor scale.",
            'Use calibration="minmax", "percentile" or "mse" with two levels.',
        ),
        refs=("two-level-block-dtype",),
    ),
    ErrorDoc(
        code="two-level-block-dtype",
        family=UnsupportedSchemeError,
        message="block scales in {dtype} reach f32's range, which a per-tensor scale cannot absorb",
        cause=(
            "Calibrating two levels puts the largest block scale at the maximum of its dtype. With a range "
            "like that of f32 the per-tensor scale would be subnormal or zero."
        ),
        when="Calibrating a two-level scheme whose block scales are F32, BF16 or UE8M0, on every backend.",
        solutions=(
            "Store the block scales as F16 or UE4M3.",
            "Use one level: a wide block dtype needs no per-tensor scale.",
            "Give explicit params (scales and global_scale), which are accepted with any block dtype.",
        ),
        refs=("global-scale-not-f32",),
    ),
)
