"""Names people write: one place that reads them forgivingly and answers helpfully when it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn, TypeVar

from qcore import errors

T = TypeVar("T")


def key(word: str) -> str:
    """Return the form under which names are compared: lower case, ``_`` for ``-``.

    Parameters
    ----------
    word : str
        A name as somebody wrote it.

    Returns
    -------
    str
        The same name in its one comparable spelling.

    Examples
    --------
    >>> key(" FP4-bnb ")
    'fp4_bnb'
    """
    return word.strip().lower().replace("-", "_")


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that was probably meant, or None when nothing comes close.

    Parameters
    ----------
    word : str
        What was written.
    choices : iterable of str
        What could have been written.

    Returns
    -------
    str or None
        The closest choice.

    Examples
    --------
    >>> nearest("nfv4", ("nf4", "fp8"))
    'nf4'
    """
    import difflib  # an error path only: the import costs more than a whole parse

    # Long words are cut: the comparison is quadratic, and nobody misspells a name in a thousand letters.
    found = difflib.get_close_matches(
        word[:40].lower(), [choice.lower() for choice in choices], n=1, cutoff=0.5
    )
    return found[0] if found else None


def did_you_mean(word: str, choices: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """Return ``, did you mean 'x'?``, or the choices in brackets, to end a sentence with.

    Parameters
    ----------
    word : str
        What was written.
    choices : iterable of str
        What could have been written.
    listed : iterable of str, optional
        What to list when nothing comes close, where all of the choices would be too many.

    Returns
    -------
    str
        The end of a sentence.

    Examples
    --------
    >>> did_you_mean("f61", ("f32", "f16"))
    ", did you mean 'f16'?"
    >>> did_you_mean("zzz", ("f32", "f16"))
    ' (f32, f16)'
    """
    known = tuple(choices)
    close = nearest(word, known)
    return f", did you mean {close!r}?" if close else f" ({', '.join(listed or known)})"


def unknown(kind: str, name: object, choices: Iterable[str]) -> NoReturn:
    """Raise the documented error for a name that no table holds.

    Parameters
    ----------
    kind : str
        What the name was to name ("value", "preset", ...).
    name : object
        What was written.
    choices : iterable of str
        What could have been written.

    Raises
    ------
    InvalidSchemeError
        ``unknown-name``, always.

    Examples
    --------
    >>> unknown("preset", "nf5", ("nf4",))
    Traceback (most recent call last):
        ...
    qcore.errors.InvalidSchemeError: unknown preset 'nf5', expected one of: nf4
    """
    shown = name if isinstance(name, str) else type(name).__name__
    raise errors.build("unknown-name", kind=kind, name=shown[:80], choices=tuple(choices))


def look_up(rows: Mapping[str, T], word: object) -> T | None:
    """Return the row that ``word`` names whatever its case and dashes, or None.

    Parameters
    ----------
    rows : mapping
        Rows by the comparable form of their names (`key`).
    word : object
        What was written; anything but a string names nothing.

    Returns
    -------
    object or None
        The row.

    Examples
    --------
    >>> look_up({"nf4": 4}, "NF4")
    4
    """
    return rows.get(key(word)) if isinstance(word, str) else None
