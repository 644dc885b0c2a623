"""The cpu backend: one small method per verb, each a call of a kernel over tasks."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from qcore.backends.cpu import compare, numbers
from qcore.backends.cpu.geometry import Geometry, make_geometry
from qcore.backends.cpu.staged import StagedArray
from qcore.backends.cpu.threads import run
from qcore.plan import INTEGER, Packing
from qcore_ext import decode, packing

if TYPE_CHECKING:
    from qcore.backends.protocol import ErrorSums, Parts
    from qcore.plan import Plan


class Cpu:
    """Everything the scheme model can express."""

    def stage(self, x: np.ndarray, plan: Plan, threads: int | None = None) -> StagedArray:
        """Hold ``x`` for measuring and encoding; nothing is copied."""
        return StagedArray(x, plan, threads)

    def decode(
        self, values: np.ndarray, scales: np.ndarray, global_scale: np.float32 | None, plan: Plan, out: np.ndarray,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        """Dequantize into ``out``: in float32, rounded once where it is narrower."""
        n = numbers.of_plan(plan)
        g = numbers.geometry_of(plan, out)
        whole = numbers.whole(global_scale)
        arguments = (
            np.ascontiguousarray(values), np.ascontiguousarray(scales), whole, out, g.packed, n.codec, n.scale,
        )  # fmt: skip
        run(decode.decode, arguments, g.word_tasks, g.elements, threads)

    def pack(self, codes: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes into the storage layout."""
        g = _dense(plan)
        values = np.empty(plan.storage_shape, numbers.of_plan(plan).values_dtype)
        arguments = (np.ascontiguousarray(codes), values, g.packed)
        run(packing.pack, arguments, g.word_tasks, g.elements, threads)
        return values

    def unpack(self, values: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes of stored values."""
        g = _dense(plan)
        codes = np.empty(plan.shape, np.int8 if plan.codec.kind == INTEGER else np.uint8)
        sign = numbers.of_plan(plan).sign
        arguments = (np.ascontiguousarray(values), codes, sign, g.packed)
        run(packing.unpack, arguments, g.word_tasks, g.elements, threads)
        return codes

    def errors(
        self, x: np.ndarray, parts: Parts, plan: Plan, rank_percent: float, threads: int | None = None
    ) -> ErrorSums:
        """Compare ``x`` with its quantized form."""
        return compare.errors(x, parts, plan, rank_percent, threads)


def _dense(plan: Plan) -> Geometry:
    """Geometry of one byte per element in C order, beside the plan's words."""
    return _dense_of(plan.shape, plan.packing)


@lru_cache(maxsize=256)
def _dense_of(shape: tuple[int, ...], words: Packing) -> Geometry:
    strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return make_geometry(shape, strides, 0, shape, words)


@lru_cache(maxsize=1)
def open_backend() -> Cpu:
    """Open the cpu backend."""
    return Cpu()
