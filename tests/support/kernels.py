"""Calls of single kernels, at any level that is built, on arrays whose end is guarded."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np

import qcore_ext
from qcore.backends.cpu import numbers
from qcore.backends.cpu.geometry import Geometry, make_geometry
from qcore.plan import Plan, make_plan
from qcore.scheme import QuantScheme
from qcore.scheme.codebook import Codebook

LEVELS = tuple(
    level for level in qcore_ext.available_levels() if level == qcore_ext.level() or level != "asan"
)

MINIFLOATS = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e2m1": "float4_e2m1fn"}


def plan_of(text: str, shape: tuple[int, ...], table: np.ndarray | None = None, **rules: Any) -> Plan:
    codebook = None if table is None else Codebook(table)
    return make_plan(QuantScheme.parse(text), shape, codebook=codebook, **rules)


def kernel(level: str, name: str) -> Any:
    return qcore_ext.load(name, level)


def geometry(x: np.ndarray, plan: Plan) -> Geometry:
    return make_geometry(plan.shape, x.strides, numbers.DTYPES[x.dtype], plan.extents, plan.packing)


def encode(
    level: str, x: np.ndarray, plan: Plan, scales: np.ndarray, values: np.ndarray | None = None
) -> np.ndarray:
    n, g = numbers.of_plan(plan), geometry(x, plan)
    values = np.empty(plan.storage_shape, n.values_dtype) if values is None else values
    kernel(level, "encode").encode(x, scales, 1.0, values, g.packed, n.codec, n.scale, 0, g.word_tasks)
    return values


def decode(level: str, values: np.ndarray, plan: Plan, scales: np.ndarray, out: np.ndarray) -> np.ndarray:
    n, g = numbers.of_plan(plan), geometry(out, plan)
    kernel(level, "decode").decode(values, scales, 1.0, out, g.packed, n.codec, n.scale, 0, g.word_tasks)
    return out


def minmax(
    level: str, x: np.ndarray, plan: Plan, scales: np.ndarray | None = None, values: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    n, g = numbers.of_plan(plan), geometry(x, plan)
    scales = np.empty(plan.grid, n.scale_dtype) if scales is None else scales
    values = np.empty(plan.storage_shape, n.values_dtype) if values is None else values
    finite = kernel(level, "quantize").minmax(x, scales, values, g.packed, n.codec, n.scale, 0, g.block_tasks)
    return (values, scales) if finite else None


def codes_of(level: str, x: np.ndarray, text: str, **rules: Any) -> np.ndarray:
    """Codes of ``x`` under a scale of 1."""
    return encode(level, x, plan_of(f"{text}/native/t:f32", x.shape, **rules), np.ones(1, np.float32))


def guarded(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array whose last byte is the last of its page, with a page behind it that must not be touched."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    page = mmap.PAGESIZE
    room = -(-max(size, 1) // page) * page
    memory = mmap.mmap(-1, room + page)
    if sys.platform.startswith("linux"):
        last = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + room
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(last), ctypes.c_size_t(page), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(memory, np.uint8, size, room - size).view(dtype).reshape(shape)


def boundary_floats(dtype_name: str) -> np.ndarray:
    """float32 numbers around everything where a conversion to the dtype can change: numbers, midpoints, +-2 steps."""
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, dtype_name, None) or dtype_name)
    bits = {1: np.uint8, 2: np.uint16}[dtype.itemsize]
    count = 16 if dtype_name == "float4_e2m1fn" else 1 << (8 * dtype.itemsize)
    with np.errstate(all="ignore"):
        every = np.arange(count).astype(bits).view(dtype).astype(np.float32)
        every = np.sort(np.abs(every[np.isfinite(every)]))
        middles = ((every[:-1].astype(np.float64) + every[1:]) / 2).astype(np.float32)
        ends = np.float32(
            [every[-1] * 1.0625, every[-1] * 1.25, every[-1] * 2, 3e38, np.inf, np.nan, 1e-45, 1e-40]
        )
    centres = np.concatenate([every, middles, ends]).view(np.uint32).astype(np.int64)
    around = (centres[:, None] + np.arange(-2, 3)).reshape(-1)
    around = around[(around >= 0) & (around < 1 << 31)].astype(np.uint32)
    magnitudes = np.unique(around).view(np.float32)
    return np.concatenate([magnitudes, -magnitudes])
