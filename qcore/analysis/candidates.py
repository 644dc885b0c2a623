"""Which schemes a sweep tries: those that are given, a grid of choices, or a list that covers the field."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from qcore import errors
from qcore.scheme import PRESETS, Preset, QuantScheme, QuantStore, QuantValue

DEFAULT: Final = (
    "int8", "int8-channel", "q8s/native/b128:f16", "int8-b32",
    "fp8", "fp8-channel", "fp8-e5m2", "e4m3/native/b128:f32", "mxfp8",
    "q4s/u32/t:f32", "q4s/u32/b128:f16", "q4s/u32/b64:f16", "int4-b32", "q4s/u32/b16:f16", "q4f/u32/b32:f16",
    "q4f/u32/b128:f16", "q4s/u32/b16:ue4m3/t:f32", "q4s/u32/b32:ue4m3/t:f32", "q4_0",
    "e2m1/packed/b32:f16", "e2m1/packed/b16:f16", "mxfp4", "nvfp4",
    "nf4", "q4f/u32/lookup:nf4/b32:f16", "q4f/u32/lookup:iq4_nl/b32:f16", "fp4-bnb",
    "q2s/u32/b16:f16", "int2-b32", "q2f/u32/b16:f16", "bitnet",
)  # fmt: skip
"""What is tried when nothing is said: thirty-one schemes from 9 bits per weight down to 2."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing to try: a scheme (or preset) with the calibration and scale rounding asked for, None for its own."""

    scheme: QuantScheme | Preset | str
    calibration: str | None = None
    scale_rounding: str | None = None

    @property
    def label(self) -> str:
        """The preset's name, or the text as it was given."""
        return str(self.scheme)


def candidates(
    schemes: Iterable[Any] | None,
    *,
    values: Sequence[str] | None = None,
    blocks: Sequence[Any] | None = None,
    scales: Sequence[str] | None = None,
    levels: Sequence[int] | None = None,
    calibrations: Sequence[str] | None = None,
    scale_roundings: Sequence[str] | None = None,
) -> list[Candidate]:
    """List what to try, each thing once and in a fixed order.

    Parameters
    ----------
    schemes
        Schemes, presets or texts. With none of these, a grid of the other arguments; with nothing at all, ``DEFAULT``.
    values, blocks, scales, levels
        Axes of the grid: value types, block sizes (0 or None for per tensor), scale dtypes, 1 or 2 levels.
    calibrations, scale_roundings
        Tried with every scheme.

    Examples
    --------
    >>> [c.label for c in candidates(None, values=["q4s"], blocks=[32, 0], scales=["f16"])]
    ['q4s/u32/b32:f16', 'q4s/u32/t:f16']
    """
    grid = any(axis is not None for axis in (values, blocks, scales, levels))
    if schemes is not None:
        tried = [_known(scheme) for scheme in schemes]
    elif grid:
        tried = list(_grid(values or ("q8s", "q4s"), blocks or (32,), scales or ("f16",), levels or (1,)))
    else:
        tried = [_known(text) for text in DEFAULT]
    ways = itertools.product(tried, calibrations or (None,), scale_roundings or (None,))
    found = list(dict.fromkeys(Candidate(*way) for way in ways))
    if not found:
        raise errors.build("option-value", option="schemes", expected="at least one scheme", got="none")
    return found


def _known(scheme: Any) -> QuantScheme | Preset | str:
    """A scheme as it was named: a preset keeps what it implies, a text its hint of a table."""
    if isinstance(scheme, str):
        return PRESETS.find(scheme) or scheme
    return scheme if isinstance(scheme, Preset) else QuantScheme.parse(scheme)


def _grid(
    values: Sequence[str], blocks: Sequence[Any], scales: Sequence[str], levels: Sequence[int]
) -> Iterable[QuantScheme]:
    for name, block, scale, level in itertools.product(values, blocks, scales, levels):
        value = QuantValue(name)
        packed = QuantStore.packed_native() if value is QuantValue.E2M1 else QuantStore.packed_u32()
        scheme = QuantScheme(value, QuantStore.native() if value.bits == 8 else packed)
        if not block:
            if level == 1:
                yield scheme.per_tensor(scale)
        else:
            blocked = scheme.per_block(block, scale)
            yield blocked.per_tensor("f32") if level == 2 else blocked
