"""How a stored tensor is multiplied back: Burn's quantization strategies as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from qcore.scheme import BlockSize, Codebook


@dataclass(frozen=True, slots=True, eq=False)
class PerTensorSymmetric:
    """Every code times one scale."""

    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class PerBlockSymmetric:
    """Every code times the scale of its block; ``scales`` is the float32 grid of effective scales."""

    scales: np.ndarray
    block_size: BlockSize


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """A table entry times a scale; ``scales`` as above, of shape (1,) where ``block_size`` is None."""

    codebook: Codebook
    scales: np.ndarray
    block_size: BlockSize | None


Strategy = PerTensorSymmetric | PerBlockSymmetric | Lookup
