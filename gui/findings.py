"""What jobs find out: plain records with read-only arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BlockDetail", "Facts", "Measured", "Picture", "Probe", "WorstBlock"]


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """A tensor by itself, from one or two passes over all of it.

    Attributes
    ----------
    edges, counts
        The histogram of the finite elements; with ``nan`` and ``infinite`` the counts sum to the element count.
    row_peak, column_peak
        Largest |x| of every line; where there are too many lines, of groups of ``row_group`` or ``column_group``.
    """

    tensor: str
    count: int
    nan: int
    infinite: int
    zeros: int
    low: float
    high: float
    peak: float
    peak_at: tuple[int, int]
    std: float
    first_bad: tuple[int, int] | None
    edges: np.ndarray
    counts: np.ndarray
    row_peak: np.ndarray
    column_peak: np.ndarray
    row_group: int
    column_group: int
    sampled: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A part of the heatmap, ready to draw: one cell stands for ``factor`` rows and columns.

    A cell holds the element farthest from zero, so that a lone outlier never disappears; NaN wins over all.
    """

    cells: np.ndarray
    top: int
    left: int
    bottom: int
    right: int
    factor: tuple[int, int]
    what: str
    unit: str
    kind: str
    """``diverging``, ``sequential`` or ``log2``: what the colours mean."""
    low: float
    high: float
    note: str = ""
    clipped: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class WorstBlock:
    """A block and its error."""

    block: tuple[int, ...]
    rmse: float
    sqnr_db: float
    steps: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The error of one scheme on one tensor."""

    scheme: str
    label: str
    bits_per_weight: float
    nbytes: int
    sqnr_db: float
    rmse: float
    rmse_step: float
    max_abs: float
    max_at: tuple[int, ...] | None
    p999: float
    cosine: float
    clipped: float
    clipped_count: int
    flushed: int
    blocks: int
    zero_blocks: int
    saturated: int
    smallest: int
    spread: tuple[float, float]
    """Smallest and largest non-zero effective scale."""
    worst: dict[str, tuple[WorstBlock, ...]]
    row_rms: np.ndarray
    column_rms: np.ndarray
    extents: tuple[int, ...]
    levels: np.ndarray
    """Values that a block of scale 1 can take, sorted."""
    residual: tuple[np.ndarray, np.ndarray]
    """Histogram of error / effective scale over -1..1: edges and counts."""
    normalised: tuple[np.ndarray, np.ndarray]
    """Histogram of x / effective scale: edges and counts."""
    rules: tuple[tuple[str, str], ...] = ()
    exact: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class BlockDetail:
    """One block, element by element, with the words it is stored in."""

    scheme: str
    block: tuple[int, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]
    values: np.ndarray
    codes: np.ndarray
    decoded: np.ndarray
    scale: float
    scale_word: int
    scale_dtype: str
    global_scale: float | None
    effective: float
    table: np.ndarray
    bits: int
    per_word: int
    word_bits: int
    store: str
    words: np.ndarray
    word_index: tuple[tuple[int, ...], ...]
    fields: np.ndarray
    """Unsigned field of every lane of every word; -1 where the lane is padding or another block's line."""
    elements: tuple[tuple[tuple[int, ...] | None, ...], ...]
    extra: Any = None


@dataclass(frozen=True, slots=True)
class Probe:
    """One element under a lens; without a scheme only ``x`` is known."""

    place: tuple[int, int]
    index: tuple[int, ...]
    block: tuple[int, ...] | None
    x: Any
    code: int | None = None
    scale: float | None = None
    decoded: float | None = None
