"""Reading back and moving codes: ``dequantize``, ``from_data``, ``pack`` and ``unpack``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from qcore import errors
from qcore.capability import backend_row, check
from qcore.layout.dims import read_shape
from qcore.plan import Plan, make_plan
from qcore.scheme import QuantMode, QuantScheme, QuantStore, QuantValue
from qcore.tensor import fields
from qcore.tensor.data import TensorData
from qcore.tensor.loading import load
from qcore.tensor.qtensor import QTensor
from qcore.tensor.tables import table_for


def dequantize(
    q: QTensor,
    dtype: Any = np.float32,
    out: np.ndarray | None = None,
    *,
    backend: str | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """Decode a quantized tensor to floats; see :meth:`QTensor.dequantize`.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> q = qcore.quantize(np.array([1.0, -2.54], np.float32), "q8s/native/t:f32")
    >>> qcore.dequantize(q).tolist()
    [1.0, -2.5399999618530273]
    """
    if not isinstance(q, QTensor):
        raise errors.build("argument-type", argument="q", expected="a QTensor", got=type(q).__name__)
    return q.dequantize(dtype, out, backend=backend, threads=threads)


def from_data(data: TensorData, backend: str = "cpu", codebook: Any = None) -> QTensor:
    """Build a quantized tensor from Burn's QFloat bytes, checked.

    Parameters
    ----------
    data : TensorData
        Quantized host data.
    backend : str
        Where the tensor is to live; ``burn-ndarray`` loads what Burn's ndarray backend loads, as Native.
    codebook : Codebook, str or array_like, optional
        The table of a lookup scheme, which QFloat bytes cannot carry.

    Raises
    ------
    QuantError
        ``not-quantized-data``, ``lookup-does-not-travel``, ``from-data-unsupported-scheme``, and those of bytes that
        are too short or too long.

    Examples
    --------
    >>> import qcore
    >>> d = qcore.TensorData(bytes([1, 255, 0, 0, 0, 0x3f]), (2,), "q8s/native/t:f32")
    >>> qcore.from_data(d).dequantize().tolist()
    [0.5, -0.5]
    """
    if not isinstance(data, TensorData):
        raise errors.build("argument-type", argument="data", expected="TensorData", got=type(data).__name__)
    scheme = data.dtype
    table = table_for(scheme, codebook) if isinstance(scheme, QuantScheme) else None
    return load(data, backend_row(backend).name, table, {})


def pack(codes: Any, value: Any, store: Any, *, mode: Any = QuantMode.SYMMETRIC) -> np.ndarray:
    """Pack codes into a store's words.

    Parameters
    ----------
    codes : array_like of int
        One code per element, in the logical shape; unsigned for minifloats and in lookup mode.
    value : QuantValue or str
    store : QuantStore or str
        ``"native"``, ``"u32"``, ``"u32:1"``, ``"packed"`` ...
    mode : QuantMode or str
        ``"lookup"``: codes are unsigned indices.

    Returns
    -------
    ndarray
        uint32 words, uint8 bytes or one int8/uint8 per value, in the storage shape; padding bits are zero.

    Raises
    ------
    InvalidSchemeError
        ``code-out-of-range``.

    Examples
    --------
    >>> import qcore
    >>> qcore.pack([-128, 2, -3, 127], "q8s", "u32").tolist()
    [2147287680]
    """
    array = np.asarray(codes)
    if array.size and array.dtype.kind not in "iu":
        raise errors.build("data-value-type")
    plan = _packing_plan(value, store, mode, array.shape)
    return fields.pack_fields(array.reshape(plan.shape), plan)


def unpack(words: Any, shape: Any, value: Any, store: Any, *, mode: Any = QuantMode.SYMMETRIC) -> np.ndarray:
    """Unpack a store's words into codes of a logical shape: the inverse of :func:`pack`.

    Returns
    -------
    ndarray
        int8 for integers; uint8 for minifloats and in lookup mode.

    Raises
    ------
    FormatError
        ``data-short`` or ``data-long`` where the words do not fill the shape.

    Examples
    --------
    >>> import qcore
    >>> qcore.unpack([0xFEDCBA98], (8,), "q4f", "u32").tolist()
    [-8, -7, -6, -5, -4, -3, -2, -1]
    """
    dims = read_shape(shape)
    plan = _packing_plan(value, store, mode, dims)
    dtype = fields.storage_dtype(plan)
    given = np.asarray(words)
    if given.size and given.dtype.kind not in "iu":
        raise errors.build("data-value-type")
    expected = prod(plan.storage_shape)
    if given.size != expected:
        code = "data-short" if given.size < expected else "data-long"
        raise errors.build(code, got=given.size * dtype.itemsize, expected=expected * dtype.itemsize)
    stored = np.ascontiguousarray(given.astype(dtype, copy=False)).reshape(plan.storage_shape)
    return fields.unpack_fields(stored, plan).reshape(dims)


def _packing_plan(value: Any, store: Any, mode: Any, shape: Sequence[int]) -> Plan:
    scheme = QuantScheme(QuantValue(value), QuantStore.parse(store), QuantMode(mode))
    dims = tuple(shape)
    check(scheme, dims, op="dequantize", codebook=scheme.mode is QuantMode.LOOKUP).demand()
    return make_plan(scheme, dims)
