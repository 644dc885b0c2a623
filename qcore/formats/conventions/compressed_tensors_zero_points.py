"""compressed-tensors with zero points, or with a permuted order of groups: such tensors only decode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcore.formats.conventions.look import Fetch, Found, Look

if TYPE_CHECKING:
    from qcore.formats.conventions.affine import AffineTensor
    from qcore.formats.protocol import Entry

__all__ = ["NAME", "packed_with_zeros", "plain_with_zeros"]

NAME = "compressed-tensors"


def packed_with_zeros(
    look: Look, prefix: str, shape: tuple[int, ...], bits: int, parts: list[str]
) -> Found | None:
    """Packed integers with zero points or a permuted order of their columns."""
    packed, scale = parts[0], look.plain[parts[1]]
    zero, order = prefix + "weight_zero_point", prefix + "weight_g_idx"
    if len(shape) != 2 or len(scale.shape) != 2 or scale.shape[0] != shape[0] or not scale.shape[1]:
        return None
    groups = scale.shape[1]
    entry = look.plain.get(zero)
    if entry is not None and not (
        entry.shape == scale.shape
        or (entry.dtype in ("int32", "uint32") and entry.shape == (-(-shape[0] * bits // 32), groups))
    ):
        raise look.fault(
            zero, "zero points", list(entry.shape), f"one for each of {list(scale.shape)} groups"
        )
    if order in look.plain and look.plain[order].shape != (shape[1],):
        raise look.fault(order, "the order of columns", list(look.plain[order].shape), [shape[1]])

    def make(fetch: Fetch) -> AffineTensor:
        import numpy as np

        from qcore.formats.conventions.affine import AffineTensor
        from qcore.formats.conventions.bits import stream

        half = 1 << (bits - 1)
        codes = stream(fetch(packed).view(np.uint32), bits, shape[1])
        zeros = np.full((1, 1), half, np.float32)
        if entry is not None:
            stored = fetch(zero)
            if entry.shape == scale.shape:
                zeros = stored.astype(np.float32) + half
            else:
                zeros = stream(stored.T.view(np.uint32), bits, shape[0]).T.astype(np.float32)
        where = fetch(order) if order in look.plain else None
        if where is not None and where.size and not 0 <= int(where.min()) <= int(where.max()) < groups:
            raise look.fault(order, "a group", f"{where.min()} to {where.max()}", f"0 to {groups - 1}")
        return AffineTensor(
            f"{NAME} pack-quantized", codes, fetch(scale.name).astype(np.float32), zeros, order=where
        )

    return look.foreign(prefix + "weight", parts, shape, make, origin=f"{NAME} pack-quantized, zero points")


def plain_with_zeros(look: Look, weight: Entry, parts: list[str]) -> Found | None:
    """Unpacked integers with zero points."""
    zero, scale = look.plain[parts[2]], look.plain[parts[1]]
    if zero.shape != scale.shape or (
        zero.shape and len(zero.shape) != len(weight.shape) and zero.shape != (1,)
    ):
        return None

    def make(fetch: Fetch) -> AffineTensor:
        import numpy as np

        from qcore.formats.conventions.affine import AffineTensor

        scales, zeros = (fetch(name).astype(np.float32) for name in parts[1:])
        return AffineTensor(f"{NAME} int-quantized", fetch(weight.name), scales, zeros)

    return look.foreign(weight.name, parts, weight.shape, make, origin=f"{NAME} int-quantized, zero points")
