"""Colours that mean something: one map for each kind of number, even in lightness and safe for the colour-blind."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

__all__ = ["BAD", "EXPLAINED", "mapped", "table"]

BAD: Final = (255, 0, 200, 255)
"""What is not a number: a colour that no map has."""
EXPLAINED: Final = {
    "diverging": "blue below zero, red above; NaN and infinities magenta",
    "sequential": "the stronger the higher; NaN magenta",
    "log2": "dark is small, bright is large; zero scales magenta",
}
_ANCHORS: Final = {
    ("diverging", False): ((24, 64, 155), (94, 142, 214), (245, 245, 242), (221, 120, 88), (150, 24, 32)),
    ("diverging", True): ((138, 186, 255), (52, 104, 190), (24, 26, 30), (190, 74, 50), (255, 170, 130)),
    ("sequential", False): ((252, 252, 248), (190, 214, 190), (98, 168, 158), (38, 104, 136), (24, 36, 84)),
    ("sequential", True): ((16, 18, 24), (30, 64, 110), (30, 120, 130), (110, 180, 110), (248, 232, 130)),
    ("log2", False): ((40, 26, 84), (60, 88, 150), (56, 150, 140), (140, 200, 100), (250, 230, 90)),
    ("log2", True): ((60, 40, 110), (62, 92, 160), (56, 150, 140), (140, 200, 100), (250, 230, 90)),
}


@lru_cache(maxsize=8)
def table(kind: str, dark: bool) -> np.ndarray:
    """Return 256 colours of a kind, as RGBA bytes.

    Examples
    --------
    >>> table("diverging", False).shape
    (256, 4)
    """
    anchors = np.array(_ANCHORS[kind, dark], np.float64)
    along = np.linspace(0, len(anchors) - 1, 256)
    low = np.minimum(along.astype(int), len(anchors) - 2)
    part = (along - low)[:, None]
    colours = np.full((256, 4), 255, np.uint8)
    colours[:, :3] = np.rint(anchors[low] * (1 - part) + anchors[low + 1] * part).astype(np.uint8)
    colours.flags.writeable = False
    return colours


def mapped(cells: np.ndarray, kind: str, low: float, high: float, dark: bool) -> np.ndarray:
    """Paint cells: RGBA bytes of the same rows and columns.

    Examples
    --------
    >>> mapped(np.array([[np.nan]]), "diverging", -1, 1, False).tolist() == [[list(BAD)]]
    True
    """
    span = (high / 2 - low / 2) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        place = (cells.astype(np.float64) / 2 - low / 2) / span * 255
        bad = ~np.isfinite(cells.astype(np.float64, copy=False))
        index = np.clip(np.where(bad, 0, np.rint(place)), 0, 255).astype(np.uint8)
    painted = table(kind, dark)[index]
    if bad.any():
        painted[bad] = BAD
    return painted
