"""Blocks: rectangles of elements that share a scale, aligned with a tensor's trailing axes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from qcore import errors
from qcore.scheme.scales import ScaleDtype

MAX_DIMS: Final = 5
"""Extents a block can have, as in Burn."""
MAX_EXTENT: Final = 255
"""Largest extent: Burn keeps each in a byte."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class BlockSize:
    """Extents of a block, without the leading ones that mean nothing.

    Parameters
    ----------
    extents : iterable of int, int or str
        ``[2, 16]``, or ``32``, or ``"2x16"``; 1 to 255 each, at most five once leading ones are dropped.

    Raises
    ------
    InvalidSchemeError
        ``block-extent`` or ``block-cap``.

    Examples
    --------
    >>> BlockSize([1, 32]) == BlockSize(32), BlockSize([32, 1]).extents
    (True, (32, 1))
    >>> BlockSize([2, 16]).grid((4, 40))
    (2, 3)
    """

    extents: tuple[int, ...]

    def __init__(self, extents: Iterable[int] | int | str | BlockSize) -> None:
        """Check the extents and bring them into their one canonical form."""
        object.__setattr__(self, "extents", _canonical(_given(extents)))

    def expand(self, rank: int) -> tuple[int, ...]:
        """Return one extent per axis of a tensor of that rank.

        Rank 0 counts as 1 when asked whether the block fits, and has no axis to give an extent for.

        Parameters
        ----------
        rank : int
            Rank of the tensor.

        Returns
        -------
        tuple of int
            The extents, ones in front.

        Raises
        ------
        ShapeError
            ``block-rank``, when the block has more axes than the tensor.

        Examples
        --------
        >>> BlockSize([32]).expand(3)
        (1, 1, 32)
        """
        if len(self.extents) > max(rank, 1):
            raise errors.build("block-rank", block=self.debug(), rank=rank)
        if rank == 0:
            return ()
        return (1,) * (rank - len(self.extents)) + self.extents

    def grid(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the number of blocks along each axis; an edge block may be short.

        Parameters
        ----------
        shape : sequence of int
            Shape of the tensor.

        Returns
        -------
        tuple of int
            Shape of the scale grid.

        Raises
        ------
        ShapeError
            ``block-rank``, when the block has more axes than the tensor.

        Examples
        --------
        >>> BlockSize([4]).grid((3, 9))
        (3, 3)
        """
        return tuple(-(-dim // extent) for dim, extent in zip(shape, self.expand(len(shape)), strict=True))

    def permuted(self, axes: Sequence[int]) -> BlockSize:
        """Return the block of a tensor whose axes were permuted: axis ``i`` of the result is ``axes[i]``.

        Parameters
        ----------
        axes : sequence of int
            A permutation of the tensor's axes; negative ones count from the end.

        Returns
        -------
        BlockSize
            The block that still covers the same elements.

        Raises
        ------
        ShapeError
            ``block-rank``, when the block has more axes than the tensor.

        Examples
        --------
        >>> BlockSize([1, 4, 32]).permuted([2, 0, 1])
        BlockSize([32, 1, 4])
        """
        rank = len(axes)
        full = self.expand(rank)
        places = range(-rank, rank)
        if any(axis not in places for axis in axes) or len({axis % rank for axis in axes}) != rank:
            expected = f"a permutation of {rank} axes"
            raise errors.build("argument-type", argument="axes", expected=expected, got=str(tuple(axes)))
        return BlockSize(full[axis] for axis in axes)

    @property
    def num_elements(self) -> int:
        """Elements of a whole block."""
        return prod(self.extents)

    @property
    def text(self) -> str:
        """The canonical text: ``32``, ``2x16``, and ``1`` for the block of one element."""
        return "x".join(map(str, self.extents)) or "1"

    def debug(self) -> str:
        """Return the text that Burn prints.

        Returns
        -------
        str
            The live extents.

        Examples
        --------
        >>> BlockSize([1, 1]).debug()
        'BlockSize([])'
        """
        return f"BlockSize([{', '.join(map(str, self.extents))}])"

    def __iter__(self) -> Iterator[int]:
        """Iterate over the canonical extents."""
        return iter(self.extents)

    def __len__(self) -> int:
        """Return the number of canonical extents."""
        return len(self.extents)

    def __bool__(self) -> bool:
        """Hold a block to be true even when it has no extent left: it is still a block."""
        return True

    def __repr__(self) -> str:
        """Return text that evaluates to the block, which is Burn's as well."""
        return self.debug()

    def __str__(self) -> str:
        """Return the canonical text."""
        return self.text


@dataclass(frozen=True, slots=True)
class BlockScale:
    """One scale for each block: the blocks' size and the type of their scales.

    Parameters
    ----------
    size : BlockSize
        Extents of a block (anything that `BlockSize` takes).
    dtype : ScaleDtype
        Type of the stored scales, or its name.

    Examples
    --------
    >>> BlockScale([32], "f16")
    BlockScale(size=BlockSize([32]), dtype=ScaleDtype.F16)
    """

    size: BlockSize
    dtype: ScaleDtype

    def __post_init__(self) -> None:
        """Accept the spellings that the parts accept."""
        object.__setattr__(self, "size", BlockSize(self.size))
        object.__setattr__(self, "dtype", ScaleDtype(self.dtype))

    @classmethod
    def of(cls, given: object) -> BlockScale:
        """Return a block level as it is, or one made of a pair of size and dtype.

        Examples
        --------
        >>> BlockScale.of(("2x16", "f16")).text
        'b2x16:f16'
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, tuple) and len(given) == 2:
            return cls(*given)
        expected = "a BlockScale, or a pair of block size and scale dtype"
        raise errors.build("argument-type", argument="block", expected=expected, got=type(given).__name__)

    @property
    def text(self) -> str:
        """The canonical text, as in a scheme's."""
        return f"b{self.size.text}:{self.dtype.text}"

    def debug(self) -> str:
        """Return the text that Burn prints.

        Returns
        -------
        str
            Burn's Debug text.

        Examples
        --------
        >>> BlockScale([32], "f16").debug()
        'BlockScale { size: BlockSize([32]), dtype: F16 }'
        """
        return f"BlockScale {{ size: {self.size.debug()}, dtype: {self.dtype.debug()} }}"


def _given(extents: Iterable[int] | int | str | BlockSize) -> Iterator[object]:
    """Return what was given as a sequence of single extents."""
    if isinstance(extents, BlockSize):
        return iter(extents.extents)
    if isinstance(extents, str):
        return iter(extents.strip().lower().split("x"))
    if isinstance(extents, Iterable):
        return iter(extents)
    return iter((extents,))


def _canonical(given: Iterator[object]) -> tuple[int, ...]:
    """Check single extents and drop the leading ones; reads no more than it may keep."""
    kept: list[int] = []
    got = 0
    for item in given:
        extent = _extent(item)
        if kept or extent != 1:
            got += 1
            if got <= MAX_DIMS:
                kept.append(extent)
    if got > MAX_DIMS:
        raise errors.build("block-cap", got=got)
    return tuple(kept)


def _extent(item: object) -> int:
    """Return one extent as an int from 1 to 255, or refuse it."""
    number = -1
    if isinstance(item, str):
        if item.isascii() and item.isdigit():
            number = int(item[:9])  # nine digits are too large already
    elif not isinstance(item, bool):
        try:
            number = operator.index(item)  # type: ignore[arg-type]
        except TypeError:
            number = -1
    if not 1 <= number <= MAX_EXTENT:
        raise errors.build("block-extent", extent=_shown(item))
    return number


def _shown(item: object) -> int | str:
    """Return a refused extent as the error shows it: short whatever it is."""
    if isinstance(item, int) and not isinstance(item, bool) and abs(item) < 10**18:
        return item
    return (
        item[:20]
        if isinstance(item, str)
        else (repr(item) if isinstance(item, float | bool) else type(item).__name__)
    )
