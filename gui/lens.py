"""A scheme held before a tensor: values, codes, decoded values and scales of any window.

``WholeLens`` asks the library once for the whole tensor. ``StreamLens`` asks it for the window only: cut on block
boundaries, with one more block beside it that holds the tensor's largest element, so that scales which depend on
the whole tensor come out the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import qcore
from qcore import errors
from qcore.capability import tied_scheme
from qcore.plan import make_plan
from qcore.scheme.resolve import resolve

from .source import Matrix, project
from .state import Axes, Choice

AS_STORED: Final = "as stored"
"""In place of a scheme: the one that the tensor is quantized under already."""
_LENSES: Final = 2


class NotShown(Exception):
    """Something that the library can do and this program does not show; the sentence says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """What a lens shows of a window: four arrays of its shape; codes are signed or unsigned as the library has them."""

    x: np.ndarray
    codes: np.ndarray
    decoded: np.ndarray
    scales: np.ndarray


def quantized(x: np.ndarray, choice: Choice, **more: Any) -> qcore.QTensor:
    """Quantize as chosen. Values that are not finite saturate here; the list of findings tells of them."""
    return qcore.quantize(
        x, choice.scheme, calibration=choice.calibration, scale_rounding=choice.scale_rounding,
        rounding=choice.rounding, nonfinite="saturate", **more,
    )  # fmt: skip


def grid_of(q: qcore.QTensor) -> tuple[int, ...]:
    """Shape of the grid of scales with as many axes as the tensor."""
    plan = q.plan()
    return plan.grid if len(plan.grid) == len(plan.shape) else (1,) * len(plan.shape)


