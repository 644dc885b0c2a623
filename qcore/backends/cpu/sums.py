"""float64 sums in the fixed order: kernels add up chunks, the chunks of a block are added here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qcore.backends.cpu import threads
from qcore_ext import sums

if TYPE_CHECKING:
    from qcore.backends.cpu.geometry import Geometry


def magnitudes(x: np.ndarray, g: Geometry, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the finite magnitudes of every block, and how many there are."""
    totals = np.empty((g.blocks, g.chunks))
    counts = np.empty((g.blocks, g.chunks), np.int64)
    arguments = (x, totals, counts, g.chunks, g.packed)
    threads.run(sums.magnitudes, arguments, g.blocks * g.chunks, g.elements, count)
    return add_chunks(totals), counts.sum(axis=-1)


def add_chunks(parts: np.ndarray) -> np.ndarray:
    """Add the last axis level by level, each with its right neighbour; an odd last one is carried up.

    Chunks that a short block lacks are zeros at its end: adding them is carrying.

    Examples
    --------
    >>> float(add_chunks(np.arange(5.0)))
    10.0
    """
    while parts.shape[-1] > 1:
        odd = parts[..., parts.shape[-1] // 2 * 2 :]
        pairs = parts[..., : parts.shape[-1] // 2 * 2]
        parts = np.concatenate([pairs[..., 0::2] + pairs[..., 1::2], odd], axis=-1)
    return np.asarray(parts[..., 0])
