"""The error of a scheme on a tensor: the library's report where the tensor is in memory, sums over stripes else."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import qcore
from qcore.layout.packing import quantized_data_len

from .findings import Measured, WorstBlock
from .lens import Lens, WholeLens, grid_of, placed, spread, table_of
from .reduce import as_numbers
from .source import Matrix

TOP: Final = 50
"""Worst blocks that are listed."""
BINS: Final = 200
_KEYS: Final = {
    "absolute": lambda block: block.rmse,
    "relative": lambda block: -block.sqnr_db,
    "in steps": lambda block: block.steps,
}


class Tally:
    """What is added up window by window."""

    def __init__(self, matrix: Matrix, table: np.ndarray) -> None:
        self.rows, self.columns = np.zeros(matrix.rows), np.zeros(min(matrix.columns, 1 << 22))
        self.shape = (matrix.rows, matrix.columns)
        self.edges = np.linspace(-1.0, 1.0, BINS + 1)
        self.residual = np.zeros(BINS, np.int64)
        span = float(table[-1] - table[0]) if len(table) else 1.0
        self.x_edges = np.linspace(float(table[0]) - span / 12, float(table[-1]) + span / 12, BINS + 1)
        self.normalised = np.zeros(BINS, np.int64)

    def add(self, top: int, left: int, x: np.ndarray, decoded: np.ndarray, scales: np.ndarray) -> None:
        """Count a window."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            error = decoded - as_numbers(x)
            good = np.isfinite(error)
            error = np.where(good, error, 0)
            square = np.square(error, dtype=np.float64)
            live = good & (scales != 0)
            _count(self.residual, (error / scales)[live], self.edges)
            _count(self.normalised, (as_numbers(x) / scales)[live], self.x_edges)
        bottom, right = top + x.shape[0], left + x.shape[1]
        self.rows[top:bottom] += square.sum(axis=1)
        if right <= len(self.columns):
            self.columns[left:right] += square.sum(axis=0)

    def roots(self) -> tuple[np.ndarray, np.ndarray]:
        """RMS error of every row and every column."""
        rows, columns = self.shape
        return np.sqrt(self.rows / max(columns, 1)), np.sqrt(self.columns / max(rows, 1))


def _count(counts: np.ndarray, values: np.ndarray, edges: np.ndarray) -> None:
    low, high = float(edges[0]), float(edges[-1])
    places = np.clip((values - low) * (BINS / (high - low)), 0, BINS - 1)
    counts += np.bincount(places[np.isfinite(places)].astype(np.int64), minlength=BINS)


