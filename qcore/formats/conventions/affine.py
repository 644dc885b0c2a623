"""Tensors with zero points, minima or a permuted order of columns: no scheme has a place for those.

They can be looked at (codes, scales, zero points) and decoded to floats; saved or quantized anew they are what they
decode to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qcore import errors

__all__ = ["AffineTensor"]


@dataclass(frozen=True, eq=False)
class AffineTensor:
    """A tensor of another project that is more than codes times scales.

    Element ``[.., i, j]`` decodes to ``scales[r, c] * (codes[i, j] - zeros[r, c]) + minima[r, c]``, where ``r`` and
    ``c`` are the places of ``i`` and ``j`` in the grid: ``i // group`` along each axis, or what ``order`` says for
    the axis of the input channels. ``zeros`` or ``minima`` may be missing: then they count as 0.

    Examples
    --------
    >>> codes = np.array([[0, 8, 15, 7]], np.uint8)
    >>> t = AffineTensor("gptq", codes, np.float32([[0.5, 2]]), zeros=np.float32([[8, 7]]))
    >>> t
    AffineTensor(shape=(1, 4), origin='gptq', 4 codes, grid (1, 2), with zero points: decodes only)
    >>> t.dequantize().tolist()
    [[-4.0, 0.0, 16.0, 0.0]]
    """

    origin: str
    codes: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray | None = None
    minima: np.ndarray | None = None
    order: np.ndarray | None = None
    """For each input channel the number of its group, where groups are not runs."""
    axis: int = -1
    """The axis of the input channels."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Logical shape."""
        return tuple(self.codes.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.codes.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.codes.size)

    @property
    def why(self) -> str:
        """What no scheme has a place for."""
        found = []
        if self.zeros is not None:
            found.append("zero points")
        if self.minima is not None:
            found.append("minima")
        if self.order is not None:
            found.append("permuted groups")
        return " and ".join(found) or "scales of its own"

    @property
    def T(self) -> AffineTensor:
        """The tensor with its axes reversed."""
        zeros, minima = (None if grid is None else grid.T for grid in (self.zeros, self.minima))
        axis = self.ndim - 1 - self.axis % self.ndim
        return AffineTensor(self.origin, self.codes.T, self.scales.T, zeros, minima, self.order, axis)

    def dequantize(self, dtype: Any = np.float32) -> np.ndarray:
        """Decode to floats: in f32, rounded once to ``dtype``."""
        from qcore.tensor import arrays

        wanted = arrays.out_dtype(dtype, None)
        values = self.codes.astype(np.float32)
        # one full-sized array is written in place; each grid is spread only while it is used
        with np.errstate(all="ignore"):  # a scale may be anything a file holds
            if self.zeros is not None:
                values -= self._spread(self.zeros)
            values *= self._spread(self.scales)
            if self.minima is not None:
                values += self._spread(self.minima)
            return values.astype(wanted, copy=False)

    def _spread(self, grid: np.ndarray) -> np.ndarray:
        """A grid as large as the tensor."""
        found = np.asarray(grid, np.float32)
        if found.size == 1:
            return found.reshape((1,) * self.ndim)
        along = self.axis % self.ndim
        for axis, dim in enumerate(self.shape):
            have = found.shape[axis]
            if axis == along and self.order is not None:
                found = np.take(found, self.order, axis=axis)
            elif have not in (1, dim):
                found = np.repeat(found, -(-dim // have), axis=axis)
                found = found[(slice(None),) * axis + (slice(dim),)]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise errors.build("array-needs-copy")
        values = self.dequantize()
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        return (
            f"AffineTensor(shape={self.shape}, origin={self.origin!r}, {self.size} codes, "
            f"grid {tuple(self.scales.shape)}, with {self.why}: decodes only)"
        )
