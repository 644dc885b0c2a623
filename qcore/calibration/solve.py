"""A grid of peaks to the scales that are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from qcore.calibration.scale_rounding import EVEN, FLOOR, power_of_two, round_scales

if TYPE_CHECKING:
    from qcore.plan import ScaleNumbers

SMALLEST_GLOBAL: Final = np.finfo(np.float32).smallest_normal
"""The global scale of an all-zero tensor: 1.17549435e-38."""

MSE_CANDIDATES: Final = 32
MSE_STEPS: Final = 64
"""Candidate j of the least-squares search is (64 - j) / 64 of min-max's scale."""


def mse_factor(candidate: np.ndarray | int) -> np.ndarray:
    """What candidate j multiplies min-max's scale with; exact in float32.

    Examples
    --------
    >>> float(mse_factor(16))
    0.75
    """
    return np.asarray((MSE_STEPS - np.asarray(candidate, np.int64)) / MSE_STEPS, np.float32)


def needed_scales(
    peaks: np.ndarray,
    numbers: ScaleNumbers,
    global_scale: np.float32 | None,
    factor: np.ndarray | None = None,
) -> np.ndarray:
    """The quotient a block needs before it is rounded: f32(peak / h), under two levels divided by the global scale."""
    # A table of tiny entries can ask for more than float32 holds; the rounding saturates.
    with np.errstate(over="ignore"):
        needed = np.asarray(peaks, np.float32) / np.float32(numbers.half_range)
        if global_scale is not None:
            needed = needed / global_scale
        return needed if factor is None else needed * factor


def block_scales(
    peaks: np.ndarray,
    numbers: ScaleNumbers,
    global_scale: np.float32 | None,
    factor: np.ndarray | None = None,
) -> np.ndarray:
    """Block scales as stored (float32), for a known global scale; ``factor`` shrinks them before they are rounded."""
    if numbers.rule in (FLOOR, EVEN):
        peaks = np.asarray(peaks, np.float32)
        return power_of_two(peaks if factor is None else peaks * factor, numbers)
    return round_scales(needed_scales(peaks, numbers, global_scale, factor), numbers)


def global_scale_of(peaks: np.ndarray, numbers: ScaleNumbers) -> np.float32:
    """The global scale that puts the largest block scale at the top of its dtype; never below the smallest normal."""
    raw = needed_scales(peaks, numbers, None)
    largest = np.minimum(raw.max(initial=np.float32(0)), np.finfo(np.float32).max)
    return np.float32(max(largest / np.float32(numbers.top), SMALLEST_GLOBAL))


def solve(
    peaks: np.ndarray, numbers: ScaleNumbers, *, two_level: bool, factor: np.ndarray | None = None
) -> tuple[np.ndarray, np.float32 | None]:
    """Turn measured peaks into the scales that are stored.

    Parameters
    ----------
    peaks
        float32, finite, not negative; whatever the calibration measured in each block (peak, mean, percentile).
    numbers
        The scale dtype, its rounding rule and the divisor h.
    two_level
        Whether a global scale takes the largest block scale to the top of its dtype.
    factor
        Per block, what the winner of the least-squares search multiplies the needed scale with. The global scale stays
        min-max's.

    Returns
    -------
    tuple
        Block scales as float32 numbers their dtype represents, in the shape of ``peaks``; the global scale or None.

    Examples
    --------
    >>> from qcore.plan import make_plan
    >>> from qcore.scheme import QuantScheme
    >>> plan = make_plan(QuantScheme.parse("q8s/native/t:f32"), (4,))
    >>> solve(np.float32([254.0]), plan.scale, two_level=False)[0].tolist()
    [2.0]
    """
    global_scale = global_scale_of(peaks, numbers) if two_level else None
    return block_scales(peaks, numbers, global_scale, factor), global_scale
