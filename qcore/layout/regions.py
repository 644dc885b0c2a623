"""The regions of a quantized tensor's bytes: values, scales, global scale, found from the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qcore import errors
from qcore.layout import packing
from qcore.scheme.scheme import QuantScheme


@dataclass(frozen=True, slots=True)
class Regions:
    """Views of the regions of a tensor's bytes; they follow each other unpadded, so they may lie unaligned.

    Parameters
    ----------
    values : memoryview
        The stored values.
    scales : memoryview
        The block scales, or the one scale.
    global_scale : memoryview or None
        The f32 above the block scales, under two levels.
    padded : bool
        False for ragged 8-bit words without padding: one byte for each value in C order, as Burn's CPU writes.
    """

    values: memoryview
    scales: memoryview
    global_scale: memoryview | None
    padded: bool = True


def split(scheme: QuantScheme, shape: Sequence[int], data: bytes | bytearray | memoryview) -> Regions:
    """Split the bytes of a quantized tensor; every length is held against what is there.

    Parameters
    ----------
    scheme : QuantScheme
        The scheme.
    shape : sequence of int
        Logical shape of the tensor.
    data : bytes-like
        The bytes.

    Returns
    -------
    Regions
        Views of the regions.

    Raises
    ------
    FormatError
        ``global-short``, ``block-scales-short``, ``data-short`` or ``data-long``.
    ShapeError
        ``packing-axis`` or ``block-rank``, when the tensor has too few axes.

    Examples
    --------
    >>> found = split(QuantScheme.parse("q4s/u32/b8:f16"), (2, 8), bytes(12))
    >>> len(found.values), len(found.scales), found.global_scale
    (8, 4, None)
    """
    whole = memoryview(data).cast("B")
    got, expected = len(whole), packing.quantized_data_len(scheme, shape)
    of_global, of_scales = packing.global_nbytes(scheme), packing.scales_nbytes(scheme, shape)
    if scheme.is_two_level and got < of_global:
        raise errors.build("global-short", got=got, expected=of_global)
    if scheme.is_two_level and got - of_global < of_scales:
        raise errors.build("block-scales-short", got=got - of_global, expected=of_scales)
    if got < of_scales:
        raise errors.build("data-short", got=got, expected=expected)
    padded = got == expected
    if not padded and got != packing.unpadded_q8_len(scheme, shape):
        if got > expected:
            raise errors.build("data-long", got=got, expected=expected)
        raise errors.build("data-short", variant="values", got=got, expected=expected)
    end = got - of_global
    start = end - of_scales
    above = whole[end:] if scheme.is_two_level else None
    return Regions(whole[:start], whole[start:end], above, padded)
