"""Layout operations that are exact on codes and scales, or refuse and say to dequantize.

A block tensor may be rearranged only where whole blocks map to whole blocks; the code that decides it for a reshape
is ``qcore.layout.reblock``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from qcore import errors
from qcore.backends import loader
from qcore.layout import packing
from qcore.layout.dims import read_shape, whole_number
from qcore.layout.reblock import reblock
from qcore.plan import make_plan
from qcore.scheme import BlockSize, QuantScheme, QuantStore
from qcore.tensor import fields

if TYPE_CHECKING:
    from qcore.tensor.qtensor import QTensor


def transpose(q: QTensor, axes: tuple[Any, ...]) -> QTensor:
    """Permute axes; values, scale grid, block extents and packing axis move together."""
    order = _axes(axes, q.ndim)
    if order == tuple(range(q.ndim)):
        return q
    scheme = permuted_scheme(q.scheme, order)
    scales = q.scales if q.scheme.block_size is None else q.scales.transpose(order)
    return _remake(q, q.values.transpose(order), scales, scheme, tuple(q.shape[a] for a in order))


def reshape(q: QTensor, shape: tuple[Any, ...]) -> QTensor:
    """Reshape in C order where every block keeps its elements."""
    target = _target_shape(shape, q.size)
    if target == q.shape:
        return q
    scheme = q.scheme
    grid: tuple[int, ...] = (1,)
    if scheme.block_size is not None:
        extents = reblock(scheme.block_size, q.shape, target)
        if scheme.block_scale is None or extents is None:
            raise errors.build(
                "would-split-block", operation="reshape",
                reason=f"{scheme.block_size.debug()} blocks of {list(q.shape)} are not whole blocks of {list(target)}",
            )  # fmt: skip
        scheme = scheme.per_block(extents, scheme.block_scale.dtype)
        grid = packing.grid_shape(scheme, target)
    _check_axis(scheme.store, len(target))
    return _repack(q, q.codes.reshape(target), q.scales.reshape(grid), scheme, target)


def with_store(q: QTensor, store: QuantStore) -> QTensor:
    """The same codes and scales, packed as another store says: only bits move."""
    scheme = q.scheme.with_store(store)
    _check_axis(store, q.ndim)
    return _repack(q, q.codes, q.scales, scheme, q.shape)


def getitem(q: QTensor, key: Any) -> QTensor:
    """Take a slice whose edges are block edges along every axis with blocks."""
    picks = _picks(key, q.shape)
    block = q.scheme.block_size
    extents = (1,) * q.ndim if block is None else block.expand(q.ndim)
    grid_picks = tuple(
        _grid_pick(axis, pick, dim, extent)
        for axis, (pick, dim, extent) in enumerate(zip(picks, q.shape, extents, strict=True))
    ) if block is not None else ()  # fmt: skip
    kept = [axis for axis, pick in enumerate(picks) if isinstance(pick, slice)]
    codes = q.codes[picks] if picks else q.codes
    scheme = q.scheme.with_store(_store_after_drop(q.scheme.store, kept, q.ndim))
    scales = q.scales
    if block is not None and q.scheme.block_scale is not None:
        scheme = scheme.per_block(BlockSize([extents[axis] for axis in kept]), q.scheme.block_scale.dtype)
        scales = q.scales[grid_picks]
    return _repack(q, np.asarray(codes), scales, scheme, codes.shape)


def concat(tensors: Sequence[QTensor], axis: int = 0) -> QTensor:
    """Join quantized tensors along an axis, exactly.

    Parameters
    ----------
    tensors : sequence of QTensor
        Of one scheme and codebook, with equal shapes but for ``axis``. Two-level tensors need the same global
        scale, per-tensor ones the same scale; under blocks every tensor but the last must end on a block edge.
    axis : int
        The axis they are joined along.

    Returns
    -------
    QTensor
        One tensor of the same scheme.

    Raises
    ------
    ShapeError
        ``would-split-block`` with the reason; ``concat-mismatch`` where schemes or shapes differ.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> q = qcore.quantize(np.ones((4, 64), np.float32), "q4s/u32/b32:f16")
    >>> qcore.concat([q[:1], q[1:]]) == q
    True
    """
    items = list(tensors)
    if not items:
        raise errors.build("concat-mismatch", reason="there is nothing to join")
    first = items[0]
    rank = first.ndim
    at = _axis(axis, rank)
    for other in items[1:]:
        _check_joinable(first, other, at)
    block = first.scheme.block_size
    if block is not None:
        extent = block.expand(rank)[at]
        for item in items[:-1]:
            if item.shape[at] % extent:
                raise errors.build(
                    "would-split-block", operation="concat",
                    reason=f"a part ends at {item.shape[at]} along axis {at}, inside a block of {extent}",
                )  # fmt: skip
    codes = np.concatenate([item.codes for item in items], axis=at)
    scales = first.scales if block is None else np.concatenate([item.scales for item in items], axis=at)
    return _repack(first, codes, scales, first.scheme, codes.shape)


def _check_joinable(first: QTensor, other: QTensor, axis: int) -> None:
    reason = None
    if other.scheme != first.scheme:
        reason = f"schemes differ ({first.scheme} and {other.scheme})"
    elif other.codebook != first.codebook:
        reason = "codebooks differ"
    elif len(other.shape) != len(first.shape) or any(
        a != b for i, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if i != axis
    ):
        reason = f"shapes {list(first.shape)} and {list(other.shape)} differ beside axis {axis}"
    if reason is not None:
        raise errors.build("concat-mismatch", reason=reason)
    if first.global_scale != other.global_scale:
        raise errors.build("would-split-block", operation="concat", reason="the global scales differ")
    if first.scheme.block_size is None and first.scales.tobytes() != other.scales.tobytes():
        raise errors.build("would-split-block", operation="concat", reason="the per-tensor scales differ")


def _remake(
    q: QTensor, values: np.ndarray, scales: np.ndarray, scheme: QuantScheme, shape: tuple[int, ...]
) -> QTensor:
    def own(array: np.ndarray) -> np.ndarray:
        return np.array(array, order="C", copy=True)

    return type(q)._make(own(values), own(scales), q.global_scale, scheme, shape, q.codebook, q.backend, q.rules)


def _repack(
    q: QTensor, codes: np.ndarray, scales: np.ndarray, scheme: QuantScheme, shape: tuple[int, ...]
) -> QTensor:
    plan = make_plan(scheme, shape, codebook=q.codebook)
    values = fields.pack_fields(codes.reshape(plan.shape), plan, loader.engine(q.backend))
    return _remake(q, values, np.reshape(scales, plan.grid), scheme, shape)


def permuted_scheme(scheme: QuantScheme, order: tuple[int, ...]) -> QuantScheme:
    """The scheme of a tensor whose axes are permuted: block extents and packing axis move along."""
    rank = len(order)
    axis = packing.packed_axis(scheme.store, rank)
    if axis is not None:
        scheme = scheme.with_store(QuantStore(scheme.store.kind, rank - order.index(axis) - 1))
    if scheme.block_scale is not None:
        size = scheme.block_scale.size
        scheme = scheme.per_block(size.permuted(order), scheme.block_scale.dtype)
    return scheme


def _store_after_drop(store: QuantStore, kept: list[int], rank: int) -> QuantStore:
    """The store whose packing axis is the same axis after others were dropped (the innermost if it went itself)."""
    axis = packing.packed_axis(store, rank)
    if axis is None:
        return store
    return QuantStore(store.kind, len(kept) - kept.index(axis) - 1 if axis in kept else 0)


def _check_axis(store: QuantStore, rank: int) -> None:
    if store.kind != "native" and store.dim >= max(rank, 1):
        raise errors.build("packing-axis", dim=store.dim, rank=max(rank, 1))


def _axes(axes: tuple[Any, ...], rank: int) -> tuple[int, ...]:
    given = axes[0] if len(axes) == 1 and whole_number(axes[0]) is None else axes
    if given is None or len(given) == 0:
        return tuple(reversed(range(rank)))
    order = tuple(_axis(axis, rank) for axis in given)
    if sorted(order) != list(range(rank)):
        raise errors.build("axis-invalid", axis=str(tuple(given)), rank=rank)
    return order


def _axis(axis: Any, rank: int) -> int:
    index = whole_number(axis)
    if index is None or not -rank <= index < rank:
        raise errors.build("axis-invalid", axis=str(axis), rank=rank)
    return index % rank


def _target_shape(shape: tuple[Any, ...], size: int) -> tuple[int, ...]:
    given = list(shape[0]) if len(shape) == 1 and whole_number(shape[0]) is None else list(shape)
    if given.count(-1) == 1:
        known = prod(read_shape([dim for dim in given if dim != -1]))
        if known > 0 and size % known == 0:
            given[given.index(-1)] = size // known
    dims = read_shape(given)
    if prod(dims) != size:
        raise errors.build("shape-invalid", variant="size", shape=str(dims), count=size)
    return dims


def _picks(key: Any, shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """One int or slice per axis, in range."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1 or len(keys) - len(dots) > len(shape):
        raise errors.build("index-invalid", index=repr(key), shape=str(list(shape)))
    dot = dots[0] if dots else len(keys)
    fill = [slice(None)] * (len(shape) - (len(keys) - len(dots)))
    keys = keys[:dot] + fill + keys[dot + len(dots) :]
    picks: list[int | slice] = []
    for k, dim in zip(keys, shape, strict=True):
        at = whole_number(k)
        if isinstance(k, slice):
            picks.append(k)
        elif at is not None and -dim <= at < dim:
            picks.append(at % dim)
        else:
            raise errors.build("index-invalid", index=repr(k), shape=str(list(shape)))
    return tuple(picks)


def _grid_pick(axis: int, pick: int | slice, dim: int, extent: int) -> int | slice:
    """The same pick on the scale grid's axis."""
    if extent == 1 or dim <= 1:
        return pick
    if isinstance(pick, slice):
        start, stop, step = pick.indices(dim)
        if step == 1 and stop <= start:
            return slice(0, 0)
        if step == 1 and start % extent == 0 and (stop % extent == 0 or stop == dim):
            return slice(start // extent, -(-stop // extent))
        what = f"{start}:{stop}:{step}"
    else:
        what = str(pick)
    raise errors.build(
        "would-split-block", operation="slice", reason=f"[{what}] along axis {axis} cuts blocks of {extent}"
    )
