"""A plan: everything a kernel needs to know about one scheme and one shape, as numbers.

Names stop here. Kernels (Cython, OpenCL, NumPy) receive the numbers of :class:`Codec`, :class:`ScaleNumbers` and
:class:`Packing`; none of them owns a constant of a format, so they cannot disagree about one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore.layout import packing as layout
from qcore.scheme import QuantMode, QuantScheme, QuantValue, ScaleDtype

if TYPE_CHECKING:
    from qcore.scheme.codebook import Codebook

INTEGER: Final = 0
MINIFLOAT: Final = 1
LOOKUP: Final = 2

# The order is the number that crosses into kernels.
SCALE_RULES: Final = ("up", "nearest", "floor", "even")
ROUNDINGS: Final = ("half-away", "half-even")

_NO_BOUNDS: Final = np.zeros(0, np.float32)
_NO_ORDER: Final = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """Numbers of one element type: how a scaled float becomes a field of ``bits`` bits and back.

    ``table`` decodes every kind: the f32 value of each unsigned field. Integers round ties away from zero, or to
    even with ``half_even``, and clamp to ``lo..hi``. Minifloats round to nearest even with ``mbits`` of mantissa,
    normal from ``2**emin`` on, saturating at ``top``. Lookup counts the ``bounds`` a value exceeds and maps the count
    through ``order``.
    """

    kind: int
    bits: int
    lo: int
    hi: int
    half_even: bool
    mbits: int
    emin: int
    top: float
    zero_code: int
    half_range: float
    table: np.ndarray
    bounds: np.ndarray = field(default_factory=lambda: _NO_BOUNDS)
    order: np.ndarray = field(default_factory=lambda: _NO_ORDER)


@dataclass(frozen=True, slots=True, eq=False)
class ScaleNumbers:
    """Numbers of one scale dtype and of the rule that rounds onto it.

    Representable are 0 (not for UE8M0), multiples of ``smallest`` below ``2**emin`` and floats of ``mbits`` mantissa
    bits up to ``top``. ``half_range`` is the divisor h of decisions on scales: needed = f32(peak / h). The element's
    ``elem_emax`` and ``elem_mbits`` serve the OCP rules floor and even. ``table`` decodes 8-bit scales.
    """

    dtype: ScaleDtype
    nbytes: int
    mbits: int
    emin: int
    top: float
    smallest: float
    rule: int
    half_range: float
    elem_emax: int
    elem_mbits: int
    table: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Packing:
    """``per_word`` fields of ``bits`` bits in words of ``word_bytes`` bytes along ``axis`` (-1: one value per word)."""

    bits: int
    per_word: int
    word_bytes: int
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One scheme applied to one shape, as numbers. ``shape`` is at least 1-D: a 0-d tensor is planned as (1,).

    ``extents`` are the block's extents along every axis (per tensor: the shape itself); ``grid`` is the shape of
    the stored scales, ``(1,)`` per tensor. ``zero_substitute`` is 0, or the divisor that stands in for an effective
    scale of 0.
    """

    scheme: QuantScheme
    shape: tuple[int, ...]
    extents: tuple[int, ...]
    grid: tuple[int, ...]
    storage_shape: tuple[int, ...]
    codec: Codec
    scale: ScaleNumbers
    packing: Packing
    two_level: bool
    zero_substitute: float
    extras: dict[str, Any] = field(default_factory=dict)
    """Room for what a backend derives once per plan (packed structs, built programs)."""


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@lru_cache(maxsize=32)
def minifloat_table(bits: int, mbits: int, emin: int, top: float) -> np.ndarray:
    """Value of every code of a sign-exponent-mantissa format, as float32 of shape (2**bits,).

    A magnitude beyond ``top`` is infinity when its mantissa is 0 (E5M2), else NaN (E4M3's 0x7F).
    """
    code = np.arange(1 << (bits - 1))
    exponent, mantissa = code >> mbits, code & ((1 << mbits) - 1)
    normal = exponent > 0
    significand = mantissa + np.where(normal, 1 << mbits, 0)
    value = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - 1 + emin - mbits)
    value = np.where(value > top, np.where(mantissa == 0, np.inf, np.nan), value)
    return _read_only(np.concatenate([value, -value]).astype(np.float32))


