"""Rows D1 to D5 and R1 to R5: the refusals that Burn documents and that qcore raises in its place.

D5 is about scales and stands in ``rows_scale``. The texts are Burn's, to the letter and without a prefix.
"""

from __future__ import annotations

from qcore.errors.base import DTypeError, ErrorDoc, UnsupportedSchemeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="lookup-not-on-ndarray",
        family=UnsupportedSchemeError,
        message="lookup quantization is not supported by the ndarray backend",
        cause=(
            "The ndarray backend derives a per-tensor or per-block multiplication from the scheme. A table "
            "look-up is neither of the two, and that backend holds no table."
        ),
        when=(
            'q.strategy(backend="burn-ndarray") and q.dequantize(backend="burn-ndarray") of a tensor whose '
            "mode is Lookup, whatever its value, store or block."
        ),
        solutions=(
            (
                "Use a symmetric scheme for tensors that are meant for that backend, for example "
                "q8s/native/t:f32."
            ),
            "Dequantize on a backend that supports lookup (cpu, opencl) and hand over the floats.",
            "Stay on the cpu backend: q.strategy() and q.dequantize() without backend= work there.",
        ),
        refs=("from-data-unsupported-scheme", "lookup-does-not-travel"),
    ),
    ErrorDoc(
        code="lookup-does-not-travel",
        family=UnsupportedSchemeError,
        message="lookup quantization does not travel as a QFloat tensor",
        cause=(
            "QFloat bytes are values, scales and at most one global scale. The table of 2^bits floats has "
            "no place in them, so the tensor would arrive without its meaning."
        ),
        when=(
            "from_data on cpu, opencl or reference with data whose mode is Lookup and no codebook=. It is "
            "checked before anything is allocated."
        ),
        solutions=(
            (
                "Pass the table: qcore.from_data(data, codebook=Codebook.nf4()), or the table that the "
                "tensor was made with."
            ),
            "Keep the tensor in a file that carries the table (qcore's safetensors convention).",
            "Use a symmetric scheme for what has to travel as bytes.",
            "Send the floats and quantize where they arrive.",
        ),
        refs=("lookup-needs-table", "lookup-not-on-ndarray"),
    ),
    ErrorDoc(
        code="quantize-unsupported-scheme",
        family=UnsupportedSchemeError,
        message="Quantization not supported for scheme {scheme}",
        cause=(
            "The backend has no path for this combination of mode, value, store and scale levels. Burn's "
            "ndarray backend quantizes Symmetric + Native only: Q8F, Q8S and Q2S per tensor; Q8F and Q8S "
            "per block and in two levels."
        ),
        when=(
            "quantize on burn-ndarray outside that set. It comes after the checks of the scale dtype and "
            "of a superfluous global scale."
        ),
        solutions=(
            "Choose Q8S or Q8F in the Native store, for example q8s/native/t:f32 or q8s/native/b32:f16.",
            "See where the scheme works: qcore.survey(scheme, shape).",
            'Quantize on another backend: backend="cpu" takes every scheme.',
        ),
        refs=("from-data-unsupported-scheme", "ue8m0-unsupported", "superfluous-global-scale"),
    ),
    ErrorDoc(
        code="from-data-unsupported-scheme",
        family=UnsupportedSchemeError,
        message="from_data not supported for scheme {scheme}",
        cause=(
            "Burn's ndarray backend unpacks 8-bit integers only: Q8F and Q8S, from Native or PackedU32(0). "
            "(It can quantize Q2S per tensor, but not load it back.)"
        ),
        when=(
            "from_data on burn-ndarray with a value of Q4F, Q4S, Q2F, Q2S, E2M1, E4M3 or E5M2 in any mode, "
            'or with mode Lookup and any value; q.to("burn-ndarray") likewise.'
        ),
        solutions=(
            "Requantize with Q8S or Q8F: qcore.quantize(q.dequantize(), 'q8s/native/t:f32').",
            "Load on cpu or opencl, which keep every scheme.",
            "Convert the file first: qcore convert.",
        ),
        refs=("quantize-unsupported-scheme", "packing-not-innermost"),
    ),
    ErrorDoc(
        code="lookup-not-iterable",
        family=UnsupportedSchemeError,
        message="lookup quantization is not supported for iteration",
        cause=(
            "The bytes hold indices into a table that is not among them. Codes without a table are not "
            "values."
        ),
        when="Iterating TensorData whose scheme is Lookup, as in list(data).",
        solutions=(
            "Dequantize instead: qcore.from_data(data, codebook=...).dequantize().",
            "Read the indices as such: qcore.from_data(data, codebook=...).codes.",
        ),
        refs=("lookup-does-not-travel",),
    ),
    ErrorDoc(
        code="native-sub-byte",
        family=UnsupportedSchemeError,
        message="Can't store native sub-byte values",
        cause=(
            "A compute device has no element type narrower than a byte, so the Native store cannot hold "
            "values of two or four bits there. (The cpu backend keeps one byte per value, as Burn's CPU "
            "backends do.)"
        ),
        when="Native with Q4F, Q4S, Q2F, Q2S or E2M1 on opencl, and for targets that run on Burn's kernels.",
        solutions=(
            "Pack the values: QuantStore.packed_u32(0), in text /u32.",
            "For E2M1, two codes per byte: QuantStore.packed_native(0), in text /packed.",
            "Stay on the cpu backend.",
        ),
        refs=("native-packing-unsupported",),
    ),
    ErrorDoc(
        code="native-packing-unsupported",
        family=UnsupportedSchemeError,
        message="{value} doesn't support native packing",
        cause="Only E2M1 has a packed native form, two codes per byte. Other values have none.",
        when=(
            "PackedNative with any value but E2M1, on every backend. (quantize on burn-ndarray raises "
            "quantize-unsupported-scheme first.)"
        ),
        solutions=(
            "Use PackedU32, which packs every value: /u32.",
            "Use Native, one byte per value: /native.",
            "Use E2M1 if two codes per byte are what you need: e2m1/packed.",
        ),
        refs=("native-sub-byte",),
    ),
    ErrorDoc(
        code="not-quantized-data",
        family=DTypeError,
        message="Invalid dtype (expected DType::QFloat, got {dtype})",
        cause="The data's dtype is a plain float or integer type; there is no scheme to read its bytes by.",
        when="from_data with TensorData that is not quantized. It is checked before everything else.",
        solutions=(
            "Quantize it: qcore.quantize(data.to_numpy(), scheme).",
            "Give the data its scheme as dtype: TensorData(bytes, shape, scheme).",
            "Build quantized data from parts: TensorData.quantized(codes, shape, scheme, scales).",
        ),
    ),
    ErrorDoc(
        code="operation-not-implemented",
        family=UnsupportedSchemeError,
        message="not implemented",
        cause="The backend has no such operation for quantized tensors, whatever their scheme.",
        when=(
            'check(scheme, op="flip", on="burn-cubecl"), and each operation that a backend lacks altogether.'
        ),
        solutions=(
            "Dequantize, do the operation on the floats, and quantize again.",
            "Do it before quantizing.",
            "Ask another backend or target: qcore.check(scheme, op=..., on=...).",
        ),
    ),
)
