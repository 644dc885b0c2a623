"""Codebooks: the table of a lookup scheme, and the thresholds that find its nearest entry."""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcore import errors
from qcore.scheme import words
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.tables import TABLE_NAMES, TABLES, table_name
from qcore.scheme.thresholds import sorted_order, thresholds

BITS_BY_LENGTH: Final = {4: 2, 16: 4, 256: 8}
"""Lengths a table can have, and the width of their indices."""


class Codebook:
    """A table of ``2^bits`` f32 numbers that the fields of a lookup scheme index.

    Codebooks are immutable, hashable, and equal when the bytes of their tables are.

    Parameters
    ----------
    table : array_like
        4, 16 or 256 finite numbers, not all zero; rounded to f32.
    name : str, optional
        What to call it.

    Raises
    ------
    InvalidSchemeError
        ``bad-codebook``.

    Examples
    --------
    >>> book = Codebook([-1, 0, 0.5, 1])
    >>> book.bits, float(book.peak), book.zero_index, book.bounds.tolist()
    (2, 1.0, 1, [-0.5, 0.25, 0.75])
    >>> Codebook.nf4()
    Codebook.named('nf4')
    """

    __slots__ = ("_bounds", "_name", "_order", "_table")

    _table: NDArray[np.float32]
    _name: str | None
    _order: NDArray[np.uint8]
    _bounds: NDArray[np.float32]

    def __init__(self, table: ArrayLike, name: str | None = None) -> None:
        """Check the table and derive its order and thresholds."""
        if name is not None and not isinstance(name, str):
            raise errors.build("argument-type", argument="name", expected="text", got=type(name).__name__)
        entries = _checked(table)
        order = sorted_order(entries)
        self._table, self._order, self._bounds, self._name = entries, order, thresholds(entries, order), name
        for array in (self._table, self._order, self._bounds):
            array.setflags(write=False)

    @property
    def table(self) -> NDArray[np.float32]:
        """The entries by index: read-only f32."""
        return self._table

    @property
    def name(self) -> str | None:
        """What it is called, if anything."""
        return self._name

    @property
    def bits(self) -> int:
        """Width of an index."""
        return BITS_BY_LENGTH[len(self._table)]

    @property
    def order(self) -> NDArray[np.uint8]:
        """Index at each sorted position; equal entries share the lowest."""
        return self._order

    @property
    def bounds(self) -> NDArray[np.float32]:
        """Thresholds between sorted neighbours: ``order[number of bounds below t]`` is the nearest entry to t."""
        return self._bounds

    @property
    def zero_index(self) -> int:
        """Index of the entry nearest to zero, the lowest on a tie."""
        return int(np.argmin(np.abs(self._table)))

    @property
    def peak(self) -> np.float32:
        """Largest magnitude: what a peak is divided by to give a scale."""
        return np.float32(np.max(np.abs(self._table)))

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a codebook preset.

        Parameters
        ----------
        name : str
            ``nf4``, ``fp4-bnb`` or ``iq4-nl``.

        Returns
        -------
        Codebook
            The codebook.

        Raises
        ------
        InvalidSchemeError
            ``unknown-name``.

        Examples
        --------
        >>> Codebook.named("IQ4_NL").table[:3].tolist()
        [-127.0, -104.0, -83.0]
        """
        known = table_name(name)
        if known is None:
            words.unknown("codebook", name, TABLE_NAMES)
        return cls(TABLES[known], known)

    @classmethod
    def of(cls, given: Codebook | str | ArrayLike) -> Codebook:
        """Take a codebook, a preset's name or a table of numbers: ``Codebook.of("nf4").bits`` is 4."""
        if isinstance(given, Codebook):
            return given
        return cls.named(given) if isinstance(given, str) else cls(given)

    @classmethod
    def nf4(cls) -> Self:
        """Return QLoRA's 4-bit NormalFloat.

        Returns
        -------
        Codebook
            The codebook.

        Examples
        --------
        >>> Codebook.nf4().zero_index
        7
        """
        return cls.named("nf4")

    @classmethod
    def fp4_bnb(cls) -> Self:
        """Return the 4-bit float of bitsandbytes, which is not E2M1.

        Returns
        -------
        Codebook
            The codebook.

        Examples
        --------
        >>> Codebook.fp4_bnb().zero_index
        0
        """
        return cls.named("fp4-bnb")

    @classmethod
    def iq4_nl(cls) -> Self:
        """Return the non-linear 4-bit values of ggml's IQ4_NL; none of them is zero.

        Returns
        -------
        Codebook
            The codebook.

        Examples
        --------
        >>> float(Codebook.iq4_nl().table[Codebook.iq4_nl().zero_index])
        1.0
        """
        return cls.named("iq4-nl")

    @classmethod
    def fit(
        cls,
        x: ArrayLike,
        bits: int = 4,
        *,
        scheme: QuantScheme | str | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Fit a table to a tensor: one-dimensional k-means of the elements divided by their block's peak.

        Deterministic, and bounded in memory whatever the size of the tensor.

        Parameters
        ----------
        x : array_like
            The tensor.
        bits : int
            Width of an index: 2, 4 or 8.
        scheme : QuantScheme or str, optional
            The lookup scheme it is for, whose blocks count; without one, the whole tensor is a block.
        weights : array_like, optional
            How much each element matters; same shape as ``x``, none negative.

        Returns
        -------
        Codebook
            The table, sorted, scaled to a largest magnitude of 1; the last entry is repeated when ``x`` has
            fewer different values than the table has room for.

        Raises
        ------
        InvalidSchemeError
            ``bad-codebook`` when nothing can be fitted; ``table-length`` when the scheme has another width.

        Examples
        --------
        >>> Codebook.fit([-2.0, -1.0, 1.0, 2.0], bits=2).table.tolist()
        [-1.0, -0.5, 0.5, 1.0]
        """
        from qcore.scheme.fitting import fit_table

        return cls(fit_table(x, bits, scheme, weights))

    def __eq__(self, other: object) -> bool:
        """Compare the bytes of the tables."""
        return (
            self._table.tobytes() == other._table.tobytes() if isinstance(other, Codebook) else NotImplemented
        )

    def __hash__(self) -> int:
        """Hash the bytes of the table."""
        return hash(self._table.tobytes())

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._table)

    def __reduce__(self) -> tuple[type[Codebook], tuple[NDArray[np.float32], str | None]]:
        """Pickle the table and the name; the rest follows from them."""
        return type(self), (self._table, self._name)

    def __repr__(self) -> str:
        """Return text that evaluates to the codebook."""
        if self._name in TABLES and self == Codebook.named(self._name):
            return f"Codebook.named({self._name!r})"
        name = "" if self._name is None else f", name={self._name!r}"
        return f"Codebook({self._table.tolist()}{name})"


def _checked(table: ArrayLike) -> NDArray[np.float32]:
    """Return the table as a fresh one-dimensional f32 array, or refuse it."""
    with np.errstate(over="ignore"):  # an f64 beyond f32's range becomes infinite and is refused below
        entries = np.array(numbers(table, "a table"), np.float32, order="C")
    length = " x ".join(map(str, entries.shape)) or "a single number"
    if entries.ndim != 1 or len(entries) not in BITS_BY_LENGTH:
        raise errors.build(
            "bad-codebook", reason=f"a table has 4, 16 or 256 entries in one row, got {length}"
        )
    bad = np.flatnonzero(~np.isfinite(entries))
    if len(bad):
        raise errors.build("bad-codebook", reason=f"entry {bad[0]} is {entries[bad[0]]}, not a finite f32")
    if not entries.any():
        raise errors.build("bad-codebook", reason="every entry is zero")
    return entries


def numbers(given: ArrayLike, what: str) -> NDArray[Any]:
    """Return real numbers as an array of their own type, not copied where that can be, or refuse them.

    Parameters
    ----------
    given : array_like
        Floats of any width, or integers.
    what : str
        What they are, for the error.

    Returns
    -------
    ndarray
        The numbers.

    Raises
    ------
    InvalidSchemeError
        ``bad-codebook``.

    Examples
    --------
    >>> numbers([1, 2.5], "a table").tolist()
    [1.0, 2.5]
    """
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        raise errors.build("bad-codebook", reason=f"{what} is an array of numbers") from None
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        raise errors.build("bad-codebook", reason=f"{what} holds real numbers, got {array.dtype.name}")
    return array
