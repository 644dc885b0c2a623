"""A tensor cut into boxes that fit a device's buffers: whole blocks, or parts of one where a block does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcore.plan import Plan


@dataclass(frozen=True, slots=True)
class Tile:
    """One box of a tensor: its place, the blocks it lies in, and where its words are stored."""

    where: tuple[slice, ...]
    grid: tuple[slice, ...]
    storage: tuple[slice, ...]
    shape: tuple[int, ...]
    extents: tuple[int, ...]


def tiles(plan: Plan, extents: tuple[int, ...], most: int) -> list[Tile]:
    """Cut the tensor of a plan, measured under ``extents``, into boxes of at most ``most`` elements.

    Cuts along the packed axis lie between words. A box holds whole blocks, or lies inside one block along an axis.
    """
    per_word, axis = plan.packing.per_word, plan.packing.axis
    found = []
    for where in _boxes(plan.shape, extents, per_word, axis, most):
        shape = tuple(cut.stop - cut.start for cut in where)
        storage = tuple(
            slice(cut.start // per_word, -(-cut.stop // per_word)) if k == axis else cut for k, cut in enumerate(where)
        )
        grid = tuple(slice(cut.start // e, -(-cut.stop // e)) for cut, e in zip(where, extents, strict=True))
        inside = tuple(min(e, dim) for e, dim in zip(extents, shape, strict=True))
        found.append(Tile(where, grid, storage, shape, inside))
    return found


def _boxes(
    shape: tuple[int, ...], extents: tuple[int, ...], per_word: int, packed: int, most: int
) -> Iterator[tuple[slice, ...]]:
    whole = tuple(slice(0, dim) for dim in shape)
    waiting = [whole]
    while waiting:
        box = waiting.pop()
        size = prod(cut.stop - cut.start for cut in box)
        if size <= most:
            yield box
            continue
        parts = _cut(box, extents, per_word, packed, most)
        if not parts:  # a single word, or a single element, is as small as it gets
            yield box
            continue
        waiting.extend(reversed(parts))


def _cut(
    box: tuple[slice, ...], extents: tuple[int, ...], per_word: int, packed: int, most: int
) -> list[tuple[slice, ...]]:
    """Cut a box along its first axis that can be cut."""
    inner = prod(cut.stop - cut.start for cut in box)
    for axis, cut in enumerate(box):
        length = cut.stop - cut.start
        inner //= length
        word = per_word if axis == packed else 1
        step = most // inner if inner <= most else 0
        between_blocks = lcm(extents[axis], word)
        if length > between_blocks:
            step = max(step // between_blocks, 1) * between_blocks
        elif cut.start // extents[axis] == (cut.stop - 1) // extents[axis]:
            step = max(step // word, 1) * word
        else:  # several blocks that share words cannot be told apart along this axis
            continue
        if step < length:
            starts = range(cut.start, cut.stop, step)
            return [
                (*box[:axis], slice(start, min(start + step, cut.stop)), *box[axis + 1 :]) for start in starts
            ]
    return []
