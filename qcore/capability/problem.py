"""A question to the rules: what is to be done, under which scheme, on which shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from qcore import errors
from qcore.scheme import QuantScheme
from qcore.scheme.words import key

OPS: Final = ("quantize", "dequantize", "strategy", "load", "permute", "reshape", "flip")
"""What can be asked about."""

CALIBRATIONS: Final = ("minmax", "absmax", "absmean", "percentile", "mse")
"""Words of calibrations. Their table stands above this floor; a test holds the two equal."""

FLOATS: Final = {
    "f32": "F32", "float32": "F32", "f64": "F64", "float64": "F64",
    "f16": "F16", "float16": "F16", "bf16": "BF16", "bfloat16": "BF16",
}  # fmt: skip
"""Dtypes of inputs that are taken, under Burn's names."""

_OTHER_DTYPES: Final = {
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"i{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{word: word for word in ("bool", "object", "complex64", "complex128")},
    **{word: word for word in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn")},
}
"""Dtypes that are known and refused, under the names a message shows."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One question, in settled words.

    Parameters
    ----------
    scheme
        The scheme.
    shape
        Shape of the tensor, or None to ask about every shape.
    op
        One of ``OPS``.
    dtype
        Burn's name of the input's dtype.
    calibration
        Name of the calibration, without a percent; None with explicit params, or for minmax.
    params
        Whether explicit scales are given instead of a calibration.
    global_given
        Whether the params have a global scale; None where that is not known.
    codebook
        Whether a table is at hand.
    scale_rounding
        The rule for scales, or None for the default.
    place
        Name of the backend or target that is asked.
    """

    scheme: QuantScheme
    shape: tuple[int, ...] | None = None
    op: str = "quantize"
    dtype: str = "F32"
    calibration: str | None = None
    params: bool = False
    global_given: bool | None = None
    codebook: bool = False
    scale_rounding: str | None = None
    place: str = "cpu"

    @property
    def calibrating(self) -> bool:
        """Whether scales are to be computed from the tensor."""
        return self.op == "quantize" and not self.params

    @property
    def rank(self) -> int | None:
        """Rank of the tensor, 0 counting as 1; None without a shape."""
        return None if self.shape is None else max(len(self.shape), 1)

    @property
    def line(self) -> int | None:
        """Length of the last axis; None without a shape."""
        return None if self.shape is None else (self.shape or (1,))[-1]

    @property
    def level(self) -> str:
        """Levels of scales: ``tensor``, ``block`` or ``two``."""
        if self.scheme.block_scale is None:
            return "tensor"
        return "two" if self.scheme.is_two_level else "block"


def read_op(word: str) -> str:
    """Read the name of an operation."""
    found = str(word).strip().lower()
    if found not in OPS:
        raise errors.build("unknown-name", kind="operation", name=str(word), choices=OPS)
    return found


def read_calibration(word: str | None) -> str | None:
    """Read the name of a calibration, leaving the percent of ``percentile:P`` aside."""
    if word is None:
        return None
    name, colon, percent = str(word).strip().lower().partition(":")
    if name not in CALIBRATIONS or (colon and not (name == "percentile" and _is_percent(percent))):
        raise errors.build("unknown-name", kind="calibration", name=str(word), choices=CALIBRATIONS)
    return name


def read_dtype(dtype: object) -> str:
    """Read a dtype (text, NumPy dtype or scalar type) under Burn's name."""
    named = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype
    word = key(str(named))
    if word in FLOATS:
        return FLOATS[word]
    if word in _OTHER_DTYPES:
        return _OTHER_DTYPES[word]
    raise errors.build("unknown-name", kind="dtype", name=str(named), choices=("f16", "bf16", "f32", "f64"))


def _is_percent(text: str) -> bool:
    try:
        return 0 < float(text) <= 100
    except ValueError:
        return False
