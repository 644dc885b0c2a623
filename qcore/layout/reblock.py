"""Whether a reshape keeps every block whole, and the block size afterwards.

A reshape regroups axes: runs of old axes and runs of new axes cover the same elements. In such a group blocks survive
when they are single elements, when one block covers the whole group, when the group is one unchanged axis, or when they
are equal runs of consecutive elements and both shapes cut the group at the same places.
"""

from __future__ import annotations

from math import prod

from qcore.scheme import BlockSize

_MAX_EXTENT = 255
_MAX_DIMS = 5


def reblock(block: BlockSize, old: tuple[int, ...], new: tuple[int, ...]) -> BlockSize | None:
    """Block size of the reshaped tensor, or None where a block would be split or reordered.

    Examples
    --------
    >>> from qcore.scheme import BlockSize
    >>> reblock(BlockSize([32]), (4, 64), (256,)), reblock(BlockSize([32]), (4, 64), (4, 16, 4))
    (BlockSize([32]), BlockSize([8, 4]))
    >>> reblock(BlockSize([32]), (4, 48), (192,)) is None
    True
    """
    same = block.expand(len(new)) if len(block) <= len(new) else None
    if prod(new) == 0:
        return block if same is not None else None
    extents = _new_extents(block.expand(len(old)), old, new)
    if extents is None:
        return None
    if same is not None and all(min(a, d) == min(b, d) for a, b, d in zip(same, extents, new, strict=True)):
        return block
    while extents and extents[0] == 1:
        extents = extents[1:]
    if len(extents) > _MAX_DIMS or any(extent > _MAX_EXTENT for extent in extents):
        return None
    return BlockSize(extents)


def _new_extents(extents: tuple[int, ...], old: tuple[int, ...], new: tuple[int, ...]) -> list[int] | None:
    """Extent along every new axis. Unit axes hold no elements to split and take extent 1."""
    pairs = [(dim, min(extent, dim)) for dim, extent in zip(old, extents, strict=True) if dim > 1]
    targets = [(axis, dim) for axis, dim in enumerate(new) if dim > 1]
    result = [1] * len(new)
    while pairs:
        group, dims = [pairs.pop(0)], [targets.pop(0)]
        while (a := prod(d for d, _ in group)) != (b := prod(d for _, d in dims)):
            if a < b:
                group.append(pairs.pop(0))
            else:
                dims.append(targets.pop(0))
        found = _group_extents(group, [d for _, d in dims])
        if found is None:
            return None
        for (axis, _), extent in zip(dims, found, strict=True):
            result[axis] = extent
    return result


def _group_extents(group: list[tuple[int, int]], dims: list[int]) -> list[int] | None:
    if len(group) == 1 == len(dims):
        return [group[0][1]]
    run = _run_length([d for d, _ in group], [e for _, e in group])
    if run is None:
        return None
    found = [1] * len(dims)
    for at in range(len(dims) - 1, -1, -1):
        if run >= dims[at]:
            if run % dims[at]:
                return None
            found[at], run = dims[at], run // dims[at]
            continue
        # The axis where runs end: they must tile it, or be the only axis left.
        if dims[at] % run and at > 0:
            return None
        found[at] = run
        break
    return found


def _run_length(dims: list[int], extents: list[int]) -> int | None:
    """Length of a block as a run of consecutive elements of the flattened group, if every block is such a run."""
    at = len(dims) - 1
    while at > 0 and extents[at] == dims[at]:
        at -= 1
    if any(extent != 1 for extent in extents[:at]):
        return None
    if dims[at] % extents[at] and at > 0:
        return None
    return extents[at] * prod(dims[at + 1 :])
