"""The numbers of the named codebooks, index by index, as exact f32 values. No NumPy: names are asked for often."""

from __future__ import annotations

from typing import Final

from qcore.scheme import words

NF4: Final = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
"""Quantiles of a normal distribution, scaled to 1: QLoRA's 4-bit NormalFloat."""

# 0, 1/192, 2/3, 1, 1/3, 1/2, 1/6, 1/4 in f32: the order of the bit patterns, not of the values
_FP4_MAGNITUDES: Final = (
    0.0,
    0.0052083334885537624,
    0.6666666865348816,
    1.0,
    0.3333333432674408,
    0.5,
    0.1666666716337204,
    0.25,
)
FP4_BNB: Final = _FP4_MAGNITUDES + tuple(0.0 - magnitude for magnitude in _FP4_MAGNITUDES)
"""bitsandbytes' 4-bit float, which is not E2M1. It has two zeros; the one of the lower index is ours."""

IQ4_NL: Final = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
"""ggml's non-linear 4-bit values. None of them is 0."""

TABLES: Final[dict[str, tuple[float, ...]]] = {"nf4": NF4, "fp4-bnb": FP4_BNB, "iq4-nl": IQ4_NL}
TABLE_NAMES: Final = tuple(TABLES)
_BY_WORD: Final = {words.key(name): name for name in TABLES} | {"fp4": "fp4-bnb", "bnb_fp4": "fp4-bnb"}


def table_name(word: str) -> str | None:
    """Return the name of the codebook that a word means, or None.

    Parameters
    ----------
    word : str
        A name as somebody wrote it.

    Returns
    -------
    str or None
        The name in `TABLES`.

    Examples
    --------
    >>> table_name("IQ4_NL")
    'iq4-nl'
    """
    return words.look_up(_BY_WORD, word)
