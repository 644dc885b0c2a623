"""Whole numbers and shapes, as people hand them in."""

from __future__ import annotations

import operator

from qcore import errors


def whole_number(item: object) -> int | None:
    """Read an integer of any type (NumPy's included); None for booleans, floats, arrays and all else.

    Parameters
    ----------
    item : object
        What was given.

    Returns
    -------
    int or None
        The number.

    Examples
    --------
    >>> whole_number(3), whole_number(3.0), whole_number(True)
    (3, None, None)
    """
    if isinstance(item, bool) or type(item).__name__ in ("bool_", "bool"):
        return None
    try:
        return operator.index(item)  # type: ignore[arg-type]
    except TypeError:
        return None


def read_count(item: object, option: str) -> int | None:
    """Read an option that counts something: a whole number from 1, or None.

    Parameters
    ----------
    item : object
        What was given.
    option : str
        What the option is called.

    Returns
    -------
    int or None
        The number.

    Raises
    ------
    InvalidSchemeError
        ``option-value``.

    Examples
    --------
    >>> read_count(2, "threads"), read_count(None, "threads")
    (2, None)
    """
    if item is None:
        return None
    count = whole_number(item)
    if count is None or count < 1:
        raise errors.build("option-value", option=option, expected="a whole number from 1", got=str(item)[:80])
    return count


def read_shape(shape: object) -> tuple[int, ...]:
    """Read a shape: a whole number, or a sequence of them, none negative.

    Parameters
    ----------
    shape : int or iterable of int
        What was given.

    Returns
    -------
    tuple of int
        The shape.

    Raises
    ------
    ShapeError
        ``shape-invalid``.

    Examples
    --------
    >>> read_shape(4), read_shape([2, 3])
    ((4,), (2, 3))
    """
    alone = whole_number(shape)
    items = shape if alone is None else (alone,)
    try:
        dims = [whole_number(item) for item in items]  # type: ignore[attr-defined]
    except TypeError:
        raise errors.build("shape-invalid", shape=repr(shape)[:80]) from None
    if any(dim is None or dim < 0 for dim in dims):
        raise errors.build("shape-invalid", shape=str(shape)[:80])
    return tuple(dim for dim in dims if dim is not None)
