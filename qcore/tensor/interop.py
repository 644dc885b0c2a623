"""Handing stored parts to other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from qcore import errors

if TYPE_CHECKING:
    from qcore.tensor.qtensor import Part

# torch's name of a part's dtype, and the integer that carries its bits across. A dtype that this torch lacks stays
# the integer.
_TORCH: Final = {
    "int8": ("int8", "int8"), "uint8": ("uint8", "uint8"), "uint32": ("uint32", "int32"),
    "float32": ("float32", "float32"), "float16": ("float16", "int16"), "bfloat16": ("bfloat16", "int16"),
    "float8_e8m0fnu": ("float8_e8m0fnu", "uint8"), "float8_e4m3fn": ("float8_e4m3fn", "uint8"),
}  # fmt: skip


def to_torch(parts: Mapping[str, Part]) -> dict[str, Any]:
    """Parts as torch tensors."""
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise errors.build("package-missing", package="torch", purpose="to_torch()") from error
    found = {}
    for name, part in parts.items():
        wanted, carrier = _TORCH[part.dtype]
        tensor = torch.from_numpy(part.words.view(carrier))
        found[name] = tensor.view(getattr(torch, wanted)) if hasattr(torch, wanted) else tensor
    return found
