"""A plan's numbers as the structs that kernels read, and the geometries of its arrays: made once, kept with it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import ml_dtypes
import numpy as np

from qcore.backends.cpu.geometry import Geometry, finer, make_geometry, pack
from qcore.calibration.scale_rounding import decode_scales, encode_scales
from qcore.plan import INTEGER, LOOKUP
from qcore_ext import numbers

if TYPE_CHECKING:
    from qcore.plan import Codec, Plan, ScaleNumbers

DTYPES: Final = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(np.float16): 2,
    np.dtype(ml_dtypes.bfloat16): 3,
}
"""The number by which kernels know a float dtype."""

_Made = TypeVar("_Made")
_KEY: Final = "cpu"
_ENOUGH: Final = 64
"""Layouts of one plan worth remembering."""


class Numbers(NamedTuple):
    """What every kernel call of a plan is given."""

    codec: bytes
    scale: bytes
    scale_dtype: np.dtype[Any]
    values_dtype: np.dtype[Any]
    sign: int
    """Sign bit of a field, 0 where fields are unsigned."""
    geometries: dict[Any, Any]


def whole(global_scale: np.float32 | None) -> float:
    """The scale of all blocks together: 1 where there is none."""
    return 1.0 if global_scale is None else float(global_scale)


def of_plan(plan: Plan) -> Numbers:
    """The plan's numbers, packed at the first call."""
    found: Numbers | None = plan.extras.get(_KEY)
    if found is None:
        integers = plan.codec.kind == INTEGER
        stored = {1: np.int8 if integers else np.uint8, 4: np.uint32}
        packed_bytes = plan.packing.axis >= 0 and plan.packing.word_bytes == 1
        found = plan.extras[_KEY] = Numbers(
            _codec(plan.codec),
            _scale(plan.scale, plan.zero_substitute),
            np.dtype(plan.scale.dtype.numpy_dtype),
            np.dtype(np.uint8 if packed_bytes else stored[plan.packing.word_bytes]),
            1 << (plan.packing.bits - 1) if integers else 0,
            {},
        )
    return found


def geometry_of(plan: Plan, x: np.ndarray) -> Geometry:
    """Geometry of a float array of the plan's shape, with the plan's blocks and words."""
    geometries = of_plan(plan).geometries
    key = (x.strides, x.dtype)
    found: Geometry | None = geometries.get(key)
    return found or _keep(
        geometries, key, make_geometry(plan.shape, x.strides, DTYPES[x.dtype], plan.extents, plan.packing)
    )


def measuring(plan: Plan, x: np.ndarray, extents: tuple[int, ...]) -> tuple[Geometry, Geometry]:
    """Geometry of a float array under blocks of any extents; and under blocks nested in these, for many threads."""
    geometries = of_plan(plan).geometries
    key = (x.strides, x.dtype, extents)
    found: tuple[Geometry, Geometry] | None = geometries.get(key)
    if found is not None:
        return found
    g = make_geometry(plan.shape, x.strides, DTYPES[x.dtype], extents, None)
    nested = finer(g.axes)
    return _keep(geometries, key, (g, g if nested == g.axes else pack(nested, DTYPES[x.dtype])))


def _keep(geometries: dict[Any, Any], key: Any, made: _Made) -> _Made:
    if len(geometries) >= _ENOUGH:
        geometries.clear()
    geometries[key] = made
    return made


def stored_scales(scales: np.ndarray, plan: Plan) -> np.ndarray:
    """Representable scales, given as float32 numbers, in their storage dtype."""
    return encode_scales(scales, plan.scale.dtype)


def scale_values(stored: np.ndarray) -> np.ndarray:
    """Stored scales as a new array of float32 numbers."""
    return np.array(decode_scales(stored), np.float32)


@lru_cache(maxsize=1)
def float32_scales() -> bytes:
    """Numbers of scales that are plain float32."""
    largest = float(np.finfo(np.float32).max)
    return numbers.pack_scale(
        DTYPES[np.dtype(np.float32)], 4, 23, -126, 0, 0, 0, largest, 2.0**-149, 1.0, 0.0, b""
    )


def _codec(codec: Codec) -> bytes:
    under = over = 0.0
    if codec.kind == LOOKUP:
        entries = np.unique(codec.table).astype(np.float64)
        first_gap, last_gap = (
            (entries[1] - entries[0], entries[-1] - entries[-2]) if entries.size > 1 else (0.0, 0.0)
        )
        under, over = float(entries[0] - first_gap / 2), float(entries[-1] + last_gap / 2)
    return numbers.pack_codec(
        codec.kind, codec.bits, codec.lo, codec.hi, codec.half_even, codec.mbits, codec.emin, codec.top,
        codec.zero_code, under, over, codec.table.tobytes(), codec.bounds.tobytes(), codec.order.tobytes(),
    )  # fmt: skip


def _scale(scale: ScaleNumbers, zero_substitute: float) -> bytes:
    if scale.table is not None:
        kind = numbers.BYTE
    else:
        kind = DTYPES[np.dtype(scale.dtype.numpy_dtype)]
    return numbers.pack_scale(
        kind, scale.nbytes, scale.mbits, scale.emin, scale.rule, scale.elem_emax, scale.elem_mbits, scale.top,
        scale.smallest, scale.half_range, zero_substitute, b"" if scale.table is None else scale.table.tobytes(),
    )  # fmt: skip
