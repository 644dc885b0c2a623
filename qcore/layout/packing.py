"""Where stored values lie: shapes and byte counts, integers only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from qcore import errors
from qcore.scheme.resolve import resolve
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.store import PACKED_U32, QuantStore

GLOBAL_SCALE_NBYTES: Final = 4
"""A two-level scheme's global scale is always stored as f32."""


def product(dims: Iterable[int]) -> int:
    """Return the number of elements of a shape, in integers that do not overflow.

    Examples
    --------
    >>> product((1 << 40, 1 << 40)) == 1 << 80
    True
    """
    return prod(dims)


def packed_axis(store: QuantStore, rank: int) -> int | None:
    """Return the axis that a store packs, or None when it packs none.

    Raises
    ------
    ShapeError
        ``packing-axis``, when the tensor has no such axis.

    Examples
    --------
    >>> packed_axis(QuantStore.packed_u32(0), 3), packed_axis(QuantStore.native(), 3)
    (2, None)
    """
    dim = store.packing_dim
    if dim is None:
        return None
    if dim >= max(rank, 1):
        raise errors.build("packing-axis", dim=dim, rank=rank)
    return max(rank, 1) - dim - 1


def storage_shape(scheme: QuantScheme, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the stored elements: the packed axis divided, each line rounded up.

    Raises
    ------
    ShapeError
        ``packing-axis``, when the tensor has no such axis.

    Examples
    --------
    >>> storage_shape(QuantScheme.parse("q4s/u32"), (3, 3))
    (3, 1)
    """
    stored = list(shape) or [1]
    axis = packed_axis(scheme.store, len(stored))
    if axis is not None:
        stored[axis] = -(-stored[axis] // scheme.num_quants)
    return tuple(stored)


def values_dtype_name(scheme: QuantScheme) -> str:
    """Return the NumPy name of the stored elements' type.

    Examples
    --------
    >>> [values_dtype_name(QuantScheme.parse(t)) for t in ("q4s/u32", "q4s/native", "e4m3/native", "q8f/native/lookup")]
    ['uint32', 'int8', 'uint8', 'uint8']
    """
    if scheme.store.kind == PACKED_U32:
        return "uint32"
    plain = scheme.store.is_native and scheme.value.is_integer and not scheme.is_lookup
    return "int8" if plain else "uint8"


def codes_dtype_name(scheme: QuantScheme) -> str:
    """Return the NumPy name of the unpacked codes' type.

    Examples
    --------
    >>> codes_dtype_name(QuantScheme.parse("q4s/u32")), codes_dtype_name(QuantScheme.parse("q4s/u32/lookup"))
    ('int8', 'uint8')
    """
    return "int8" if scheme.value.is_integer and not scheme.is_lookup else "uint8"


def values_nbytes(scheme: QuantScheme, shape: Sequence[int]) -> int:
    """Return the bytes of the values region.

    Raises
    ------
    ShapeError
        ``packing-axis``, when the tensor has no such axis.

    Examples
    --------
    >>> values_nbytes(QuantScheme.parse("q4s/u32"), (2, 5, 9)), values_nbytes(QuantScheme.parse("q4s/native"), (3, 3))
    (80, 9)
    """
    element = 4 if scheme.store.kind == PACKED_U32 else 1
    return element * prod(storage_shape(scheme, shape))


def grid_shape(scheme: QuantScheme, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the stored scales.

    Raises
    ------
    ShapeError
        ``block-rank``, when a block has more axes than the tensor.

    Examples
    --------
    >>> grid_shape(QuantScheme.parse("q8s/native/b4:f16"), (2, 9))
    (2, 3)
    """
    return scheme.params_shape(shape)


def scales_nbytes(scheme: QuantScheme, shape: Sequence[int]) -> int:
    """Return the bytes of the scales region, without the global scale.

    Raises
    ------
    ShapeError
        ``block-rank``, when a block has more axes than the tensor.

    Examples
    --------
    >>> scales_nbytes(QuantScheme.parse("q8s/native/b4:f16"), (2, 9))
    12
    """
    return prod(grid_shape(scheme, shape)) * scheme.scale_dtype.nbytes


def global_nbytes(scheme: QuantScheme) -> int:
    """Return the bytes of the global scale: 4 under two levels, else 0.

    Examples
    --------
    >>> global_nbytes(QuantScheme.nvfp4()), global_nbytes(QuantScheme())
    (4, 0)
    """
    return GLOBAL_SCALE_NBYTES if scheme.is_two_level else 0


def quantized_data_len(scheme: QuantScheme | str, shape: Sequence[int]) -> int:
    """Return the bytes of a whole quantized tensor: values, scales, global scale, nothing between.

    The scheme may also be given as its text or a preset's name.

    Raises
    ------
    ShapeError
        ``packing-axis`` or ``block-rank``, when the tensor has too few axes.

    Examples
    --------
    >>> quantized_data_len(QuantScheme.parse("q4s/u32"), (3, 3))
    16
    """
    if not isinstance(scheme, QuantScheme):
        scheme = resolve(scheme).scheme
    return values_nbytes(scheme, shape) + scales_nbytes(scheme, shape) + global_nbytes(scheme)


def unpadded_q8_len(scheme: QuantScheme, shape: Sequence[int]) -> int | None:
    """Return the length that Burn's CPU writers give a ragged 8-bit tensor in words, or None.

    They write one byte for each value, in C order, whatever the store says; where lines are not whole words
    that is shorter than `quantized_data_len`.

    Raises
    ------
    ShapeError
        ``packing-axis`` or ``block-rank``, when the tensor has too few axes.

    Examples
    --------
    >>> unpadded_q8_len(QuantScheme.parse("q8s/u32"), (2, 5)), unpadded_q8_len(QuantScheme.parse("q8s/u32"), (2, 8))
    (14, None)
    """
    padded = quantized_data_len(scheme, shape)
    if scheme.store.kind != PACKED_U32 or scheme.value.bits != 8 or not scheme.value.is_integer:
        return None
    flat = padded - values_nbytes(scheme, shape) + prod(shape)
    return flat if flat != padded else None
