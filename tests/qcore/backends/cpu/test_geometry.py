"""Geometry: few axes, and never a block, a stride or a word disturbed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from qcore.backends.cpu.geometry import Axis, coarsen, finer, make_geometry, merge


def strides_of(shape: tuple[int, ...], itemsize: int = 4) -> tuple[int, ...]:
    return np.empty(shape, f"V{itemsize}").strides


@pytest.mark.parametrize(
    ("shape", "extents", "axes"),
    [
        ((4, 64), (1, 32), [Axis(256, 4, 32)]),
        ((4, 60), (1, 32), [Axis(4, 240, 1), Axis(60, 4, 32)]),
        ((4, 5, 6), (4, 5, 6), [Axis(120, 4, 120)]),
        ((4, 5, 6), (2, 5, 6), [Axis(120, 4, 60)]),
        ((4, 5, 6), (1, 5, 6), [Axis(120, 4, 30)]),
        ((4, 5, 6), (1, 2, 6), [Axis(4, 120, 1), Axis(30, 4, 12)]),
        ((4, 6, 6), (1, 2, 6), [Axis(144, 4, 12)]),
        ((4, 1, 6), (1, 1, 3), [Axis(24, 4, 3)]),
        ((1, 1), (1, 1), [Axis(1, 0, 1)]),
        ((8, 16), (2, 16), [Axis(128, 4, 32)]),
        ((8, 16), (2, 4), [Axis(8, 64, 2), Axis(16, 4, 4)]),
    ],
)
def test_neighbours_merge_where_blocks_allow(
    shape: tuple[int, ...], extents: tuple[int, ...], axes: list[Axis]
) -> None:
    assert merge(shape, strides_of(shape), extents, -1, 1) == (tuple(axes), -1)


def test_strides_forbid_what_blocks_would_allow() -> None:
    axes, _ = merge((4, 64), (512, 4), (1, 32), -1, 1)
    assert [axis.dim for axis in axes] == [4, 64]
    axes, _ = merge((4, 64), (-256, 4), (1, 32), -1, 1)
    assert [axis.dim for axis in axes] == [4, 64]


def test_a_broadcast_line_is_one_line() -> None:
    axes, _ = merge((4, 64), (0, 0), (1, 32), -1, 1)
    assert axes == (Axis(256, 0, 32),)


def test_words_end_with_a_line_unless_it_is_a_whole_number_of_them() -> None:
    assert len(merge((4, 12), strides_of((4, 12)), (4, 12), 1, 8)[0]) == 2
    assert len(merge((4, 16), strides_of((4, 16)), (4, 16), 1, 8)[0]) == 1


def test_the_axis_that_holds_the_lanes_of_words_stays_alone() -> None:
    shape = (2, 3, 8, 4, 5)
    axes, lane = merge(shape, strides_of(shape), (1, 1, 1, 1, 5), 2, 8)
    assert [axis.dim for axis in axes] == [6, 8, 20]
    assert lane == 1
    axes, lane = merge((8, 1), strides_of((8, 1)), (1, 1), 0, 8)
    assert (axes, lane) == ((Axis(8, 4, 1),), -1)


def test_a_long_block_that_is_not_its_line_is_left_in_two_axes() -> None:
    axes, _ = merge((6, 4096), strides_of((6, 4096)), (2, 4096), -1, 1)
    assert [axis.extent for axis in axes] == [2, 4096]


def peaks_of(x: np.ndarray, extents: list[int]) -> np.ndarray:
    for axis, extent in enumerate(extents):
        x = np.maximum.reduceat(x, np.arange(0, x.shape[axis], extent), axis=axis)
    return x


@pytest.mark.parametrize("order", ["C", "F"])
def test_peaks_of_nested_blocks_make_the_peaks_of_blocks(order: str) -> None:
    shape = (3, 70, 900)
    x = np.abs(np.random.default_rng(0).standard_normal(shape)).astype(np.float32)
    x = np.asarray(x, order=order)  # type: ignore[call-overload]
    for extents in itertools.product((1, 3), (1, 8, 70), (1, 7, 900)):
        g = make_geometry(shape, x.strides, 0, extents, None)
        nested = finer(g.axes)
        lines = x.reshape([axis.dim for axis in g.axes])
        found = coarsen(peaks_of(lines, [axis.extent for axis in nested]), nested, g.axes)
        np.testing.assert_array_equal(found, peaks_of(x, list(extents)).reshape(-1))


def test_counts_of_tasks_cover_every_element() -> None:
    g = make_geometry((3, 100_000), strides_of((3, 100_000)), 0, (1, 32), None)
    assert (g.elements, g.blocks, g.fused) == (300_000, 9375, True)
    assert g.block_tasks >= 4
    assert g.word_tasks >= 4
    assert make_geometry((2,), (4,), 0, (2,), None).chunks == 1
    assert make_geometry((4097,), (4,), 0, (4097,), None).chunks == 2
