"""The fixed order of float64 sums, against the same order written out one addition at a time."""

from __future__ import annotations

import numpy as np
import pytest

from qcore.calibration.sums import pairwise_sum


def _one_addition_at_a_time(values: list[float]) -> float:
    sums = []
    for start in range(0, len(values), 4096):
        lanes = [0.0] * 8
        for place, value in enumerate(values[start : start + 4096]):
            lanes[place % 8] += value
        chunk = lanes[0]
        for lane in lanes[1:]:
            chunk += lane
        sums.append(chunk)
    while len(sums) > 1:
        pairs = [sums[i] + sums[i + 1] for i in range(0, len(sums) - 1, 2)]
        sums = pairs + sums[2 * len(pairs) :]
    return sums[0] if sums else 0.0


@pytest.mark.parametrize(
    "count", [0, 1, 7, 8, 9, 31, 1000, 4095, 4096, 4097, 8191, 8192, 3 * 4096, 5 * 4096 + 3, 7 * 4096 - 1]
)
def test_the_order_is_lanes_then_chunks_then_neighbours(count: int) -> None:
    rng = np.random.default_rng(count)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-8, 8, count)
    assert float(pairwise_sum(values)) == _one_addition_at_a_time(values.tolist())


def test_leading_axes_are_summed_apart() -> None:
    values = np.random.default_rng(1).standard_normal((3, 2, 5000)) ** 2
    together = pairwise_sum(values)
    assert together.shape == (3, 2)
    assert together[2, 1] == pairwise_sum(values[2, 1])


def test_float32_terms_are_added_in_float64() -> None:
    assert float(pairwise_sum(np.full(3, 2.0**-25, np.float32) + np.float32([1, 0, 0]))) == 1 + 2 * 2.0**-25


def test_it_is_not_the_sum_numpy_gives() -> None:
    values = np.random.default_rng(2).standard_normal(100_000)
    assert float(pairwise_sum(values)) == pytest.approx(float(values.sum()), rel=1e-12)
    assert float(pairwise_sum(values)) != float(values.sum())
