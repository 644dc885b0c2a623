"""A tensor held for the cpu kernels: measured block by block, then encoded. The array stays where the caller has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from qcore.backends.cpu import numbers, ranks, sums, threads
from qcore.backends.cpu.geometry import Geometry, coarsen
from qcore.backends.protocol import Parts
from qcore.calibration.solve import global_scale_of
from qcore_ext import encode, ggml, measure, quantize, scales, search

if TYPE_CHECKING:
    from qcore.plan import Plan

CANDIDATES = 32


class StagedArray:
    """One array under one plan."""

    __slots__ = ("_geometry", "_numbers", "_plan", "_threads", "_x")

    def __init__(self, x: np.ndarray, plan: Plan, count: int | None) -> None:
        self._x = x
        self._plan = plan
        self._threads = count
        self._numbers = numbers.of_plan(plan)
        self._geometry = numbers.geometry_of(plan, x)

    def nonfinite(self) -> tuple[int, int] | None:
        """Count of non-finite elements and the flat C index of the first; None when all are finite."""
        _, g = numbers.measuring(self._plan, self._x, self._plan.shape)
        count, index = threads.run(
            measure.nonfinite, (self._x, g.packed), g.block_tasks, g.elements, self._threads
        )
        return (count, index) if count else None

    def peaks(self, extents: tuple[int, ...]) -> np.ndarray:
        """Largest finite magnitude of every block of these extents."""
        return self._peaks(extents, finite=True).reshape(self._grid(extents))

    def means(self, extents: tuple[int, ...]) -> np.ndarray:
        """Mean magnitude of the finite elements of every block."""
        total, count = self._sums(extents)
        means = np.asarray(total / np.maximum(count, 1), np.float32)
        return means.reshape(self._grid(extents))

    def percentiles(self, extents: tuple[int, ...], percent: float) -> np.ndarray:
        """The k-th smallest finite magnitude of every block; its peak where that is 0."""
        _, count = self._sums(extents)
        found = ranks.smallest(
            self._x, self._measuring(extents), ranks.rank_of(percent, count), self._threads
        )
        if not found.all():
            found = np.where(found == 0, self._peaks(extents, finite=True), found)
        return np.asarray(found).reshape(self._grid(extents))

    def search(self, peaks: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """The candidate of least squared error for every block of the plan, the first of equals."""
        g = self._geometry
        peaks = np.ascontiguousarray(peaks, np.float32)
        winners = np.zeros(g.blocks, np.uint8)
        errors = np.empty((g.blocks, g.chunks if g.chunks > 1 else 0, CANDIDATES))
        arguments = (
            self._x, peaks, numbers.whole(global_scale), errors, winners, g.chunks, g.packed, self._numbers.codec,
            self._numbers.scale,
        )  # fmt: skip
        threads.run(search.search, arguments, g.blocks * g.chunks, g.elements * CANDIDATES, self._threads)
        if g.chunks > 1:
            winners = sums.add_chunks(errors.swapaxes(1, 2)).argmin(axis=-1).astype(np.uint8)
        return winners.reshape(self._plan.grid)

    def encode(self, scales: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """Values under stored scales (in their storage dtype, or as the float32 numbers they stand for)."""
        stored = np.ascontiguousarray(scales)
        if stored.dtype != self._numbers.scale_dtype:
            stored = numbers.stored_scales(stored, self._plan)
        if self._plan.scale.mbits == 0 and not stored.view(np.uint8).all():
            return self._encode_with_zero_blocks(stored)
        return self._encode(stored, global_scale, self._numbers.scale)

    def quantize_minmax(self) -> Parts | None:
        """Min-max from here to the stored parts; None when a non-finite element was met."""
        if self._plan.two_level or not self._geometry.fused:
            return self._minmax_in_two_passes()
        return self._in_one_pass(quantize.minmax, self._numbers.codec, self._numbers.scale)

    def quantize_ggml(self) -> Parts | None:
        """The arithmetic of ggml in one pass; None when a non-finite element was met."""
        return self._in_one_pass(ggml.minmax)

    def _in_one_pass(self, kernel: Callable[..., bool], *more: bytes) -> Parts | None:
        g, n = self._geometry, self._numbers
        stored = np.empty(self._plan.grid, n.scale_dtype)
        values = np.empty(self._plan.storage_shape, n.values_dtype)
        arguments = (self._x, stored, values, g.packed, *more)
        finite = threads.run(kernel, arguments, g.block_tasks, g.elements, self._threads)
        return Parts(values, stored, None) if finite else None

    def _minmax_in_two_passes(self) -> Parts | None:
        plan, n = self._plan, self._numbers
        peaks = self._peaks(plan.extents, finite=False)
        largest = peaks.max()  # NaN wins
        if not np.isfinite(largest):
            return None
        whole = global_scale_of(np.asarray([largest]), plan.scale) if plan.two_level else None
        stored = np.empty(plan.grid, n.scale_dtype)
        arguments = (peaks, numbers.whole(whole), stored, n.scale)
        threads.run(scales.solve, arguments, peaks.size, peaks.size, self._threads)
        return Parts(self.encode(stored, whole), stored, whole)

    def _encode(self, stored: np.ndarray, global_scale: np.float32 | None, scale: bytes) -> np.ndarray:
        g = self._geometry
        values = np.empty(self._plan.storage_shape, self._numbers.values_dtype)
        arguments = (self._x, stored, numbers.whole(global_scale), values, g.packed, self._numbers.codec, scale)
        threads.run(encode.encode, arguments, g.word_tasks, g.elements, self._threads)
        return values

    def _encode_with_zero_blocks(self, stored: np.ndarray) -> np.ndarray:
        """UE8M0 has no zero: a block without any magnitude has the smallest scale, and zero codes all the same."""
        divisors = numbers.scale_values(stored)
        zero = (self._peaks(self._plan.extents, finite=True).reshape(stored.shape) == 0) & (
            stored.view(np.uint8) == 0
        )
        divisors[zero] = 0
        return self._encode(divisors, None, numbers.float32_scales())

    def _peaks(self, extents: tuple[int, ...], *, finite: bool) -> np.ndarray:
        g, fine = numbers.measuring(self._plan, self._x, extents)
        grid = np.empty(fine.blocks, np.float32)
        arguments = (self._x, grid, finite, fine.packed)
        threads.run(measure.peaks, arguments, fine.block_tasks, fine.elements, self._threads)
        return grid if fine is g else coarsen(grid, fine.axes, g.axes)

    def _sums(self, extents: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        return sums.magnitudes(self._x, self._measuring(extents), self._threads)

    def _measuring(self, extents: tuple[int, ...]) -> Geometry:
        return numbers.measuring(self._plan, self._x, extents)[0]

    def _grid(self, extents: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of a grid of these extents; per tensor it is (1,), whatever the rank."""
        if extents == self._plan.extents:
            return self._plan.grid
        return tuple(-(-dim // extent) for dim, extent in zip(self._plan.shape, extents, strict=True))
