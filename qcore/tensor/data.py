"""``TensorData``: bytes, a shape and a dtype, as Burn hands tensors between backends and files.

A quantized tensor's bytes are ``values | scales | global scale``, dense and little-endian (docs/numerics.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final

import ml_dtypes
import numpy as np

from qcore import errors
from qcore.calibration import scale_rounding
from qcore.capability import check
from qcore.layout import packing, regions
from qcore.layout.dims import read_shape
from qcore.plan import make_plan, make_scale_numbers
from qcore.scheme import QuantMode, QuantScheme, ScaleDtype
from qcore.scheme.resolve import resolve
from qcore.tensor.fields import pack_fields, unpack_fields

_PLAIN: Final = {
    "F64": np.dtype("<f8"), "F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "I16": np.dtype("<i2"), "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"), "U32": np.dtype("<u4"), "U16": np.dtype("<u2"), "U8": np.dtype("u1"),
    "Bool(Native)": np.dtype("?"),
}  # fmt: skip
_NAMES: Final = {dtype: name for name, dtype in _PLAIN.items()}
_ALIASES: Final = {"Flex32": "F32", "Bool": "Bool(Native)"}


class TensorData:
    """Host data of a tensor: ``bytes``, ``shape`` and ``dtype``.

    Parameters
    ----------
    data : bytes-like
        Little-endian bytes in C order. A mutable buffer is copied.
    shape : sequence of int
    dtype : QuantScheme, str or numpy dtype
        A scheme (or its text or preset name) makes the data quantized; Burn's names (``"F32"``, ``"I8"``) and NumPy
        dtypes make it plain.

    Examples
    --------
    >>> from qcore import TensorData
    >>> d = TensorData.quantized([1, -2, 3], (3,), "q8s/native", [0.5])
    >>> list(d), d.bytes.hex()
    ([1, -2, 3], '01fe030000003f')
    """

    __slots__ = ("_bytes", "_dtype", "_shape")

    def __init__(self, data: Any, shape: Sequence[int], dtype: Any) -> None:
        self._bytes: bytes = data if type(data) is bytes else bytes(memoryview(data).cast("B"))
        self._shape: tuple[int, ...] = read_shape(shape)
        self._dtype: QuantScheme | str = _dtype_of(dtype)
        if isinstance(self._dtype, str):
            expected = prod(self._shape) * _PLAIN[self._dtype].itemsize
            if len(self._bytes) != expected:
                code = "data-short" if len(self._bytes) < expected else "data-long"
                raise errors.build(code, got=len(self._bytes), expected=expected)

    @property
    def bytes(self) -> bytes:
        """The raw bytes."""
        return self._bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """Logical shape."""
        return self._shape

    @property
    def dtype(self) -> QuantScheme | str:
        """The scheme of quantized data, else Burn's dtype name."""
        return self._dtype

    @property
    def is_quantized(self) -> bool:
        """Whether the dtype is a scheme."""
        return isinstance(self._dtype, QuantScheme)

    @classmethod
    def quantized(
        cls, codes: Any, shape: Sequence[int], scheme: Any, scales: Any, global_scale: float | None = None
    ) -> TensorData:
        """Build quantized data from its parts.

        Parameters
        ----------
        codes : array_like of int
            One code per element in C order: -128..127 for integers, the unsigned code byte for minifloats and
            lookup indices. They are packed as the scheme's store says.
        scales : array_like of float
            One per block in C order of the grid (one per tensor); rounded up to the scale dtype.
        global_scale : float, optional
            The per-tensor scale of a two-level scheme.

        Raises
        ------
        QuantError
            ``data-needs-global``, ``data-superfluous-global``, ``global-scale-not-f32``, ``data-value-type``,
            ``data-values-count``, ``code-out-of-range``, ``wrong-scale-count``, and the rules that make a
            scheme meaningless.
        """
        found = resolve(scheme).scheme
        dims = read_shape(shape)
        debug = found.debug()
        if found.is_two_level and global_scale is None:
            raise errors.build("data-needs-global", scheme=debug)
        if not found.is_two_level and global_scale is not None:
            raise errors.build("data-superfluous-global", scheme=debug)
        check(found, dims, op="dequantize", codebook=found.mode is QuantMode.LOOKUP).demand()
        fields = _codes_of(codes, dims)
        plan = make_plan(found, dims)
        stored = _stored_scales(scales, plan.grid, found, dims)
        parts = [pack_fields(fields, plan).tobytes(), stored.tobytes()]
        if global_scale is not None:
            parts.append(np.float32(global_scale).astype("<f4").tobytes())
        return cls(b"".join(parts), dims, found)

    def __iter__(self) -> Iterator[Any]:
        """Iterate the raw codes of quantized data, or the scalars of plain data, in C order."""
        if isinstance(self._dtype, QuantScheme):
            if self._dtype.mode is QuantMode.LOOKUP:
                raise errors.build("lookup-not-iterable")
            split = regions.split(self._dtype, self._shape, self._bytes)
            codes = unpack_fields(values_of(split, self._dtype, self._shape), make_plan(self._dtype, self._shape))
            return iter(codes.reshape(-1).tolist())
        return iter(self.to_numpy().reshape(-1).tolist())

    def __len__(self) -> int:
        return prod(self._shape)

    def to_numpy(self) -> np.ndarray:
        """Plain data as a read-only ndarray; quantized data is a refusal (dequantize it instead)."""
        if isinstance(self._dtype, QuantScheme):
            raise errors.build("input-dtype", dtype=dtype_debug(self._dtype))
        return np.frombuffer(self._bytes, _PLAIN[self._dtype]).reshape(self._shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorData):
            return NotImplemented
        return (self._bytes, self._shape, self._dtype) == (other._bytes, other._shape, other._dtype)

    def __hash__(self) -> int:
        return hash((self._bytes, self._shape, self._dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorData, (self._bytes, self._shape, self._dtype)

    def __repr__(self) -> str:
        return f"TensorData({len(self._bytes)} bytes, shape={self._shape}, dtype={dtype_debug(self._dtype)})"


def dtype_debug(dtype: QuantScheme | str) -> str:
    """The Debug text of a dtype, as Burn prints it: ``F32`` or ``QFloat(QuantScheme { ... })``."""
    return f"QFloat({dtype.debug()})" if isinstance(dtype, QuantScheme) else dtype


def values_of(split: regions.Regions, scheme: QuantScheme, shape: tuple[int, ...]) -> np.ndarray:
    """The values region in its storage shape; the unpadded form of ragged Q8 words is padded."""
    storage = packing.storage_shape(scheme, shape)
    dtype = np.dtype(packing.values_dtype_name(scheme)).newbyteorder("<")
    raw = np.frombuffer(split.values, np.uint8)
    if raw.size == packing.values_nbytes(scheme, shape):
        return raw.view(dtype).reshape(storage)
    # Burn's CPU writes ragged Q8 lines without padding: one byte per value, in order.
    return pack_fields(raw.view(np.int8).reshape(shape or (1,)), make_plan(scheme, shape))


def _dtype_of(dtype: Any) -> QuantScheme | str:
    if isinstance(dtype, QuantScheme):
        return dtype
    if isinstance(dtype, str):
        name = _ALIASES.get(dtype, dtype)
        if name in _PLAIN:
            return name
        return resolve(dtype).scheme
    try:
        found = _NAMES.get(np.dtype(dtype).newbyteorder("<"))
    except TypeError:
        found = None
    if found is None:
        raise errors.build("unknown-name", kind="dtype", name=str(dtype), choices=tuple(_PLAIN))
    return found


def _codes_of(codes: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(codes)
    if array.size and array.dtype.kind not in "iu":
        raise errors.build("data-value-type")
    if array.size != prod(shape):
        raise errors.build("data-values-count", count=int(array.size), shape=str(list(shape)))
    return array.reshape(shape or (1,))


def _stored_scales(scales: Any, grid: tuple[int, ...], scheme: QuantScheme, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(scales, np.float32).reshape(-1)
    if array.size != prod(grid):
        if scheme.block_size is None:
            raise errors.build("wrong-scale-count", variant="per-tensor", count=int(array.size))
        raise errors.build(
            "wrong-scale-count", count=int(array.size), dims=str(list(shape)), block=scheme.block_size.debug()
        )
    return round_up_signed(array.reshape(grid), scheme.scale_dtype, scheme)


def round_up_signed(array: np.ndarray, dtype: ScaleDtype, scheme: QuantScheme) -> np.ndarray:
    """Scales in their storage dtype, magnitudes rounded up, signs and NaN kept where the dtype has them."""
    numbers = make_scale_numbers(dtype, "up", scheme.value, 1.0)
    negative = np.signbit(array) & (array != 0)
    if dtype is ScaleDtype.UE8M0 and negative.any():
        at = int(np.flatnonzero(negative.reshape(-1))[0])
        raise errors.build("negative-scale", what="scales", value=float(array.reshape(-1)[at]), index=at)
    nan = np.isnan(array)
    rounded = scale_rounding.round_scales(np.where(nan, np.float32(0), np.abs(array)).astype(np.float32), numbers)
    signed = np.where(nan, np.float32(np.nan), np.where(negative, -rounded, rounded)).astype(np.float32)
    return scale_rounding.encode_scales(signed, dtype)
