"""Outputs large enough to go past the cache hold what small ones do, wherever they begin in memory."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import LEVELS, decode, encode, minmax, plan_of

from qcore.backends.cpu import numbers

STREAMED = 1 << 22
ROWS = 5
SHAPE = (ROWS, STREAMED // ROWS + 33)
"""Rows of an odd length: none begins where a vector does, and each is too short to be streamed by itself."""


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.standard_normal(SHAPE, dtype=np.float32)


def shifted(shape: tuple[int, ...], dtype: type, by: int) -> np.ndarray:
    """An array that begins ``by`` elements behind a place of the allocator's choice."""
    size = int(np.prod(shape))
    return np.empty(size + by, dtype)[by:].reshape(shape)


@pytest.mark.parametrize("text", ["q8s/native/b32:f16", "e4m3/native/b7:f32", "q4s/u32/b32:f16"])
@pytest.mark.parametrize("level", LEVELS)
def test_large_tensors_hold_what_their_rows_do(level: str, text: str, x: np.ndarray) -> None:
    whole, row = plan_of(text, SHAPE), plan_of(text, (1, SHAPE[1]))
    values = shifted(whole.storage_shape, numbers.of_plan(whole).values_dtype, 3)
    found = minmax(level, x, whole, values=values)
    assert found is not None
    _, scales = found
    again = encode(level, x, whole, scales, shifted(whole.storage_shape, values.dtype, 1))
    assert again.tobytes() == values.tobytes()
    outs = [
        decode(level, values, whole, scales, shifted(SHAPE, dtype, by))
        for dtype, by in ((np.float32, 1), (np.float16, 3), (np.float64, 0))
    ]
    for at in range(ROWS):
        small = minmax(level, x[at : at + 1], row)
        assert small is not None
        assert small[0].tobytes() == values[at].tobytes()
        assert small[1].tobytes() == scales[at].tobytes()
        for out in outs:
            wanted = decode(level, small[0], row, small[1], np.empty((1, SHAPE[1]), out.dtype))
            assert wanted.tobytes() == out[at].tobytes()
