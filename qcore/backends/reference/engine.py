"""The reference backend: stage, measure, encode, decode, pack and compare, one small method each."""

from __future__ import annotations

import numpy as np

from qcore.backends.protocol import ErrorSums, Parts
from qcore.backends.reference import blocks, codec, words
from qcore.calibration.methods import percentile_rank
from qcore.calibration.scale_rounding import decode_scales, encode_scales
from qcore.calibration.solve import MSE_CANDIDATES, block_scales, mse_factor, solve
from qcore.plan import Plan


class Reference:
    """Everything the scheme model can express, slowly. Threads are ignored."""

    def stage(self, x: np.ndarray, plan: Plan, threads: int | None = None) -> StagedArray:
        """Hold ``x``, narrowed to float32 where it is wider."""
        return StagedArray(x, plan)

    def decode(
        self, values: np.ndarray, scales: np.ndarray, global_scale: np.float32 | None, plan: Plan, out: np.ndarray,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        """Dequantize in float32 and round once to the dtype of ``out``."""
        decoded = codec.decode(self.unpack(values, plan), _effective(scales, global_scale, plan), plan.codec)
        with np.errstate(over="ignore", invalid="ignore"):
            out[...] = decoded.astype(out.dtype)

    def pack(self, codes: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes into the storage layout."""
        return words.pack(codes, plan)

    def unpack(self, values: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes of stored values."""
        return words.unpack(values, plan)

    def errors(
        self, x: np.ndarray, parts: Parts, plan: Plan, rank_percent: float, threads: int | None = None
    ) -> ErrorSums:
        """Compare ``x`` with its quantized form."""
        narrow = _float32(x)
        effective = _effective(parts.scales, parts.global_scale, plan)
        decoded = codec.decode(self.unpack(parts.values, plan), effective, plan.codec)
        finite = np.isfinite(narrow) & np.isfinite(decoded)
        a, b = (np.where(finite, side, 0).astype(np.float64) for side in (narrow, decoded))
        beyond = codec.clipped(codec.scaled(narrow, effective), plan.codec) & finite & (effective != 0)
        distance = _float32(np.abs(a - b))
        ranked = np.sort(distance[finite])
        count = ranked.size
        return ErrorSums(
            error=_sums((a - b) ** 2, plan),
            signal=_sums(a * a, plan),
            decoded=_sums(b * b, plan),
            cross=_sums(a * b, plan),
            pairs=_sums(finite, plan).astype(np.int64),
            clipped=int(beyond.sum()),
            max_abs=float(ranked[-1]) if count else 0.0,
            max_index=int(np.argmax(np.where(finite, distance, -1))) if count else -1,
            ranked=float(ranked[percentile_rank(rank_percent, count) - 1]) if count else 0.0,
        )


class StagedArray:
    """A tensor as float32, and the plan it is measured and encoded for."""

    def __init__(self, x: np.ndarray, plan: Plan) -> None:
        self._x = _float32(x)
        self._plan = plan

    def nonfinite(self) -> tuple[int, int] | None:
        """Count of non-finite elements and the flat index of the first."""
        wrong = ~np.isfinite(self._x).reshape(-1)
        return (int(wrong.sum()), int(wrong.argmax())) if wrong.any() else None

    def peaks(self, extents: tuple[int, ...]) -> np.ndarray:
        """Largest finite magnitude of every block."""
        return self._measure(self._magnitudes(missing=0), extents, lambda rows: rows.max(axis=1))

    def means(self, extents: tuple[int, ...]) -> np.ndarray:
        """Mean magnitude of the finite elements of every block, 0 where there is none."""
        magnitudes = self._magnitudes(missing=0)
        total = blocks.block_sums(magnitudes, extents)
        count = blocks.block_sums(np.isfinite(self._x), extents)
        return _float32(total / np.maximum(count, 1)).reshape(self._grid(extents))

    def percentiles(self, extents: tuple[int, ...], percent: float) -> np.ndarray:
        """The k-th smallest finite magnitude of every block; its peak where that is 0."""

        def kth_smallest(rows: np.ndarray) -> np.ndarray:
            answers = []
            for row in rows:
                ranked = np.sort(row[np.isfinite(row)])
                kth = ranked[percentile_rank(percent, ranked.size) - 1] if ranked.size else 0
                answers.append(kth or ranked.max(initial=0))
            return np.array(answers, np.float32)

        return self._measure(self._magnitudes(missing=np.inf), extents, kth_smallest)

    def search(self, peaks: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """The candidate of least squared error for every block, the first of equals."""
        plan = self._plan
        finite = np.isfinite(self._x)
        x = np.where(finite, self._x, 0).astype(np.float64)
        least = np.full(plan.grid, np.inf)
        winner = np.zeros(plan.grid, np.uint8)
        for candidate in range(MSE_CANDIDATES):
            scales = block_scales(peaks.reshape(plan.grid), plan.scale, global_scale, mse_factor(candidate))
            effective = _effective(scales, global_scale, plan)
            decoded = codec.decode(codec.encode(self._x, effective, plan.codec), effective, plan.codec)
            error = _sums(np.where(finite, x - decoded, 0) ** 2, plan)
            winner = np.where(error < least, np.uint8(candidate), winner)
            least = np.minimum(error, least)
        return winner

    def encode(self, scales: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """Values under stored scales (in their storage dtype, or as the float32 numbers they stand for)."""
        plan = self._plan
        effective = _effective(scales, global_scale, plan)
        codes = codec.encode(self._x, effective, plan.codec)
        if plan.scale.mbits == 0:
            # UE8M0 has no zero: a block without any magnitude carries the smallest scale, and zero codes all the same.
            peaks = _spread(self.peaks(plan.extents), plan)
            smallest = _spread(decode_scales(scales), plan) == np.float32(plan.scale.smallest)
            codes = np.where((peaks == 0) & smallest, codes.dtype.type(codec.zero_code(plan.codec)), codes)
        return words.pack(codes, plan)

    def quantize_minmax(self) -> Parts | None:
        """Min-max from here to the stored parts."""
        if self.nonfinite():
            return None
        plan = self._plan
        scales, global_scale = solve(self.peaks(plan.extents), plan.scale, two_level=plan.two_level)
        return Parts(self.encode(scales, global_scale), encode_scales(scales, plan.scale.dtype), global_scale)

    def quantize_ggml(self) -> Parts | None:
        """Nothing of its own: ``ggml_blocks`` is the reference."""
        return None

    def _magnitudes(self, missing: float) -> np.ndarray:
        return np.where(np.isfinite(self._x), np.abs(self._x), np.float32(missing))

    def _grid(self, extents: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of a grid of these extents; per tensor it is (1,), whatever the rank."""
        return self._plan.grid if extents == self._plan.extents else blocks.grid_of(self._plan.shape, extents)

    def _measure(self, values: np.ndarray, extents: tuple[int, ...], measure: blocks.Measure) -> np.ndarray:
        return blocks.per_block(values, extents, measure, np.float32).reshape(self._grid(extents))


def open_backend() -> Reference:
    """Open the reference backend."""
    return Reference()


def _float32(x: np.ndarray) -> np.ndarray:
    """Ties to even; what is too large becomes infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(np.float32)


def _effective(scales: np.ndarray, global_scale: np.float32 | None, plan: Plan) -> np.ndarray:
    """What every element is divided by and multiplied with: f32(global * block), or its stand-in where that is 0."""
    effective = decode_scales(scales)
    if global_scale is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            effective = np.float32(global_scale) * effective
    if plan.zero_substitute:
        effective = np.where(effective == 0, np.float32(plan.zero_substitute), effective)
    return _spread(effective, plan)


def _spread(grid: np.ndarray, plan: Plan) -> np.ndarray:
    return blocks.spread(grid, plan.shape, plan.extents)


def _sums(terms: np.ndarray, plan: Plan) -> np.ndarray:
    return blocks.block_sums(terms, plan.extents).reshape(plan.grid)
