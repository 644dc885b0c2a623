"""Changing one field of a scheme, and finding the changes that would make a refused one acceptable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

import qcore
from qcore import errors
from qcore.scheme import PRESETS, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype
from qcore.scheme.resolve import resolve

from .lens import AS_STORED
from .state import Choice

NONE: Final = "none"
PARTS: Final = ("value", "store", "mode", "table", "block", "block scale", "tensor scale")
BLOCKS: Final = (NONE, "8", "16", "32", "64", "128", "4x4", "16x16", "32x32")
TABLES: Final = ("nf4", "fp4-bnb", "iq4-nl")
CALIBRATIONS: Final = ("minmax", "absmean", "percentile:99.9", "mse")
SCALE_ROUNDINGS: Final = ("up", "nearest", "floor", "even")
ROUNDINGS: Final = ("half-away", "half-even")
_WORD: Final = re.compile(r"[a-z0-9][a-z0-9_]*(?:[/:x-][a-z0-9_.:/-]+)*", re.IGNORECASE)


def scheme_of(choice: Choice) -> QuantScheme | None:
    """Return the scheme that a choice names, if it names one."""
    try:
        return None if choice.scheme == AS_STORED else resolve(choice.scheme).scheme
    except errors.QuantError:
        return None


def table_of(choice: Choice) -> str | None:
    """Return the name of the codebook that a choice implies."""
    found = resolve(choice.scheme)
    return found.table_hint or (found.preset.codebook if found.preset else None)


def edited(choice: Choice, part: str, value: str) -> Choice:
    """Change one field; what a preset implied beyond the scheme is written out, so that nothing changes silently.

    Examples
    --------
    >>> edited(Choice("q4s/u32/b32:f16"), "block", "16").scheme
    'q4s/u32/b16:f16'
    >>> edited(Choice("mxfp4"), "block", "16")
    Choice(scheme='e2m1/packed/b16:ue8m0', calibration=None, scale_rounding='even', rounding='half-away')
    """
    if part == "preset":
        return Choice(value, rounding=choice.rounding)
    if part == "calibration":
        return replace(choice, calibration=value or None)
    if part == "scale_rounding":
        return replace(choice, scale_rounding=value or None)
    if part == "rounding":
        return replace(choice, rounding=value)
    found = resolve("q8f" if choice.scheme == AS_STORED else choice.scheme)
    scheme, table = found.scheme, found.table_hint
    if found.preset is not None:
        preset = found.preset
        table = preset.codebook
        choice = replace(
            choice,
            calibration=choice.calibration or (None if preset.calibration == "minmax" else preset.calibration),
            scale_rounding=choice.scale_rounding or (None if preset.scale_rounding == "up" else preset.scale_rounding),
        )
    if part == "table":
        table = value
    changed = changed_scheme(scheme, part, value)
    text = str(changed)
    if changed.is_lookup:
        text = text.replace("/lookup", f"/lookup:{table or TABLES[0]}")
    return replace(choice, scheme=text)


def changed_scheme(scheme: QuantScheme, part: str, value: str) -> QuantScheme:
    """Change one field of a scheme."""
    if part == "value":
        return scheme.with_value(value)
    if part == "store":
        return scheme.with_store(value)
    if part == "mode":
        return scheme.with_mode(value)
    block = scheme.block_scale
    if part == "block":
        if value == NONE:
            level = scheme.tensor_scale or (block.dtype if block else ScaleDtype.F32)
            return replace(scheme, block=None, tensor=level)
        dtype = block.dtype if block else scheme.scale_dtype
        return replace(scheme.per_block(value, dtype), tensor=scheme.tensor_scale if block else None)
    if part == "block scale" and block is not None:
        return scheme.per_block(block.size, value)
    if part == "tensor scale":
        return replace(scheme, tensor=None if value == NONE else ScaleDtype(value))
    return scheme


def value_of(scheme: QuantScheme, part: str) -> str:
    """Return what a field holds, in the words of ``choices``."""
    block = scheme.block_scale
    return {
        "value": scheme.value.name,
        "store": scheme.store.text,
        "mode": "lookup" if scheme.is_lookup else "symmetric",
        "block": block.size.text if block else NONE,
        "block scale": block.dtype.text if block else NONE,
        "tensor scale": scheme.tensor_scale.text if scheme.tensor_scale else NONE,
    }.get(part, "")


def choices(part: str) -> tuple[str, ...]:
    """List what a field can be set to."""
    dtypes = tuple(dtype.text for dtype in ScaleDtype)
    return {
        "value": tuple(value.name for value in QuantValue),
        "store": tuple(s.text for s in (QuantStore.packed_u32(), QuantStore.packed_native(), QuantStore.native())),
        "mode": tuple(mode.name.lower() for mode in QuantMode),
        "table": TABLES,
        "block": BLOCKS,
        "block scale": dtypes,
        "tensor scale": (NONE, *dtypes),
    }[part]


@lru_cache(maxsize=512)
def repairs(
    choice: Choice, shape: tuple[int, ...], on: str, op: str, most: int = 3, pairs: bool = False
) -> tuple[tuple[str, Choice], ...]:  # fmt: skip
    """Changes of one field, or with ``pairs`` of two, after which a place accepts; a label and the choice each.

    Examples
    --------
    >>> [label for label, _ in repairs(Choice("q4s/native/b32:f16"), (64, 64), "opencl", "quantize")][:2]
    ['store u32', 'value Q8F']
    """
    found: list[tuple[str, Choice]] = []
    for label, changed in _neighbours(choice):
        if qcore.check(changed.scheme, shape, on=on, op=op, codebook=table_of(changed) is not None):
            found.append((label, changed))
    if not found and pairs:
        for first, changed in _neighbours(choice):
            for second, again in _neighbours(changed, skip=first.split(" ", 1)[0]):
                if qcore.check(again.scheme, shape, on=on, op=op, codebook=table_of(again) is not None):
                    found.append((f"{first}, {second}", again))
            if len(found) >= most:
                break
    return tuple(found[:most])


def _neighbours(choice: Choice, skip: str = "") -> Iterator[tuple[str, Choice]]:
    scheme = scheme_of(choice)
    if scheme is None:
        return
    order = ("store", "mode", "block scale", "tensor scale", "block", "value")
    for part in order:
        if part == skip:
            continue
        now = value_of(scheme, part)
        for value in choices(part):
            if value == now:
                continue
            try:
                changed = edited(choice, part, value)
            except errors.QuantError:
                continue
            if changed.scheme != choice.scheme:
                yield f"{part} {value}", changed


def named_in(sentence: str) -> tuple[str, ...]:
    """Schemes and presets that a sentence names: what a button beside it can apply.

    Examples
    --------
    >>> named_in("Use a symmetric scheme, for example q8s/native/t:f32.")
    ('q8s/native/t:f32',)
    """
    found = []
    for word in _WORD.findall(sentence):
        text = word.rstrip(".,;:")
        if text in PRESETS and "-" in text or "/" in text and scheme_of(Choice(text)) is not None:
            found.append(text)
    return tuple(dict.fromkeys(found))
