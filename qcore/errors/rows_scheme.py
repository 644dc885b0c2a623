"""Rows of schemes, codebooks and words that mean nothing."""

from __future__ import annotations

from qcore.errors.base import ErrorDoc, InvalidSchemeError, ShapeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="scheme-text",
        family=InvalidSchemeError,
        message="cannot read scheme {text!r}: {reason}",
        cause=(
            "A scheme is written VALUE[/STORE][/lookup[:TABLE]][/bEXTENTS:DTYPE][/t:DTYPE], for example "
            "q8s/native/t:f32 or q4f/u32/b32:f16; as a record it has the fields value, store, mode, tensor "
            "and block."
        ),
        when="QuantScheme.parse, QuantScheme.from_dict, and wherever a scheme is given as text.",
        solutions=(
            "Start from the text of a preset: str(qcore.PRESETS['int4-b32'].scheme).",
            (
                "Write each field once: a value, then a store (native, u32, u32:D, packed), then b32:f16, "
                "then t:f32."
            ),
            "qcore schemes lists what can be written and what each preset stands for.",
        ),
        refs=("unknown-name",),
    ),
    ErrorDoc(
        code="unknown-name",
        family=InvalidSchemeError,
        message="unknown {kind} {name!r}, expected one of: {choices}",
        cause="Options are words from fixed lists, and this word is not in its list.",
        when=(
            "Any word of an option: a preset, value, store, scale dtype, backend, target, calibration, "
            "rounding, ..."
        ),
        solutions=(
            "Use one of the words the message lists.",
            "Check the spelling; upper and lower case are the same.",
        ),
        refs=("scheme-text",),
    ),
    ErrorDoc(
        code="block-cap",
        family=InvalidSchemeError,
        message="Tried creating a block size larger than the cap",
        cause="A block has at most five extents, counted after leading ones are dropped.",
        when="BlockSize, or the text of a scheme, with six extents or more.",
        solutions=(
            "Drop leading axes from the block: missing ones count as 1.",
            "Merge axes of the tensor before quantizing.",
        ),
        refs=("block-extent",),
    ),
    ErrorDoc(
        code="block-extent",
        family=InvalidSchemeError,
        message="a block extent is a whole number from 1 to 255, got {extent}",
        cause="Burn stores each extent in one unsigned byte, and a block of extent 0 holds nothing.",
        when="BlockSize, or the text of a scheme, with such an extent.",
        solutions=(
            "For one scale per row of a long row: tied='row', or the presets int8-channel and fp8-channel.",
            "For wider groups, use the largest divisor up to 255 and repeat the scale: 256 = 2 x 128.",
        ),
        refs=("block-cap",),
    ),
    ErrorDoc(
        code="lookup-minifloat",
        family=InvalidSchemeError,
        message=(
            "a lookup field is an index, so a minifloat value ({value}) has nothing to mean; use the "
            "integer value of the same width"
        ),
        cause="In lookup mode the stored field selects an entry of a table; only its width matters.",
        when="Using a Lookup scheme whose value is E4M3, E5M2 or E2M1, on every backend.",
        solutions=(
            "Use the integer value of the same width: Q8F for E4M3 and E5M2, Q4F for E2M1.",
            "Use Symmetric mode if the value is meant as a small float.",
        ),
        refs=("table-length",),
    ),
    ErrorDoc(
        code="global-scale-not-f32",
        family=InvalidSchemeError,
        message="a two-level scheme stores its per-tensor scale as f32, got {scheme}",
        cause=(
            "The per-tensor scale over block scales carries the whole magnitude; it is stored as f32 and "
            "nothing else."
        ),
        when="Using a scheme with a block level and a tensor level that is not F32, on every backend.",
        solutions=(
            "Use F32 for the tensor level: scheme.per_tensor(ScaleDtype.F32), in text /t:f32.",
            "Drop one of the two levels.",
        ),
        refs=("two-level-block-dtype",),
    ),
    ErrorDoc(
        code="scale-rounding-needs-ue8m0",
        family=InvalidSchemeError,
        message="scale rounding {rule!r} takes UE8M0 scales and a minifloat value, got {scheme}",
        cause=(
            "The rules floor and even come from the OCP microscaling formats: they pick a power of two "
            "from the exponent of the block's peak and the largest exponent of the element."
        ),
        when=(
            'scale_rounding="floor" or "even" with another scale dtype, an integer value or a lookup scheme.'
        ),
        solutions=(
            'Use scale_rounding="up" (Burn) or "nearest".',
            "Use a microscaling scheme: mxfp4 or mxfp8.",
        ),
        refs=("ue8m0-unsupported",),
    ),
    ErrorDoc(
        code="params-and-calibration",
        family=InvalidSchemeError,
        message="explicit params and a calibration were both given; the one leaves nothing to the other",
        cause="A calibration computes the scales that params already give.",
        when=(
            "quantize with params= and calibration= (or tied=) together. What a preset implies does not "
            "count."
        ),
        solutions=(
            "Leave calibration out to use the params.",
            "Leave params out to calibrate.",
            "Calibrate separately: qcore.compute_qparams(x, scheme, calibration=...).",
        ),
        refs=("wrong-scale-count",),
    ),
    ErrorDoc(
        code="lookup-needs-table",
        family=InvalidSchemeError,
        message="Lookup takes a lookup table, but none was provided",
        cause="A lookup scheme says only that there is a table; the table travels beside the tensor.",
        when=(
            "quantize, compute_qparams or check with a Lookup scheme, no codebook and no table named by "
            "the text."
        ),
        solutions=(
            "Pass a table: codebook=Codebook.nf4(), or your own Codebook(table).",
            "Name it in the text: q4f/u32/lookup:nf4/b64:f32, or use the presets nf4 and fp4-bnb.",
            "Fit one to the tensor: Codebook.fit(x, bits=4).",
        ),
        refs=("lookup-does-not-travel", "table-length"),
    ),
    ErrorDoc(
        code="table-without-lookup",
        family=InvalidSchemeError,
        message="a lookup table was provided, but Symmetric does not take one",
        cause="A symmetric scheme multiplies the code by the scale; there is nothing to look up.",
        when="quantize, from_data or check with codebook= and a Symmetric scheme.",
        solutions=(
            "Leave codebook out.",
            "Use the lookup mode: scheme.with_mode(QuantMode.LOOKUP), in text /lookup.",
        ),
        refs=("lookup-needs-table",),
    ),
    ErrorDoc(
        code="table-length",
        family=InvalidSchemeError,
        message="a {bits}-bit lookup scheme indexes a table of exactly {expected} entries, got {got}",
        cause=(
            "An index of so many bits must find an entry whatever it is, and every entry must have an index."
        ),
        when="quantize or from_data with a codebook made for another width than that of the scheme's value.",
        solutions=(
            "Use a value of the table's width: Q2F for 4 entries, Q4F for 16, Q8F for 256.",
            "Fit a table of the right width: Codebook.fit(x, bits=...).",
        ),
        refs=("bad-codebook",),
    ),
    ErrorDoc(
        code="bad-codebook",
        family=InvalidSchemeError,
        message="not a codebook: {reason}",
        cause="A codebook is a list of 4, 16 or 256 finite f32 numbers, not all of them zero.",
        when="Codebook(table), Codebook.fit, and files that carry a table.",
        solutions=(
            "Give 2^bits entries, bits being 2, 4 or 8; repeat the last one if there are too few values.",
            "Remove NaN and infinities; a table of zeros can store nothing.",
            "Start from a preset: Codebook.nf4(), Codebook.fp4_bnb(), Codebook.iq4_nl().",
        ),
        refs=("table-length",),
    ),
    ErrorDoc(
        code="code-out-of-range",
        family=InvalidSchemeError,
        message="code {code} at index {index} is outside {lo} to {hi}",
        cause="A code that does not fit the bits of its value would be cut off, and its neighbours with it.",
        when="qcore.pack and TensorData.quantized with codes that do not fit the width of the value.",
        solutions=(
            "Clip the codes to the range of the value first.",
            "Use a wider value.",
            "Indices of a lookup scheme are unsigned: pass mode='lookup'.",
        ),
        refs=("data-values-count",),
    ),
    ErrorDoc(
        code="tied-needs-rows",
        family=InvalidSchemeError,
        message=(
            "tied='row' shares a scale among the blocks of a row, but {block} blocks reach over several rows"
        ),
        cause=(
            "Tying repeats one scale along the last axis. A block that spans two rows would need two scales."
        ),
        when="tied='row' with a block whose extents before the last are not all 1.",
        solutions=(
            "Use a block along the last axis only: b32, b128.",
            "Name no block: the largest divisor of the row up to 255 is taken.",
            "Leave tied out.",
        ),
        refs=("block-extent",),
    ),
    ErrorDoc(
        code="option-value",
        family=InvalidSchemeError,
        message="{option} must be {expected}, got {got}",
        cause="The number or combination given for this option has no meaning.",
        when="Numbers of options outside their range: threads, percentile, sample sizes, limits.",
        solutions=(
            "Use a value within the range the message names.",
            "Leave the option out to take its default.",
        ),
        refs=("unknown-name",),
    ),
    ErrorDoc(
        code="block-rank",
        family=ShapeError,
        message="a block {block} has more extents than the tensor's {rank} dimensions",
        cause=(
            "Extents belong to the trailing axes of the tensor, one each. (Burn would silently use the "
            "first ones only, which are not the ones that were meant.)"
        ),
        when="Using a scheme whose block has more extents than the tensor has dimensions, on every backend.",
        solutions=(
            "Drop the leading extents.",
            "Reshape the tensor to the rank the block was made for.",
            "Keep such tensors (biases, norms) in floats or per tensor.",
        ),
        refs=("packing-axis", "block-cap"),
    ),
    ErrorDoc(
        code="packing-axis",
        family=ShapeError,
        message=(
            "packing along dimension {dim}, counted from the innermost, needs more than the tensor's "
            "{rank} dimensions"
        ),
        cause="The packed axis counts from the last one, 0 being the last; this tensor has no such axis.",
        when="Using a packed store whose dimension is not below the rank (a 0-d tensor counts as rank 1).",
        solutions=(
            "Pack along the innermost dimension: QuantStore.packed_u32(0).",
            "Use the Native store.",
        ),
        refs=("block-rank", "packing-not-innermost"),
    ),
    ErrorDoc(
        code="not-divisible",
        family=ShapeError,
        message="Tensor Shape {{ dims: {dims} }} must be evenly divisible by block size {block}",
        cause=(
            "Burn's calibration reduces whole blocks only; qcore's own backends give the edge block its "
            "own scale."
        ),
        when=(
            "Calibrating on burn-ndarray, or asking Burn targets, when a dimension is not a multiple of "
            "its extent."
        ),
        solutions=(
            "Choose a block that divides the shape.",
            "Pad the tensor.",
            "Stay on cpu or opencl, or give explicit params, for which burn-ndarray takes ragged blocks too.",
        ),
        refs=("u32-line", "wrong-scale-count"),
    ),
)
