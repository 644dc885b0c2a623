"""What a backend is: a place that stages a tensor once, measures it, and encodes it under given scales.

Backends are given legal work only (``qcore.capability`` refuses the rest) and return host arrays in the storage
layout of the plan. ``x`` is an ndarray of float32, float64, float16 or bfloat16 in native byte order, of any strides,
at least 1-D and never empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

    from qcore.plan import Plan


class Parts(NamedTuple):
    """The stored parts: values (storage shape), scales (grid, storage dtype), global scale."""

    values: np.ndarray
    scales: np.ndarray
    global_scale: np.float32 | None


class ErrorSums(NamedTuple):
    """What ``compare`` needs, measured in one pass. Grids have the plan's grid shape, in float64 unless said.

    Every sum is the fixed-order sum of ``qcore.calibration.sums`` over a block's finite pairs (x, y = dequantized
    x), of terms formed in float64: ``error`` (x-y)^2, ``signal`` x^2, ``decoded`` y^2, ``cross`` x*y. A pair with a
    non-finite side adds 0 to each sum (it keeps its place in the order) and is not counted.
    """

    error: np.ndarray
    signal: np.ndarray
    decoded: np.ndarray
    cross: np.ndarray
    pairs: np.ndarray
    """Finite pairs per block, int64."""
    clipped: int
    """Elements beyond the largest code (decisions, section 6)."""
    max_abs: float
    """Largest |x-y| rounded to f32, and the first flat C index where it stands (-1: no finite pair)."""
    max_index: int
    ranked: float
    """The k-th smallest |x-y| (rounded to f32), k = ceil(rank_percent / 100 * finite pairs); 0.0 when there is none."""


class Staged(Protocol):
    """A tensor held by a backend.

    Measures skip non-finite elements; whether they are an error is the caller's question.
    """

    def nonfinite(self) -> tuple[int, int] | None:
        """Count of non-finite elements and the flat C index of the first; None when all are finite."""

    def peaks(self, extents: tuple[int, ...]) -> np.ndarray:
        """Largest finite |x| of every block of these extents, float32, in the shape of their grid."""

    def means(self, extents: tuple[int, ...]) -> np.ndarray:
        """f32(sum |x| / n) of every block, summed in the fixed order over the finite elements."""

    def percentiles(self, extents: tuple[int, ...], percent: float) -> np.ndarray:
        """The k-th smallest |x| of every block, k = ceil(percent/100 * n); the peak where that is 0."""

    def search(self, peaks: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """For every block the j in 0..31 whose scale, (64-j)/64 of min-max's, has the least squared error."""

    def encode(self, scales: np.ndarray, global_scale: np.float32 | None) -> np.ndarray:
        """The values under these stored scales, in the storage layout of the plan."""

    def quantize_minmax(self) -> Parts | None:
        """peaks, scales and encode in as few passes as the scheme allows; None when a non-finite element was met."""

    def quantize_ggml(self) -> Parts | None:
        """The arithmetic of ggml in one pass; None when a non-finite element was met, or no kernel does it."""


class Backend(Protocol):
    """An engine that runs plans."""

    def stage(self, x: np.ndarray, plan: Plan, threads: int | None) -> Staged:
        """Hold ``x`` for measuring and encoding."""

    def decode(
        self, values: np.ndarray, scales: np.ndarray, global_scale: np.float32 | None, plan: Plan, out: np.ndarray,
        threads: int | None,
    ) -> None:  # fmt: skip
        """Dequantize into ``out`` (shape of the plan; float32, float64, float16 or bfloat16; any strides)."""

    def pack(self, codes: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """Codes (one per element; int8 or uint8) into the storage layout; padding fields are zero."""

    def unpack(self, values: np.ndarray, plan: Plan, threads: int | None = None) -> np.ndarray:
        """The codes of stored values: int8 sign-extended for integers, uint8 for minifloats and lookup indices."""

    def errors(
        self, x: np.ndarray, parts: Parts, plan: Plan, rank_percent: float, threads: int | None
    ) -> ErrorSums:
        """Compare ``x`` with its quantized form."""


class HeldParts(Protocol):
    """Stored parts that lie on a device."""

    def fetch(self) -> Parts:
        """Bring them to the host."""

    def decode(self, out: np.ndarray) -> None:
        """Dequantize into ``out`` where they lie."""


class Engine(Protocol):
    """The module-level entry of a backend: the loader string of its row names a function of this type."""

    def __call__(self) -> Backend:
        """Open the backend (cached by the loader)."""
