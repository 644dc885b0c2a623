"""Families of schemes as sets: what a row of the table says it takes, lacks or gets wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from qcore.capability.problem import Problem
from qcore.scheme import QuantMode, QuantValue, ScaleDtype

Q8: Final = frozenset({QuantValue.Q8F, QuantValue.Q8S})
Q4: Final = frozenset({QuantValue.Q4F, QuantValue.Q4S})
Q2: Final = frozenset({QuantValue.Q2F, QuantValue.Q2S})
FP8: Final = frozenset({QuantValue.E4M3, QuantValue.E5M2})
FP4: Final = frozenset({QuantValue.E2M1})
MINIFLOATS: Final = FP8 | FP4

SYMMETRIC: Final = frozenset({QuantMode.SYMMETRIC})
LOOKUP: Final = frozenset({QuantMode.LOOKUP})

NATIVE: Final = frozenset({"native"})
U32: Final = frozenset({"packed_u32"})
PACKED: Final = frozenset({"packed_native"})

ONE_PER_TENSOR: Final = frozenset({"tensor"})
BLOCKS: Final = frozenset({"block"})
TWO_LEVELS: Final = frozenset({"two"})

PLAIN_SCALES: Final = frozenset({ScaleDtype.F32, ScaleDtype.F16, ScaleDtype.BF16})
WIDE_SCALES: Final = frozenset({ScaleDtype.F32, ScaleDtype.BF16, ScaleDtype.UE8M0})
"""Block scales that leave nothing for a per-tensor scale to absorb: they reach beyond 65504."""


@dataclass(frozen=True, slots=True)
class Family:
    """Schemes described by a set per field; None admits everything.

    Examples
    --------
    >>> from qcore.capability.problem import Problem
    >>> from qcore.scheme import QuantScheme
    >>> Problem(QuantScheme.parse("q8s/native/t:f32")) in Family(values=Q8, stores=NATIVE)
    True
    """

    values: frozenset[QuantValue] | None = None
    stores: frozenset[str] | None = None
    modes: frozenset[QuantMode] | None = None
    levels: frozenset[str] | None = None
    scales: frozenset[ScaleDtype] | None = None
    """Dtypes of the innermost scales."""
    extents: frozenset[tuple[int, ...]] | None = None
    """Canonical extents of the blocks."""
    packed_outside: bool | None = None
    """Whether the packed dimension is another than the innermost."""
    calibrating: bool | None = None
    """Whether scales are to be computed."""

    def __contains__(self, problem: object) -> bool:
        if not isinstance(problem, Problem):
            return False
        scheme = problem.scheme
        block = None if scheme.block_size is None else tuple(scheme.block_size)
        return (
            (self.values is None or scheme.value in self.values)
            and (self.stores is None or scheme.store.kind in self.stores)
            and (self.modes is None or scheme.mode in self.modes)
            and (self.levels is None or problem.level in self.levels)
            and (self.scales is None or scheme.scale_dtype in self.scales)
            and (self.extents is None or block in self.extents)
            and (self.packed_outside is None or (scheme.store.dim > 0) is self.packed_outside)
            and (self.calibrating is None or problem.calibrating is self.calibrating)
        )


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which an exchange format stores quantized weights."""

    name: str
    family: Family
    max_block_rank: int = 1
    """Extents that a block may have."""
    max_extent: int = 255
    """Largest extent of a block."""
    row_multiple: int = 0
    """What a row must be a multiple of; 0 means the last extent of the block."""

    def takes(self, problem: Problem) -> bool:
        """Tell whether the scheme can be written in this form, whatever the shape."""
        block = problem.scheme.block_size
        extents = () if block is None else tuple(block)
        return (
            problem in self.family
            and len(extents) <= self.max_block_rank
            and max(extents, default=1) <= self.max_extent
        )

    def multiple(self, problem: Problem) -> int:
        """What the last dimension must be a multiple of; 1 where edge blocks may be short."""
        if self.row_multiple:
            return self.row_multiple
        block = problem.scheme.block_size
        return 1 if block is None or self.max_block_rank > 1 else (tuple(block) or (1,))[-1]