def measure(
    matrix: Matrix, lens: Lens, cancelled: Callable[[], bool], progress: Callable[[int, int], None]
) -> Measured | None:
    """Measure all of it; None when cancelled."""
    if isinstance(lens, WholeLens):
        return _whole(matrix, lens, cancelled, progress)
    sums = _Sums(lens.scheme)
    tally = Tally(matrix, table_of(lens))
    windows = list(matrix.stripes(lens.row_step, matrix.columns if lens.across else lens.column_step))
    for done, (top, bottom, left, right) in enumerate(windows):
        if cancelled():
            return None
        x, q = lens.quantized(top, bottom, left, right)
        report = qcore.compare(lens.padded(x, q), q)
        decoded = q.dequantize()[: x.shape[0]]
        scales = q.effective_scales.reshape(grid_of(q))
        kept = -(-x.shape[0] // lens.row_step)
        first = (top // lens.row_step, left // max(lens.extents[-1], 1))
        per_tensor = lens.scheme.block_size is None
        sums.add(x, decoded, q, scales if per_tensor else scales[:kept], report, first, (top, left), per_tensor)
        full = np.broadcast_to(scales, (1, 1)) if per_tensor else _repeat(scales[:kept], lens, x.shape)
        tally.add(top, left, x, decoded, np.broadcast_to(full, x.shape))
        progress(done + 1, len(windows))
    return sums.result(matrix, lens, tally)


def _repeat(scales: np.ndarray, lens: Any, shape: tuple[int, ...]) -> np.ndarray:
    return spread(scales, (lens.row_step, lens.extents[-1]), shape)


def _whole(
    matrix: Matrix, lens: WholeLens, cancelled: Callable[[], bool], progress: Callable[[int, int], None]
) -> Measured | None:
    report, q = lens.report, lens.q
    tally = Tally(matrix, table_of(lens))
    flat = (matrix.rows, matrix.columns)
    assert matrix.array is not None
    x, decoded = matrix.array.reshape(flat), lens.decoded.reshape(flat)
    windows = list(matrix.stripes())
    for done, (top, bottom, left, right) in enumerate(windows):
        if cancelled():
            return None
        cut = (slice(top, bottom), slice(left, right))
        scales = placed(lens.grid, lens.extents, lens.shape, None, (top, bottom, left, right))
        tally.add(top, left, x[cut], decoded[cut], scales)
        progress(done + 1, len(windows))
    row_rms, column_rms = tally.roots()
    grid = lens.grid
    numbers = (report.block_mse.reshape(grid.shape), report.block_sqnr_db.reshape(grid.shape), grid)
    live = np.abs(grid[grid != 0])
    stored = q.scales.astype(np.float32)
    dtype = lens.scheme.scale_dtype
    return Measured(
        scheme=str(lens.scheme), label=str(lens.scheme), bits_per_weight=q.bits_per_weight, nbytes=q.nbytes,
        sqnr_db=report.sqnr_db, rmse=report.rmse, rmse_step=report.rmse_step, max_abs=report.max_abs,
        max_at=report.max_index, p999=report.p999, cosine=report.cosine, clipped=report.clipped,
        clipped_count=report.clipped_count, flushed=report.flushed, blocks=report.blocks,
        zero_blocks=int((grid == 0).sum()), saturated=int((stored >= np.float32(dtype.max_representable)).sum()),
        smallest=int((stored == np.float32(dtype.smallest)).sum()),
        spread=(float(live.min()), float(live.max())) if live.size else (0.0, 0.0),
        worst=worst_of(*numbers), row_rms=row_rms, column_rms=column_rms, extents=lens.extents,
        levels=table_of(lens), residual=(tally.edges, tally.residual), normalised=(tally.x_edges, tally.normalised),
        rules=tuple((str(k), str(v)) for k, v in q.rules.items()),
    )  # fmt: skip


def worst_of(mse: np.ndarray, sqnr: np.ndarray, scales: np.ndarray) -> dict[str, tuple[WorstBlock, ...]]:
    """List the worst blocks by each measure."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rmse = np.nan_to_num(np.sqrt(mse).reshape(-1))
        steps = np.where(scales != 0, np.sqrt(mse) / np.abs(scales), 0.0).reshape(-1)
    relative = -np.nan_to_num(sqnr.reshape(-1), nan=np.inf)
    flat = {"absolute": rmse, "relative": relative, "in steps": np.nan_to_num(steps)}
    found = {}
    for name, keys in flat.items():
        some = np.argpartition(-keys, min(TOP, keys.size - 1))[:TOP] if keys.size else np.zeros(0, int)
        order = some[np.lexsort((some, -keys[some]))]
        found[name] = tuple(
            WorstBlock(
                tuple(int(i) for i in np.unravel_index(int(at), mse.shape)),
                float(rmse[at]), float(sqnr.reshape(-1)[at]), float(steps[at]), float(scales.reshape(-1)[at]),
            )
            for at in order
            if rmse[at] > 0
        )  # fmt: skip
    return found


class _Sums:
    """Sums of many reports, as one."""

    def __init__(self, scheme: Any) -> None:
        self.scheme = scheme
        self.error = self.signal = self.decoded = self.cross = self.steps = 0.0
        self.count = self.clipped = self.flushed = self.blocks = self.zero_blocks = self.saturated = self.small = 0
        self.max_abs, self.max_at = 0.0, (0, 0)
        self.low, self.high = math.inf, 0.0
        self.rules: dict[str, Any] = {}
        self.worst: dict[str, list[WorstBlock]] = {name: [] for name in _KEYS}

    def add(
        self, x: np.ndarray, decoded: np.ndarray, q: Any, scales: np.ndarray, report: Any, first: tuple[int, int],
        corner: tuple[int, int], per_tensor: bool,
    ) -> None:  # fmt: skip
        with np.errstate(invalid="ignore", over="ignore"):
            a, b = as_numbers(x).astype(np.float64), decoded.astype(np.float64)
            error = np.where(np.isfinite(a), b - a, 0.0)
            a = np.where(np.isfinite(a), a, 0.0)
        self.error += float(np.square(error).sum())
        self.signal, self.decoded = self.signal + float(np.square(a).sum()), self.decoded + float(np.square(b).sum())
        self.cross += float((a * b).sum())
        self.count += int(np.isfinite(x).sum())
        self.clipped += report.clipped_count
        size = np.abs(error)
        if size.size and float(size.max()) > self.max_abs:
            row, column = np.unravel_index(int(size.argmax()), size.shape)
            self.max_abs, self.max_at = float(size.max()), (corner[0] + int(row), corner[1] + int(column))
        self.rules = dict(q.rules)
        live = np.abs(scales[scales != 0])
        if live.size:
            self.low, self.high = min(self.low, float(live.min())), max(self.high, float(live.max()))
        if per_tensor:
            self.steps += float(np.square(error).sum()) / float(scales.flat[0]) ** 2 if scales.flat[0] else 0.0
            self.blocks = 1
            return
        mse = report.block_mse.reshape(grid_of(q))[: scales.shape[0]]
        sqnr = report.block_sqnr_db.reshape(grid_of(q))[: scales.shape[0]]
        stored = q.scales.astype(np.float32).reshape(grid_of(q))[: scales.shape[0]]
        per_block = x.size / max(scales.size, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.steps += float(np.where(scales != 0, mse / np.square(scales.astype(np.float64)), 0).sum()) * per_block
        self.blocks += scales.size
        self.flushed += report.flushed
        self.zero_blocks += int((scales == 0).sum())
        self.saturated += int((stored >= np.float32(self.scheme.scale_dtype.max_representable)).sum())
        self.small += int((stored == np.float32(self.scheme.scale_dtype.smallest)).sum())
        for name, blocks in worst_of(mse, sqnr, scales).items():
            moved = (
                WorstBlock((b.block[0] + first[0], b.block[1] + first[1]), b.rmse, b.sqnr_db, b.steps, b.scale)
                for b in blocks
            )
            self.worst[name] = heapq.nlargest(TOP, [*self.worst[name], *moved], key=_KEYS[name])

    def result(self, matrix: Matrix, lens: Any, tally: Tally) -> Measured:
        row_rms, column_rms = tally.roots()
        nbytes = quantized_data_len(lens.scheme, matrix.shape)
        norm = math.sqrt(self.signal) * math.sqrt(self.decoded)
        lead = (0,) * (len(matrix.shape) - 2)
        sqnr_db = 10 * math.log10(self.signal / self.error) if self.error and self.signal else math.inf
        return Measured(
            scheme=str(lens.scheme), label=str(lens.scheme), bits_per_weight=8 * nbytes / max(matrix.size, 1),
            nbytes=nbytes, sqnr_db=sqnr_db,
            rmse=math.sqrt(self.error / max(self.count, 1)), rmse_step=math.sqrt(self.steps / max(self.count, 1)),
            max_abs=self.max_abs, max_at=self.max_at, p999=math.nan, cosine=self.cross / norm if norm else 0.0,
            clipped=self.clipped / max(matrix.size, 1), clipped_count=self.clipped, flushed=self.flushed,
            blocks=self.blocks, zero_blocks=self.zero_blocks, saturated=self.saturated, smallest=self.small,
            spread=(self.low, self.high) if self.high else (0.0, 0.0),
            worst={name: tuple(_leading(b, lead) for b in blocks) for name, blocks in self.worst.items()},
            row_rms=row_rms, column_rms=column_rms, extents=lens.extents, levels=table_of(lens),
            residual=(tally.edges, tally.residual), normalised=(tally.x_edges, tally.normalised),
            rules=tuple((str(k), str(v)) for k, v in self.rules.items()),
            note="summed over stripes: p99.9 is not known for a tensor this large",
        )  # fmt: skip


def _leading(block: WorstBlock, lead: tuple[int, ...]) -> WorstBlock:
    return WorstBlock((*lead, *block.block), block.rmse, block.sqnr_db, block.steps, block.scale) if lead else block