def spread(grid: np.ndarray, extents: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Repeat a grid over its blocks, one number for each element.

    Examples
    --------
    >>> spread(np.array([[1.0, 2.0]]), (2, 2), (2, 3)).tolist()
    [[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]
    """
    out = grid
    for axis, (extent, dim) in enumerate(zip(extents, shape, strict=True)):
        out = np.repeat(out, extent, axis=axis) if out.shape[axis] != 1 else np.repeat(out, dim, axis=axis)
        out = out[(slice(None),) * axis + (slice(0, dim),)]
    return out


def placed(
    grid: np.ndarray,
    extents: tuple[int, ...],
    shape: tuple[int, ...],
    axes: Axes | None,
    window: tuple[int, int, int, int],
) -> np.ndarray:
    """Number of the block that every element of a window is in, without spreading the whole grid.

    Examples
    --------
    >>> placed(np.array([[1.0, 2.0]]), (2, 2), (2, 3), None, (0, 1, 1, 3)).tolist()
    [[1.0, 2.0]]
    """
    strides = [math.prod(grid.shape[axis + 1 :]) for axis in range(grid.ndim)]
    rows, columns = np.arange(window[0], window[1]), np.arange(window[2], window[3])
    if axes is not None:
        at = sum(i // e * s for i, e, s in zip(axes.index, extents, strides, strict=True))
        for axis in (axes.row, axes.column):
            at -= axes.index[axis] // extents[axis] * strides[axis]
        down = at + rows // extents[axes.row] * strides[axes.row]
        across = columns // extents[axes.column] * strides[axes.column]
    else:
        down = np.zeros(len(rows), np.int64)
        for axis in reversed(range(len(shape) - 1)):
            down += rows % shape[axis] // extents[axis] * strides[axis]
            rows = rows // shape[axis]
        across = columns // extents[-1] * strides[-1]
    found: np.ndarray = grid.reshape(-1)[down[:, None] + across]
    return found


class WholeLens:
    """The library's own tensor, whole."""

    def __init__(self, matrix: Matrix, choice: Choice) -> None:
        self.matrix = matrix
        assert matrix.array is not None
        if choice.scheme == AS_STORED and matrix.stored is not None:
            self.q = matrix.stored
        else:
            self.q = quantized(matrix.array, choice)
        self.scheme = self.q.scheme
        plan = self.q.plan()
        self.extents = plan.extents
        self.shape = matrix.shape or (1,)
        self._decoded: np.ndarray | None = None
        self._report: qcore.ErrorReport | None = None

    @property
    def decoded(self) -> np.ndarray:
        """All decoded values."""
        if self._decoded is None:
            self._decoded = self.q.dequantize()
        return self._decoded

    @property
    def grid(self) -> np.ndarray:
        """Effective scales, one a block."""
        return self.q.effective_scales.reshape(grid_of(self.q))

    @property
    def report(self) -> qcore.ErrorReport:
        """The error of the whole; not a number's worth where the source has no floats."""
        if self._report is None:
            self._report = qcore.compare(self.matrix.array, self.q)
        return self._report

    def window(self, top: int, bottom: int, left: int, right: int, axes: Axes | None = None) -> Window:
        """Cut a window out of the whole, as it is drawn."""
        assert self.matrix.array is not None
        cut = (slice(top, bottom), slice(left, right))
        parts = (self.matrix.array.reshape(self.shape), self.q.codes.reshape(self.shape), self.decoded)
        x, codes, decoded = (project(part.reshape(self.shape), axes)[cut] for part in parts)
        scales = placed(self.grid, self.extents, self.shape, axes, (top, bottom, left, right))
        return Window(x, codes, decoded, scales)

    def block_sqnr(self, top: int, bottom: int, left: int, right: int, axes: Axes | None = None) -> np.ndarray:
        """SQNR of the block that every element is in."""
        grid = self.report.block_sqnr_db.reshape(grid_of(self.q))
        return placed(grid, self.extents, self.shape, axes, (top, bottom, left, right))


class StreamLens:
    """Windows of a tensor that is too large to hold."""

    def __init__(self, matrix: Matrix, choice: Choice, peak: float) -> None:
        self.matrix, self.choice, self.peak = matrix, choice, peak
        found = resolve(choice.scheme)
        tied = found.preset is not None and found.preset.tied is not None
        self.scheme = tied_scheme(found.scheme, matrix.shape) if tied else found.scheme
        rank = len(matrix.shape)
        block = self.scheme.block_size
        self.extents = matrix.shape if block is None else block.expand(rank)
        method = choice.calibration or (found.preset.calibration if found.preset else "minmax")
        whole = block is None or self.scheme.is_two_level
        if whole and method not in ("minmax", "absmax") and not (method == "mse" and block is not None):
            self._refuse("a calibration other than min-max over the whole tensor")
        rows, columns = (1, 1) if block is None else ((1, *self.extents)[-2], self.extents[-1])
        if block is not None:
            if any(extent > 1 for extent in self.extents[:-2]):
                self._refuse("blocks over more than two axes")
            if rank > 2 and matrix.shape[-2] % rows:
                self._refuse("ragged blocks of rows under leading axes")
        store = self.scheme.store
        if store.packing_dim not in (None, 0):
            self._refuse("values packed along another axis than the last")
        self.across = tied
        self.row_step, self.column_step = rows, math.lcm(columns, self.scheme.num_quants)
        self._anchored = whole

    def _refuse(self, what: str) -> None:
        raise NotShown(f"A tensor of {self.matrix.size:,} elements is read window by window; {what} needs all of it.")

    def aligned(self, top: int, bottom: int, left: int, right: int) -> tuple[int, int, int, int]:
        """Grow a window to whole blocks and words."""
        if self.across:
            left, right = 0, self.matrix.columns
        top, left = top - top % self.row_step, left - left % self.column_step
        bottom = min(-(-bottom // self.row_step) * self.row_step, self.matrix.rows)
        right = min(-(-right // self.column_step) * self.column_step, self.matrix.columns)
        return top, bottom, left, right

    def quantized(self, top: int, bottom: int, left: int, right: int) -> tuple[np.ndarray, qcore.QTensor]:
        """Quantize an aligned window; rows past ``bottom - top`` of the result are the anchor."""
        x = self.matrix.window(top, bottom, left, right)
        if not self._anchored:
            return x, quantized(x, self.choice)
        height = -(-x.shape[0] // self.row_step) * self.row_step
        frame = np.zeros((height + self.row_step, x.shape[1]), x.dtype)
        frame[: x.shape[0]] = x
        frame[height, 0] = self.peak
        return x, quantized(frame, self.choice)

    def block_sqnr(self, top: int, bottom: int, left: int, right: int, axes: Axes | None = None) -> np.ndarray:
        """SQNR of the block that every element is in."""
        whole = self.aligned(top, bottom, left, right)
        x, q = self.quantized(*whole)
        report = qcore.compare(self.padded(x, q), q)
        full = spread(report.block_sqnr_db.reshape(grid_of(q)), q.plan().extents, q.shape)
        return full[top - whole[0] : bottom - whole[0], left - whole[2] : right - whole[2]]

    def padded(self, x: np.ndarray, q: qcore.QTensor) -> np.ndarray:
        """A window with as many rows as what was made of it."""
        if x.shape == q.shape:
            return x
        full = np.zeros(q.shape, x.dtype)
        full[: x.shape[0]] = x
        full[-self.row_step, 0] = self.peak
        return full

    def window(self, top: int, bottom: int, left: int, right: int, axes: Axes | None = None) -> Window:
        """Quantize what a window needs, and cut it."""
        whole = self.aligned(top, bottom, left, right)
        x, q = self.quantized(*whole)
        rows = slice(top - whole[0], bottom - whole[0])
        columns = slice(left - whole[2], right - whole[2])
        scales = spread(q.effective_scales.reshape(grid_of(q)), q.plan().extents, q.shape)
        return Window(*(part[rows, columns] for part in (x, q.codes, q.dequantize(), scales)))


Lens = WholeLens | StreamLens


def table_of(lens: Lens) -> np.ndarray:
    """Values that a block of scale 1 can take, sorted.

    Examples
    --------
    >>> from .source import matrix_of_array
    >>> table_of(WholeLens(matrix_of_array("x", np.ones(16, np.float32)), Choice("q2s/u32/b16:f16"))).tolist()
    [-1.0, 0.0, 1.0]
    """
    if isinstance(lens, WholeLens):
        table = lens.q.plan().codec.table
    else:
        found = resolve(lens.choice.scheme)
        name = found.table_hint or (found.preset.codebook if found.preset else None)
        lookup = lens.scheme.is_lookup and name is not None
        codebook = qcore.Codebook.named(str(name)) if lookup else None
        table = make_plan(lens.scheme, lens.matrix.shape, codebook=codebook).codec.table
    value = lens.scheme.value
    if value.is_integer and not lens.scheme.is_lookup:
        table = table[(table >= value.lo) & (table <= value.hi)]
    finite: np.ndarray = np.unique(table[np.isfinite(table)])
    return finite


def reach_of(lens: Lens) -> tuple[float, float]:
    """Where ``x / scale`` clips: half a step beyond the outermost values, below and above."""
    table = table_of(lens)
    if len(table) < 2:
        return -math.inf, math.inf
    return float(table[0] - (table[1] - table[0]) / 2), float(table[-1] + (table[-1] - table[-2]) / 2)


def lens_of(matrix: Matrix, choice: Choice, peak: float | None = None) -> Lens:
    """Return the lens of a choice; the last two are kept with the matrix."""
    found = matrix.lenses.get((choice, peak if matrix.array is None else None))
    if found is None:
        if matrix.array is not None:
            found = WholeLens(matrix, choice)
        else:
            if not matrix.is_float:
                raise errors.build("input-dtype", dtype=str(matrix.dtype))
            found = StreamLens(matrix, choice, 0.0 if peak is None else peak)
        key = (choice, peak if matrix.array is None else None)
        matrix.lenses = {**dict(list(matrix.lenses.items())[-(_LENSES - 1) :]), key: found}
    return found
