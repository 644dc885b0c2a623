import pickle
from itertools import permutations
from math import prod

import numpy as np
import pytest
from any_scheme import block_sizes, extents
from hypothesis import given
from hypothesis import strategies as st

from qcore import errors
from qcore.scheme import BlockScale, BlockSize, ScaleDtype


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        ([1, 32], (32,)),
        ([1, 1, 8, 4, 2, 3], (8, 4, 2, 3)),
        ([1] * 9 + [2, 3, 4, 5, 6], (2, 3, 4, 5, 6)),
        ([1, 1], ()),
        ([], ()),
        ([32, 1], (32, 1)),
        ([2, 1, 3], (2, 1, 3)),
        (32, (32,)),
        ("2x16", (2, 16)),
        ("1", ()),
        (np.array([2, 16], np.uint8), (2, 16)),
        ((255,), (255,)),
    ],
)
def test_leading_ones_are_dropped_and_others_stay(given_, kept):
    assert BlockSize(given_).extents == tuple(BlockSize(given_)) == kept
    assert len(BlockSize(given_)) == len(kept)


def test_spellings_of_one_block_are_equal_and_hash_alike():
    assert BlockSize([1, 32]) == BlockSize([32]) != BlockSize([32, 32])
    assert len({BlockSize([1, 32]), BlockSize(32), BlockSize([1, 1, 32])}) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        [0],
        [256],
        [-1],
        [2, 0],
        [3.0],
        [True],
        [None],
        "x",
        "2x",
        "2,3",
        None,
        ["٣"],
        [10**5000],
        ["9" * 9999],
    ],
)
def test_an_extent_is_a_whole_number_from_1_to_255(wrong):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        BlockSize(wrong)
    assert caught.value.code == "block-extent"
    assert len(str(caught.value)) < 100


def test_more_than_five_extents_are_refused_in_burns_words():
    with pytest.raises(
        errors.InvalidSchemeError, match="Tried creating a block size larger than the cap"
    ) as caught:
        BlockSize([2, 1, 1, 1, 1, 2])
    assert caught.value.code == "block-cap"
    assert caught.value.params["got"] == 6


@pytest.mark.parametrize(
    ("block", "shape", "full", "grid"),
    [
        ([32], (8, 64), (1, 32), (8, 2)),
        ([4, 32], (8, 64), (4, 32), (2, 2)),
        ([32], (4, 8, 64), (1, 1, 32), (4, 8, 2)),
        ([32], (8, 70), (1, 32), (8, 3)),
        ([32, 1], (33, 2), (32, 1), (2, 2)),
        ([1], (3, 2), (1, 1), (3, 2)),
        ([32], (0, 70), (1, 32), (0, 3)),
        ([32], (5, 0), (1, 32), (5, 0)),
        ([1], (), (), ()),
        ([32], (), (), ()),
    ],
)
def test_a_block_is_aligned_with_the_trailing_axes(block, shape, full, grid):
    assert BlockSize(block).expand(len(shape)) == full
    assert BlockSize(block).grid(shape) == grid


@given(block_sizes, st.integers(0, 7))
def test_a_block_fits_every_rank_that_has_room_for_it(block, rank):
    if len(block) <= max(rank, 1):
        assert len(block.expand(rank)) == rank
        assert rank == 0 or prod(block.expand(rank)) == block.num_elements
    else:
        with pytest.raises(errors.ShapeError) as caught:
            block.expand(rank)
        assert caught.value.code == "block-rank"
        assert caught.value.params == {"block": block.debug(), "rank": rank}


@pytest.mark.parametrize(
    ("block", "axes", "moved"),
    [
        ([1, 4, 32], (2, 0, 1), [32, 1, 4]),
        ([32, 1], (1, 0), [32]),
        ([32], (1, 0), [32, 1]),
        ([2, 3], (-1, -2), [3, 2]),
    ],
)
def test_permuting_axes_rewrites_the_block(block, axes, moved):
    assert BlockSize(block).permuted(axes) == BlockSize(moved)


@given(extents.filter(lambda e: len(e) <= 4))
def test_the_grid_of_permuted_axes_is_the_permuted_grid(sizes):
    shape = (3, 300, 70, 1, 9)
    block = BlockSize(sizes)
    for axes in list(permutations(range(5)))[::17]:
        grid = block.grid(shape)
        assert block.permuted(axes).grid([shape[a] for a in axes]) == tuple(grid[a] for a in axes)


@pytest.mark.parametrize("axes", [(0, 0), (0, 2), (0, 3), (0, 1, 1), (-3, 0)])
def test_axes_that_are_no_permutation_are_refused(axes):
    with pytest.raises(errors.QuantError):
        BlockSize([2, 3]).permuted(axes)


@given(block_sizes)
def test_every_block_is_read_back_from_its_texts(block):
    assert eval(repr(block)) == BlockSize(str(block)) == pickle.loads(pickle.dumps(block)) == block
    scale = BlockScale(block, "bf16")
    assert eval(repr(scale)) == pickle.loads(pickle.dumps(scale)) == scale
    assert hash(pickle.loads(pickle.dumps(scale))) == hash(scale)


def test_a_block_scale_accepts_the_spellings_of_its_parts():
    assert BlockScale([1, 32], "float16") == BlockScale(BlockSize(32), ScaleDtype.F16)
    assert BlockScale(32, "f16").debug() == "BlockScale { size: BlockSize([32]), dtype: F16 }"


def test_a_block_of_single_elements_is_still_a_block():
    assert bool(BlockSize([1]))
    assert str(BlockSize([1, 1])) == "1"


def test_a_block_cannot_be_changed_once_made():
    with pytest.raises(AttributeError):
        BlockSize([2]).extents = (3,)
