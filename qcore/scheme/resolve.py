"""What is meant by a scheme argument: a scheme, a preset, the text of one or the name of the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from qcore import errors
from qcore.scheme.presets import PRESETS, Preset
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.text import parse_text


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scheme, and what came with it.

    Parameters
    ----------
    scheme : QuantScheme
        The scheme.
    preset : Preset or None
        The preset that was named, with what it implies.
    table_hint : str or None
        Name of the codebook that the text or the preset implies.
    """

    scheme: QuantScheme
    preset: Preset | None = None
    table_hint: str | None = None


def resolve(given: QuantScheme | Preset | Resolved | str) -> Resolved:
    """Return the scheme that an argument means, with its preset and the hint of a table.

    Parameters
    ----------
    given : QuantScheme, Preset or str
        A scheme, a preset, the text of a scheme or the name of a preset. A name wins over a text.

    Returns
    -------
    Resolved
        The scheme and what came with it.

    Raises
    ------
    InvalidSchemeError
        ``scheme-text``, when a text is neither.
    DTypeError
        ``argument-type``, for anything else.

    Examples
    --------
    >>> resolve("nf4").table_hint, resolve("q4f/lookup:iq4_nl/b32:f16").table_hint
    ('nf4', 'iq4-nl')
    >>> resolve(QuantScheme()).preset is None
    True
    """
    if isinstance(given, str):
        return _resolve_text(given)
    if isinstance(given, QuantScheme):
        return Resolved(given)
    if isinstance(given, Preset):
        return Resolved(given.scheme, given, given.codebook)
    if isinstance(given, Resolved):
        return given
    expected = "a QuantScheme, its text or the name of a preset"  # type: ignore[unreachable]  # callers without types
    raise errors.build("argument-type", argument="scheme", expected=expected, got=type(given).__name__)


@lru_cache(maxsize=256)
def _resolve_text(text: str) -> Resolved:
    """Read a text once; the same few come back for every tensor of a model."""
    preset = PRESETS.find(text)
    if preset is not None:
        return Resolved(preset.scheme, preset, preset.codebook)
    parsed = parse_text(text, also=PRESETS)
    return Resolved(parsed.scheme, None, parsed.table)
