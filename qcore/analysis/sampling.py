"""A part of a tensor that stands for the whole: whole blocks, evenly spread, the same ones every time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from qcore import errors
from qcore.scheme import QuantScheme

_LINE_MULTIPLE: Final = 32
"""Along the last axis a slab is whole words of every store as well."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was looked at: ``array``, the axis it was thinned along, and the share of the elements that is left."""

    array: np.ndarray
    axis: int | None
    share: float

    @property
    def note(self) -> str:
        """The sentence that has to stand beside every number measured on it."""
        if self.axis is None:
            return "all elements"
        return f"{self.share:.1%} of the elements: whole blocks spread evenly along axis {self.axis}"


def take(x: np.ndarray, share: float | None, schemes: Iterable[QuantScheme]) -> Sample:
    """Keep about ``share`` of a tensor, in slabs that no block of any of the schemes straddles.

    Parameters
    ----------
    x
        The tensor.
    share
        More than 0, at most 1; None keeps everything.
    schemes
        What is to be tried.

    Examples
    --------
    >>> import numpy as np
    >>> from qcore.scheme import QuantScheme
    >>> take(np.zeros((1000, 64), np.float32), 0.1, [QuantScheme.parse("q8s/native/b32:f32")]).array.shape
    (100, 64)
    """
    if share is None:
        return Sample(x, None, 1.0)
    if not isinstance(share, int | float) or not 0 < share <= 1:
        raise errors.build("option-value", option="sample", expected="more than 0 and at most 1", got=str(share))
    if share == 1 or x.size == 0 or x.ndim == 0:
        return Sample(x, None, 1.0)
    axis = max(range(x.ndim), key=lambda a: (x.shape[a], -a))
    slab = math.lcm(*(_extent(scheme, x.ndim, axis) for scheme in schemes), _LINE_MULTIPLE if axis == x.ndim - 1 else 1)
    slabs = -(-x.shape[axis] // slab)
    kept = max(1, round(share * slabs))
    if kept >= slabs:
        return Sample(x, None, 1.0)
    # The middle of each of `kept` equal parts: neither end of the tensor is favoured.
    chosen = [(2 * i + 1) * slabs // (2 * kept) for i in range(kept)]
    pieces = [x[(slice(None),) * axis + (slice(at * slab, (at + 1) * slab),)] for at in chosen]
    array = np.concatenate(pieces, axis=axis)
    return Sample(array, axis, array.size / x.size)


def _extent(scheme: QuantScheme, rank: int, axis: int) -> int:
    block = scheme.block_size
    return 1 if block is None or len(block) > rank else block.expand(rank)[axis]
