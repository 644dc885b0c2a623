"""A tensor held for a device: measured by its kernels where the order of reduction is free, by the host's where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qcore.backends.opencl import steps
from qcore.backends.opencl.stream import Stream
from qcore.backends.opencl.tiles import Tile, tiles
from qcore.backends.protocol import Parts
from qcore.calibration.scale_rounding import encode_scales
from qcore.calibration.solve import solve
from qcore.layout import packing as layout

if TYPE_CHECKING:
    from qcore.backends.opencl.session import Session
    from qcore.backends.protocol import Staged
    from qcore.plan import Plan

_F32 = np.dtype(np.float32)


class StagedTensor:
    """A tensor as float32, float16 or bfloat16 and the plan it is measured and encoded for."""

    def __init__(self, session: Session, x: np.ndarray, plan: Plan, host: Callable[[], Staged]) -> None:
        self._session = session
        self._plan = plan
        self._host = host
        self._dtype = _F32 if x.dtype == np.float64 else x.dtype
        with np.errstate(over="ignore", invalid="ignore"):
            self._x = x.astype(_F32) if x.dtype == np.float64 else x

    def nonfinite(self) -> tuple[int, int] | None:
        """Count of non-finite elements and the flat index of the first."""
        if (self._measured(self._plan.extents, steps.ANY) < steps.FINITE).all():
            return None
        wrong = ~np.isfinite(self._x.reshape(-1))
        return int(wrong.sum()), int(wrong.argmax())

    def peaks(self, extents: tuple[int, ...]) -> np.ndarray:
        """Largest finite magnitude of every block."""
        grid = self._measured(extents, steps.FINITE).view(np.float32)
        return grid.reshape(self._plan.grid) if extents == self._plan.extents else grid

    def means(self, extents: tuple[int, ...]) -> np.ndarray:
        """Mean magnitude of the finite elements of every block, from the host's kernels."""
        return self._host().means(extents)

    def percentiles(self, extents: tuple[int, ...], percent: float) -> np.ndarray:
        """The k-th smallest finite magnitude of every block, from the host's kernels."""
        return self._host().percentiles(extents, percent)

    def search(self, peaks: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """The candidate of least squared error for every block, from the host's kernels."""
        return self._host().search(peaks, global_scale)

    def encode(self, scales: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """Values under stored scales."""
        plan = self._plan
        if scales.dtype != plan.scale.dtype.numpy_dtype:
            scales = encode_scales(scales, plan.scale.dtype)
        grid = scales.reshape(_grid(plan, plan.extents))
        values = self._empty_values()
        stream = Stream(self._session)
        # Where no scale can be 0, a block without any magnitude is known by its peak.
        whole = self._measured(plan.extents, steps.FINITE) if plan.scale.mbits == 0 else None
        for tile in self._tiles(plan.extents):
            words = self._words(values, tile)
            with stream.doing("quantize"):
                x = stream.upload(np.ascontiguousarray(self._x[tile.where]), "x")
                stored = stream.upload(np.ascontiguousarray(grid[tile.grid]), "scales")
                peaks = None if whole is None else stream.upload(np.ascontiguousarray(whole[tile.grid]), "peaks")
                level = self._level(stream, global_scale)
                to = stream.output(words)
                place = steps.place(stream, plan, tile.shape, tile.extents)
                steps.encode(stream, x, self._dtype, stored, level, peaks, to, place, plan)
                stream.fetch(to, words, "values")
            if not np.may_share_memory(words, values):
                values[tile.storage] = words
        return values

    def quantize_minmax(self) -> Parts | None:
        """Min-max from here to the stored parts: on the device throughout where one tile holds the tensor."""
        found = self._tiles(self._plan.extents)
        return self._in_one(found[0]) if len(found) == 1 else self._in_tiles()

    def quantize_ggml(self) -> Parts | None:
        """No kernel: the host does it."""
        return None

    def _in_one(self, tile: Tile) -> Parts | None:
        plan = self._plan
        values, wrong = self._empty_values(), np.zeros(1, np.uint32)
        stored = np.empty(plan.grid, plan.scale.dtype.numpy_dtype)
        level = np.zeros(1, np.float32)
        stream = Stream(self._session)
        with stream.doing("quantize"):
            x = stream.upload(np.ascontiguousarray(self._x), "x")
            place = steps.place(stream, plan, tile.shape, tile.extents)
            to_stored, to_wrong, to_values = stream.output(stored), stream.output(wrong), stream.output(values)
            stream.clear(to_wrong, wrong.nbytes)
            above = steps.minmax(stream, x, self._dtype, to_stored, to_values, to_wrong, place, plan)
            stream.fetch(to_wrong, wrong, "flag")
            stream.fetch(to_stored, stored, "scales")
            stream.fetch(to_values, values, "values")
            if plan.two_level:
                stream.fetch(above, level, "global scale")
        return None if wrong[0] else Parts(values, stored, level[0] if plan.two_level else None)

    def _in_tiles(self) -> Parts | None:
        plan = self._plan
        grid = self._measured(plan.extents, steps.ANY)
        if (grid >= steps.FINITE).any():
            return None
        peaks = grid.view(np.float32).reshape(plan.grid)
        scales, level = solve(peaks, plan.scale, two_level=plan.two_level)
        stored = encode_scales(scales, plan.scale.dtype)
        return Parts(self.encode(stored, level), stored, level)

    def _measured(self, extents: tuple[int, ...], limit: np.uint32) -> np.ndarray:
        """Bits of the largest magnitude below the limit in every block."""
        whole = np.zeros(_grid(self._plan, extents), np.uint32)
        stream = Stream(self._session)
        for tile in self._tiles(extents):
            found = np.empty(_shape_of(whole, tile), np.uint32)
            with stream.doing("measure"):
                x = stream.upload(np.ascontiguousarray(self._x[tile.where]), "x")
                place = steps.place(stream, self._plan, tile.shape, tile.extents)
                grid = steps.peaks(stream, x, self._dtype, place, limit)
                stream.fetch(grid, found, "peaks")
            whole[tile.grid] = np.maximum(whole[tile.grid], found)
        return whole

    def _tiles(self, extents: tuple[int, ...]) -> list[Tile]:
        return tiles(self._plan, extents, self._session.max_alloc // self._dtype.itemsize)

    def _empty_values(self) -> np.ndarray:
        return np.empty(self._plan.storage_shape, layout.values_dtype_name(self._plan.scheme))

    def _words(self, values: np.ndarray, tile: Tile) -> np.ndarray:
        """Where the words of a tile may be written: in place where they lie dense, else beside it."""
        place = values[tile.storage]
        return place if place.flags.c_contiguous else np.empty(place.shape, place.dtype)

    def _level(self, stream: Stream, global_scale: np.float32 | None) -> Any:
        if global_scale is None:
            return steps.one(stream, self._plan)
        return stream.constant(np.array([global_scale], np.float32))


def _grid(plan: Plan, extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-(-dim // extent) for dim, extent in zip(plan.shape, extents, strict=True))


def _shape_of(whole: np.ndarray, tile: Tile) -> tuple[int, ...]:
    return whole[tile.grid].shape
