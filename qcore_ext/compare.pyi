from typing import Final

import numpy as np

PLACES: Final[int]
"""Rows of `largest` that are used, and threads that may be."""

def errors(
    x: np.ndarray,
    values: np.ndarray,
    scales: np.ndarray,
    whole: float,
    totals: np.ndarray,
    counts: np.ndarray,
    largest: np.ndarray,
    chunks: int,
    geometry: bytes,
    codec: bytes,
    scale: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> tuple[int, int, int]: ...
