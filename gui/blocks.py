"""One block under a lens: its elements, its scale, and the words that hold it."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np

import qcore

from .findings import BlockDetail
from .lens import Lens, WholeLens, grid_of
from .reduce import as_numbers
from .source import Matrix
from .state import place_of

MOST: Final = 1024
"""Elements that are listed; of a larger block, the run of the last axis around the place that was asked for."""
RUN: Final = 128
WORDS: Final = 96


def block_at(lens: Lens, element: tuple[int, ...]) -> tuple[int, ...]:
    """Grid index of the block of an element."""
    return tuple(at // extent for at, extent in zip(element or (0,), lens.extents or (1,), strict=True))


def detail(matrix: Matrix, lens: Lens, block: tuple[int, ...], near: tuple[int, ...] | None) -> BlockDetail:
    """List a block's elements, codes, scale and words."""
    shape = matrix.shape or (1,)
    extents = lens.extents or (1,)
    start = tuple(b * e for b, e in zip(block, extents, strict=True))
    stop = tuple(min(s + e, d) for s, e, d in zip(start, extents, shape, strict=True))
    if np.prod([b - a for a, b in zip(start, stop, strict=True)]) > MOST:
        at = near if near is not None and len(near) == len(shape) else start
        first = max(at[-1] - at[-1] % RUN, start[-1])
        start, stop = (*at[:-1], first), (*(i + 1 for i in at[:-1]), min(first + RUN, stop[-1]))
    if isinstance(lens, WholeLens):
        assert matrix.array is not None
        return _of(lens.q, matrix.array.reshape(shape), block, block, start, stop, (0,) * len(shape))
    row, left = place_of(shape, None, start)
    height = stop[-2] - start[-2] if len(shape) > 1 else 1
    window = lens.aligned(row, row + height, left, left + stop[-1] - start[-1])
    x, q = lens.quantized(*window)
    origin = (window[0], window[2])
    local = ((row - origin[0]) // lens.row_step, (left - origin[1]) // (lens.extents[-1] or 1))
    local = local if lens.scheme.block_size is not None else (0, 0)
    begin = (row - origin[0], left - origin[1])
    end = (begin[0] + height, begin[1] + stop[-1] - start[-1])
    shift = tuple(s - b for s, b in zip((0, *start)[-2:], begin, strict=True))
    return _of(q, lens.padded(x, q), local, block, begin, end, shift, lead=start[:-2])


def _of(
    q: qcore.QTensor,
    x: np.ndarray,
    at: tuple[int, ...],
    block: tuple[int, ...],
    start: tuple[int, ...],
    stop: tuple[int, ...],
    shift: tuple[int, ...],
    lead: tuple[int, ...] = (),
) -> BlockDetail:
    cut = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
    plan, shape = q.plan(), q.shape or (1,)
    stored = q.scales.reshape(grid_of(q))[at]
    word = stored.reshape(1).view({1: np.uint8, 2: np.uint16, 4: np.uint32}[q.scales.dtype.itemsize])[0]
    words, index, fields, elements = _words(q, start, stop)
    outside = tuple(tuple(None if e is None else (*lead, *_moved(e, shift)) for e in row) for row in elements)
    return BlockDetail(
        scheme=str(q.scheme), block=block, start=(*lead, *_moved(start, shift)),
        stop=(*(i + 1 for i in lead), *_moved(stop, shift)),
        values=as_numbers(x.reshape(shape)[cut]), codes=q.codes.reshape(shape)[cut],
        decoded=q.dequantize().reshape(shape)[cut], scale=float(np.float32(stored)), scale_word=int(word),
        scale_dtype=q.scheme.scale_dtype.name, global_scale=None if q.global_scale is None else float(q.global_scale),
        effective=float(q.effective_scales.reshape(grid_of(q))[at]), table=plan.codec.table, bits=plan.packing.bits,
        per_word=plan.packing.per_word, word_bits=8 * plan.packing.word_bytes, store=q.scheme.store.debug(),
        words=words, word_index=index, fields=fields, elements=outside,
    )  # fmt: skip


def _moved(index: tuple[int, ...], shift: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i + s for i, s in zip(index, shift, strict=True))


def _words(q: qcore.QTensor, start: tuple[int, ...], stop: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    """The stored words that hold a box of elements, and which element every lane of them is."""
    plan = q.plan()
    per, bits, axis = plan.packing.per_word, plan.packing.bits, plan.packing.axis
    shape, values = q.shape or (1,), q.values.reshape(plan.storage_shape)
    ranges = [range(a, b) for a, b in zip(start, stop, strict=True)]
    if per > 1:
        ranges[axis] = range(start[axis] // per, -(-stop[axis] // per))
    index = tuple(itertools.islice(itertools.product(*ranges), WORDS))
    unsigned = np.array([int(values[i]) for i in index], np.int64) & ((1 << 8 * plan.packing.word_bytes) - 1)
    lanes = np.arange(per)
    mask = (1 << bits) - 1
    fields = (unsigned[:, None] >> (lanes * bits)) & mask
    elements = []
    for number, i in enumerate(index):
        row: list[tuple[int, ...] | None] = []
        for lane in range(per):
            element = list(i)
            if per > 1:
                element[axis] = i[axis] * per + lane
            inside = all(a <= e < b for e, a, b in zip(element, start, stop, strict=True))
            row.append(tuple(element) if inside else None)
            if element[axis if per > 1 else -1] >= shape[axis if per > 1 else -1]:
                fields[number, lane] = -1
        elements.append(tuple(row))
    return unsigned, index, fields, tuple(elements)