@lru_cache(maxsize=256)
def make_codec(value: QuantValue, mode: QuantMode, codebook: Codebook | None, half_even: bool) -> Codec:
    """Numbers of an element type; in lookup mode, of indices into the codebook's table.

    A lookup codec without a codebook only packs and unpacks indices: its table is the index itself.
    """
    if mode is QuantMode.LOOKUP:
        size = 1 << value.bits
        if codebook is None:
            table = _read_only(np.arange(size, dtype=np.float32))
            peak, zero, bounds, order = float(size - 1), 0, _NO_BOUNDS, _NO_ORDER
        else:
            table, peak, zero = codebook.table, float(codebook.peak), codebook.zero_index
            bounds, order = codebook.bounds, codebook.order
        return Codec(
            kind=LOOKUP, bits=value.bits, lo=0, hi=size - 1, half_even=half_even, mbits=0, emin=0, top=peak,
            zero_code=zero, half_range=peak, table=table, bounds=bounds, order=order,
        )  # fmt: skip
    if value.is_minifloat:
        table = minifloat_table(value.bits, value.mbits, value.emin, float(value.hi))
        kind = MINIFLOAT
    else:
        unsigned = np.arange(1 << value.bits)
        sign = 1 << (value.bits - 1)
        table = _read_only(((unsigned ^ sign) - sign).astype(np.float32))
        kind = INTEGER
    return Codec(
        kind=kind, bits=value.bits, lo=int(value.lo), hi=int(value.hi), half_even=half_even, mbits=value.mbits,
        emin=value.emin, top=float(value.hi), zero_code=0, half_range=float(value.half_range), table=table,
    )  # fmt: skip


@lru_cache(maxsize=32)
def scale_table(dtype: ScaleDtype) -> np.ndarray | None:
    """Value of every byte of an 8-bit scale dtype (NaN and negative codes included); None for wider ones."""
    if dtype.nbytes != 1:
        return None
    return _read_only(np.arange(256, dtype=np.uint8).view(dtype.numpy_dtype).astype(np.float32))


@lru_cache(maxsize=256)
def make_scale_numbers(dtype: ScaleDtype, rule: str, value: QuantValue, half_range: float) -> ScaleNumbers:
    """Numbers of a scale dtype under a rounding rule, for elements of ``value``."""
    return ScaleNumbers(
        dtype=dtype, nbytes=dtype.nbytes, mbits=dtype.mbits, emin=dtype.emin, top=float(dtype.max_representable),
        smallest=float(dtype.smallest), rule=SCALE_RULES.index(rule), half_range=half_range,
        elem_emax=value.emax if value.is_minifloat else 0, elem_mbits=value.mbits if value.is_minifloat else 0,
        table=scale_table(dtype),
    )  # fmt: skip


@lru_cache(maxsize=4096)
def make_plan(
    scheme: QuantScheme,
    shape: tuple[int, ...],
    *,
    codebook: Codebook | None = None,
    rounding: str = "half-away",
    scale_rounding: str = "up",
    zero_substitute: float = 0.0,
) -> Plan:
    """Plan a legal scheme for a shape. Whether it is legal was settled before, by ``qcore.capability``."""
    dims = shape or (1,)
    block = scheme.block_size
    extents = dims if block is None else block.expand(len(dims))
    codec = make_codec(scheme.value, scheme.mode, codebook, rounding == "half-even")
    axis = layout.packed_axis(scheme.store, len(dims))
    return Plan(
        scheme=scheme,
        shape=dims,
        extents=tuple(extents),
        grid=layout.grid_shape(scheme, dims),
        storage_shape=layout.storage_shape(scheme, dims),
        codec=codec,
        scale=make_scale_numbers(scheme.scale_dtype, scale_rounding, scheme.value, codec.half_range),
        packing=Packing(
            bits=codec.bits if axis is not None else 8,
            per_word=scheme.num_quants,
            word_bytes=np.dtype(layout.values_dtype_name(scheme)).itemsize,
            axis=-1 if axis is None else axis,
        ),
        two_level=scheme.is_two_level,
        zero_substitute=zero_substitute,
    )


def row_plan(plan: Plan) -> Plan:
    """The same numbers with one block per row of the last axis: how tied rows are measured."""
    rows = (1,) * (len(plan.shape) - 1)
    return replace(plan, extents=(*rows, plan.shape[-1]), grid=(*plan.shape[:-1], 1), extras={})
