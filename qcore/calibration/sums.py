"""Sums in one fixed order, so that their bits depend on nothing but the numbers.

Chunks of 4096 elements; in a chunk eight lanes (index mod 8), each added up in order, then the lanes 0 to 7; the sums
of the chunks are added to their right neighbour, level by level, an odd last one being carried up. Kernels that run
in parallel reach the same tree because a chunk never spans two workers.
"""

from __future__ import annotations

from typing import Final

import numpy as np

CHUNK: Final = 4096
LANES: Final = 8


def pairwise_sum(values: np.ndarray) -> np.ndarray:
    """Sum the last axis in float64, in the fixed order.

    Parameters
    ----------
    values
        Numbers that convert to float64; the last axis is summed, the others are kept.

    Returns
    -------
    numpy.ndarray
        float64, of the shape of the leading axes (0-d for a 1-D input).

    Examples
    --------
    >>> float(pairwise_sum(np.arange(10.0)))
    45.0
    """
    *lead, count = values.shape
    chunks = max(1, -(-count // CHUNK))
    # Zeros behind the last element are added last in their lane and change no sum.
    padded = np.zeros((*lead, chunks * CHUNK if chunks > 1 else -(-count // LANES) * LANES or LANES))
    padded[..., :count] = values
    steps = padded.reshape(*lead, chunks, -1, LANES)
    lanes = np.zeros((*lead, chunks, LANES))
    for step in range(steps.shape[-2]):
        lanes += steps[..., step, :]
    total = lanes[..., 0]
    for lane in range(1, LANES):
        total = total + lanes[..., lane]
    return _add_neighbours(total)


def _add_neighbours(sums: np.ndarray) -> np.ndarray:
    while sums.shape[-1] > 1:
        pairs = sums[..., : sums.shape[-1] // 2 * 2]
        odd_last = sums[..., pairs.shape[-1] :]
        sums = np.concatenate([pairs[..., 0::2] + pairs[..., 1::2], odd_last], axis=-1)
    return np.asarray(sums[..., 0])
