"""The OpenCL backend: the steps of the staircase over tiles that fit the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qcore.backends import loader
from qcore.backends.opencl import steps
from qcore.backends.opencl.session import Session
from qcore.backends.opencl.staged import StagedTensor
from qcore.backends.opencl.stream import Stream
from qcore.backends.opencl.tiles import Tile, tiles
from qcore.layout import packing as layout

if TYPE_CHECKING:
    from qcore.backends.protocol import ErrorSums, Parts
    from qcore.plan import Plan

HOST = "cpu"
"""The backend that measures in float64: means, percentiles, least-squares searches and comparisons."""


class OpenCL:
    """A device that runs plans. Means, percentiles, searches and comparisons come from the host's kernels."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def stage(self, x: np.ndarray, plan: Plan, threads: int | None = None) -> StagedTensor:
        """Hold ``x``, narrowed to float32 where it is wider."""
        self.session.check_process()
        return StagedTensor(self.session, x, plan, lambda: loader.engine(HOST).stage(x, plan, threads))

    def decode(
        self, values: np.ndarray, scales: np.ndarray, global_scale: np.float32 | None, plan: Plan, out: np.ndarray,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        """Dequantize in float32 and round once to the dtype of ``out``."""
        stream = Stream(self.session)
        dtype = np.dtype(np.float32) if out.dtype == np.float64 else out.dtype
        grid = scales.reshape(grid_shape(plan.shape, plan.extents))
        for tile in tiles(plan, plan.extents, self.session.max_alloc // 4):
            floats = _target(out[tile.where], dtype)
            with stream.doing("dequantize"):
                stored = stream.upload(np.ascontiguousarray(grid[tile.grid]), "scales")
                words = stream.upload(np.ascontiguousarray(values[tile.storage]), "values")
                level = _level(stream, global_scale, plan)
                place = steps.place(stream, plan, tile.shape, tile.extents)
                to = stream.output(floats)
                steps.decode(stream, words, stored, level, to, dtype, place, plan)
                stream.fetch(to, floats, "floats")
            _deliver(floats, out, tile.where)

    def pack(self, codes: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes into the storage layout."""
        dtype = np.dtype(layout.values_dtype_name(plan.scheme))
        if plan.packing.axis < 0:
            return np.ascontiguousarray(codes, dtype)
        values = np.empty(plan.storage_shape, dtype)
        stream = Stream(self.session)
        for tile in tiles(plan, plan.extents, self.session.max_alloc):
            words = _target(values[tile.storage], dtype)
            with stream.doing("pack"):
                fields = stream.upload(np.ascontiguousarray(codes[tile.where]), "codes")
                to = stream.output(words)
                steps.pack(stream, fields, to, _place(stream, plan, tile), plan)
                stream.fetch(to, words, "values")
            _deliver(words, values, tile.storage)
        return values

    def unpack(self, values: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes of stored values."""
        dtype = np.dtype(layout.codes_dtype_name(plan.scheme))
        if plan.packing.axis < 0:
            return np.ascontiguousarray(values, dtype)
        codes = np.empty(plan.shape, dtype)
        stream = Stream(self.session)
        for tile in tiles(plan, plan.extents, self.session.max_alloc):
            fields = _target(codes[tile.where], dtype)
            with stream.doing("unpack"):
                words = stream.upload(np.ascontiguousarray(values[tile.storage]), "values")
                to = stream.output(fields)
                steps.unpack(stream, words, to, _place(stream, plan, tile), plan)
                stream.fetch(to, fields, "codes")
            _deliver(fields, codes, tile.where)
        return codes

    def errors(
        self, x: np.ndarray, parts: Parts, plan: Plan, rank_percent: float, threads: int | None = None
    ) -> ErrorSums:
        """Compare ``x`` with its quantized form, on the host."""
        return loader.engine(HOST).errors(x, parts, plan, rank_percent, threads)


def grid_shape(shape: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...]:
    """Blocks along every axis, also where the scales of a whole tensor are kept as (1,)."""
    return tuple(-(-dim // extent) for dim, extent in zip(shape, extents, strict=True))


def _place(stream: Stream, plan: Plan, tile: Tile) -> steps.Placed:
    return steps.place(stream, plan, tile.shape, tile.extents)


def _level(stream: Stream, global_scale: np.float32 | None, plan: Plan) -> Any:
    if global_scale is None:
        return steps.one(stream, plan)
    return stream.constant(np.array([global_scale], np.float32))


def _target(place: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Where a device may write: in place where it lies dense, else beside it."""
    return place if place.dtype == dtype and place.flags.c_contiguous else np.empty(place.shape, dtype)


def _deliver(found: np.ndarray, whole: np.ndarray, where: tuple[slice, ...]) -> None:
    if not np.may_share_memory(found, whole):
        whole[where] = found
