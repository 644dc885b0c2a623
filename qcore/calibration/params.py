"""Quantization parameters as a caller gives or receives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class QuantParams:
    """Scales of a quantized tensor, and the global scale of a two-level one.

    Parameters
    ----------
    scales
        One scale per block in C order (any shape), or one for all. Under two levels they are relative to
        ``global_scale``. What :func:`qcore.compute_qparams` returns are the scales as stored.
    global_scale
        The per-tensor scale of a two-level scheme; None for one level.

    Examples
    --------
    >>> QuantParams([0.5, 0.25])
    QuantParams(scales=[0.5, 0.25], global_scale=None)
    """

    scales: ArrayLike | Any
    global_scale: ArrayLike | Any | None = None
