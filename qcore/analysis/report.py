"""``ErrorReport``: the numbers of one comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from qcore.tensor.html import html_table

_GRIDS = ("block_mse", "block_sqnr_db")


@dataclass(frozen=True, slots=True, eq=False)
class ErrorReport:
    """Error of a quantized tensor against its source. Sums are f64 in a fixed order, so bits do not depend on threads.

    Attributes
    ----------
    count : int
        Pairs compared; a pair with a non-finite side is left out and counted in ``skipped``.
    sqnr_db : float
        10 log10(sum x^2 / sum (x-y)^2) in decibels; inf where there is no error at all.
    mse, rmse : float
        Mean squared error and its root.
    rmse_step : float
        RMSE of error / effective scale: in steps of an integer code. NaN for plain arrays.
    max_abs : float
        Largest absolute error, and in ``max_index`` where it stands (None when nothing was compared).
    p999 : float
        99.9th percentile of the absolute error (nearest rank).
    cosine : float
        Cosine of the angle between the tensors; 1.0 when both are zero.
    clipped : float
        Share of elements beyond the largest code, 0..1; ``clipped_count`` of them.
    flushed : int
        Blocks with a non-zero element that decode to zeros.
    block_mse, block_sqnr_db : ndarray
        float64, in the shape of the scale grid.
    """

    count: int
    skipped: int
    sqnr_db: float
    mse: float
    rmse: float
    rmse_step: float
    max_abs: float
    max_index: tuple[int, ...] | None
    p999: float
    cosine: float
    clipped: float
    clipped_count: int
    flushed: int
    blocks: int
    block_mse: np.ndarray
    block_sqnr_db: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """The numbers without the per-block grids, ready for JSON (non-finite ones as text)."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _GRIDS}
        found["max_index"] = None if self.max_index is None else list(self.max_index)
        return {k: str(v) if isinstance(v, float) and not np.isfinite(v) else v for k, v in found.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ErrorReport):
            return NotImplemented
        mine, theirs = asdict(self), asdict(other)
        return all(np.array_equal(mine[name], theirs[name], equal_nan=name not in ("max_index",)) for name in mine)

    def __str__(self) -> str:
        return (
            f"SQNR {self.sqnr_db:.2f} dB, max error {self.max_abs:.4g}, p99.9 {self.p999:.4g}, "
            f"clipped {self.clipped:.3%}, flushed {self.flushed} of {self.blocks} blocks"
        )

    def _repr_html_(self) -> str:
        rows = {
            "SQNR": f"{self.sqnr_db:.3f} dB",
            "RMSE": f"{self.rmse:.6g} ({self.rmse_step:.4f} steps)",
            "max error": f"{self.max_abs:.6g} at {self.max_index}",
            "p99.9 error": f"{self.p999:.6g}",
            "cosine": f"{self.cosine:.9f}",
            "clipped": f"{self.clipped_count:,} ({self.clipped:.4%})",
            "flushed blocks": f"{self.flushed:,} of {self.blocks:,}",
            "non-finite pairs": f"{self.skipped:,}",
        }
        return html_table("ErrorReport", rows)
