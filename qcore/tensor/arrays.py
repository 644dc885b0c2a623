"""What people hand in, as one ndarray view: the only place that looks at foreign types.

Nothing is copied for native layouts of any strides; byte-swapped and unaligned arrays are copied once.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import ml_dtypes
import numpy as np

from qcore import errors

BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
_FLOAT32: Final = np.dtype(np.float32)
FLOAT_DTYPES: Final = (_FLOAT32, np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)

_NUMPY_OF_TORCH_FLOAT: Final = {"torch.bfloat16": BFLOAT16}
_DEVICE_ATTRIBUTES: Final = ("__cuda_array_interface__", "__sycl_usm_array_interface__", "int_ptr")


def as_floats(x: Any) -> np.ndarray:
    """View ``x`` as an aligned ndarray of float32, float64, float16 or bfloat16 in native byte order.

    Parameters
    ----------
    x : array_like
        ndarray, buffer, nested list of floats, or a torch CPU tensor (recognised by duck typing).

    Raises
    ------
    DTypeError
        ``input-dtype`` for anything that is not a float of 16, 32 or 64 bits; ``input-device`` for a tensor that
        lives elsewhere.
    """
    array = x if type(x) is np.ndarray else _as_ndarray(x)
    dtype = array.dtype
    if dtype not in FLOAT_DTYPES:
        native = dtype.newbyteorder("=")
        if dtype.kind != "f" or native not in FLOAT_DTYPES:
            raise errors.build("input-dtype", dtype=dtype.name)
        array = array.astype(native)
    return array if array.flags.aligned else array.copy()


def dtype_debug(dtype: np.dtype) -> str:
    """Burn's name of a NumPy float dtype (``F32``, ``F64``, ``F16``, ``BF16``)."""
    return "BF16" if dtype == BFLOAT16 else f"F{dtype.itemsize * 8}"


def out_dtype(dtype: Any, out: np.ndarray | None) -> np.dtype:
    """Settle the dtype of a dequantized result: ``dtype``, or that of ``out`` where it is None, else float32."""
    if dtype is np.float32 and (out is None or out.dtype is _FLOAT32):
        return _FLOAT32
    if dtype is None:
        wanted = np.dtype(np.float32) if out is None else out.dtype
    else:
        wanted = _dtype_of(dtype)
    if wanted not in FLOAT_DTYPES:
        raise errors.build("out-dtype", expected="float32, float64, float16 or bfloat16", got=str(wanted))
    if out is not None and out.dtype != wanted:
        raise errors.build("out-dtype", expected=wanted.name, got=str(out.dtype))
    return wanted


def check_out(out: Any, shape: tuple[int, ...], sources: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return ``out`` if a result of ``shape`` may be written into it without touching ``sources``."""
    if not isinstance(out, np.ndarray):
        raise errors.build("out-dtype", expected="a NumPy array", got=type(out).__name__)
    if out.shape != shape:
        raise errors.build("out-shape", variant="shape", expected=str(shape), got=str(out.shape))
    if not out.flags.writeable:
        raise errors.build("out-shape", variant="read-only")
    if not out.flags.c_contiguous and _overlaps_itself(out):
        raise errors.build("out-shape", variant="overlap")
    for source in sources:
        if np.may_share_memory(out, source):
            raise errors.build("out-shape", variant="overlap")
    return out


def _overlaps_itself(array: np.ndarray) -> bool:
    return any(stride == 0 and dim > 1 for dim, stride in zip(array.shape, array.strides, strict=True))


def _dtype_of(word: Any) -> np.dtype:
    """A dtype from a NumPy dtype, a type, or a name; ``bf16`` and ``bfloat16`` included."""
    name = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}.get(word, word) \
        if isinstance(word, str) else word  # fmt: skip
    try:
        return BFLOAT16 if isinstance(name, str) and name == "bfloat16" else np.dtype(name)
    except TypeError:
        raise errors.build("out-dtype", expected="float32, float64, float16 or bfloat16", got=str(word)) from None


def _as_ndarray(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    kind = type(x)
    if kind.__module__.split(".")[0] == "torch" or _looks_like_torch(x):
        return _from_torch(x)
    if any(hasattr(kind, name) or name in getattr(x, "__dict__", ()) for name in _DEVICE_ATTRIBUTES):
        raise errors.build("input-device", device=f"{kind.__module__}.{kind.__qualname__}")
    if hasattr(kind, "__qcore_scheme__"):
        raise errors.build("input-dtype", dtype=f"QFloat({x.scheme.debug()})")
    try:
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError):
        # Ragged lists, objects whose __array__ refuses: not an array of numbers.
        raise errors.build("input-dtype", dtype=kind.__name__) from None


def _looks_like_torch(x: Any) -> bool:
    return all(hasattr(x, name) for name in ("detach", "device", "dtype", "view")) and not hasattr(x, "__array_ufunc__")


def _from_torch(x: Any) -> np.ndarray:
    device = getattr(x.device, "type", str(x.device))
    if device != "cpu":
        raise errors.build("input-device", device=str(x.device))
    tensor = x.detach()
    native = _NUMPY_OF_TORCH_FLOAT.get(str(tensor.dtype))
    try:
        if native is None:
            return np.asarray(tensor.numpy())
        # NumPy has no bfloat16 of its own: hand the bits over as 16-bit integers. torch is loaded already, since
        # its tensor is here; it is looked up, never imported.
        integers = getattr(sys.modules.get("torch"), "int16", "int16")
        return np.asarray(tensor.view(integers).numpy()).view(native)
    except (TypeError, RuntimeError):
        raise errors.build("input-dtype", dtype=str(tensor.dtype)) from None
