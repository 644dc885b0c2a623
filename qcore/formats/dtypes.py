"""Element types that files hold: one row each, with its name in NumPy and in safetensors and its width.

The order is that of the reference writer of safetensors, widest first, so that every tensor of a file lies aligned.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from qcore import errors

__all__ = ["BY_CODE", "BY_NAME", "CARRIERS", "ElementType", "numpy_dtype", "packed_nbytes", "parse"]


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type: NumPy's (or ml_dtypes') name, the code in safetensors, bits, rank in the writer's order."""

    name: str
    code: str
    bits: int
    order: int

    @property
    def is_extension(self) -> bool:
        """Whether NumPy itself lacks the type and ml_dtypes brings it."""
        return "_" in self.name or self.name == "bfloat16"


_TABLE = (
    ("uint64", "U64", 64),
    ("int64", "I64", 64),
    ("float64", "F64", 64),
    ("complex64", "C64", 64),
    ("float32", "F32", 32),
    ("uint32", "U32", 32),
    ("int32", "I32", 32),
    ("bfloat16", "BF16", 16),
    ("float16", "F16", 16),
    ("uint16", "U16", 16),
    ("int16", "I16", 16),
    ("float8_e5m2fnuz", "F8_E5M2FNUZ", 8),
    ("float8_e4m3fnuz", "F8_E4M3FNUZ", 8),
    ("float8_e8m0fnu", "F8_E8M0", 8),
    ("float8_e4m3fn", "F8_E4M3", 8),
    ("float8_e5m2", "F8_E5M2", 8),
    ("int8", "I8", 8),
    ("uint8", "U8", 8),
    ("float6_e3m2fn", "F6_E3M2", 6),
    ("float6_e2m3fn", "F6_E2M3", 6),
    ("float4_e2m1fn", "F4", 4),
    ("bool", "BOOL", 8),
)
_ROWS = tuple(ElementType(name, code, bits, order) for order, (name, code, bits) in enumerate(_TABLE))

BY_NAME: Mapping[str, ElementType] = MappingProxyType({row.name: row for row in _ROWS})
BY_CODE: Mapping[str, ElementType] = MappingProxyType({row.code: row for row in _ROWS})
# width in bytes -> the integer that carries an extension type where a file has no name for it
CARRIERS: Mapping[int, str] = MappingProxyType({1: "uint8", 2: "uint16", 4: "uint32"})

_ALIASES = MappingProxyType(
    {
        "f64": "float64",
        "f32": "float32",
        "f16": "float16",
        "bf16": "bfloat16",
        "fp8": "float8_e4m3fn",
        "e4m3": "float8_e4m3fn",
        "ue4m3": "float8_e4m3fn",
        "e5m2": "float8_e5m2",
        "ue8m0": "float8_e8m0fnu",
        "e2m1": "float4_e2m1fn",
    }
)


def parse(dtype: Any) -> str:
    """Return the canonical name of an element type given as a name, an alias or a dtype.

    Examples
    --------
    >>> parse("bf16"), parse("float32")
    ('bfloat16', 'float32')
    """
    word = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype).lower()
    word = _ALIASES.get(word, word)
    if word not in BY_NAME:
        raise errors.build("unknown-name", kind="dtype", name=str(dtype), choices=(*BY_NAME, *_ALIASES))
    return word


def numpy_dtype(name: str) -> Any:
    """Return the NumPy dtype of a name; ml_dtypes is imported only for its own types.

    Examples
    --------
    >>> numpy_dtype("bfloat16").itemsize
    2
    """
    import numpy as np

    row = BY_NAME.get(name)
    if row is None or not row.is_extension:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def packed_nbytes(row: ElementType, count: int) -> int | None:
    """Bytes that a file spends on a number of elements; None where they end inside a byte."""
    bits = count * row.bits
    return bits // 8 if bits % 8 == 0 else None
