"""A reshape keeps blocks whole, or is refused: held against the partition of elements itself."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcore.layout.reblock import reblock
from qcore.scheme import BlockSize


def block_numbers(block: BlockSize, shape: tuple[int, ...]) -> np.ndarray:
    """The number of every element's block, in C order of elements; blocks numbered in C order of the grid."""
    extents, grid = block.expand(len(shape)), block.grid(shape)
    numbers = np.zeros(shape, np.int64)
    for axis, (dim, extent, count) in enumerate(zip(shape, extents, grid, strict=True)):
        along = np.arange(dim) // extent
        numbers = numbers * count + along.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return numbers.reshape(-1)


def factorisations(size: int, rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    return (
        st.lists(st.sampled_from(divisors), min_size=rank - 1, max_size=rank - 1)
        .filter(lambda dims: size % prod(dims) == 0)
        .map(lambda dims: (*dims, size // prod(dims)))
    )


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[BlockSize, tuple[int, ...], tuple[int, ...]]:
    size = draw(st.sampled_from([1, 6, 12, 16, 24, 36, 60, 64]))
    old = draw(factorisations(size, draw(st.integers(1, 4))))
    new = draw(factorisations(size, draw(st.integers(1, 4))))
    extents = [draw(st.integers(1, 9)) for _ in range(draw(st.integers(0, len(old))))]
    return BlockSize(extents), old, new


@given(reshapes())
@settings(max_examples=600, deadline=None)
def test_a_reshaped_block_size_partitions_the_same_elements(case: tuple) -> None:
    block, old, new = case
    found = reblock(block, old, new)
    if found is not None:
        assert np.array_equal(block_numbers(block, old), block_numbers(found, new))


@given(reshapes())
@settings(max_examples=600, deadline=None)
def test_a_refused_reshape_has_no_block_size_of_small_extents(case: tuple) -> None:
    block, old, new = case
    if reblock(block, old, new) is None:
        wanted = block_numbers(block, old)
        for extents in np.ndindex(tuple(min(dim, 9) for dim in new)):
            candidate = [extent + 1 for extent in extents]
            assert not np.array_equal(wanted, block_numbers(BlockSize(candidate), new)), candidate


@pytest.mark.parametrize(
    ("block", "old", "new", "expected"),
    [
        ([32], (4, 64), (256,), [32]),
        ([32], (256,), (4, 64), [32]),
        ([32], (4, 64), (2, 2, 64), [32]),
        ([32], (4, 48), (192,), None),
        ([32], (4, 48), (2, 2, 48), [32]),
        ([2, 16], (4, 32), (1, 4, 32), [2, 16]),
        ([2, 16], (4, 32), (128,), None),
        ([2, 16], (4, 32), (4, 32, 1), [2, 16, 1]),
        ([64], (3, 48), (1, 3, 48), [64]),
        ([4, 8], (4, 8), (32,), [32]),
    ],
)
def test_known_reshapes_give_known_blocks(
    block: list[int], old: tuple[int, ...], new: tuple[int, ...], expected: list[int] | None
) -> None:
    found = reblock(BlockSize(block), old, new)
    assert found == (None if expected is None else BlockSize(expected))
