"""The schemes of the conformance matrix, the tensors they are tried on, and which refusals the rules call for.

The rules are stated here a second time, on purpose: ``expected_refusal`` is read beside ``qcore.check``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from oracle import INTEGERS, MINIFLOATS, SCALE_DTYPES, VALUES, Fields, bits_of

STORES = ("native", "u32", "u32:1", "packed", "packed:1")
#: A block and the tensor it is laid over: whole, ragged, larger than a dim, of one element, of one, two and three axes.
BLOCKS: tuple[tuple[tuple[int, ...] | None, tuple[int, ...]], ...] = (
    (None, (37,)),
    (None, (5, 7)),
    ((8,), (3, 32)),
    ((5,), (4, 13)),
    ((64,), (3, 40)),
    ((1,), (2, 5)),
    ((2, 16), (4, 32)),
    ((3, 4), (7, 10)),
    ((4, 1), (6, 5)),
    ((2, 3, 4), (3, 5, 9)),
)
GROUPS = [(value, store, lookup) for value in VALUES for store in STORES for lookup in (False, True)]


def group_id(group: tuple[str, str, bool]) -> str:
    """Name of a group in a test id."""
    value, store, lookup = group
    return f"{value}-{store.replace(':', '')}{'-lookup' if lookup else ''}"


def schemes(group: tuple[str, str, bool]) -> Iterator[tuple[Fields, tuple[int, ...]]]:
    """Every level over every block for one value, store and mode."""
    value, store, lookup = group
    for block, shape in BLOCKS:
        if block is None:
            for dtype in (None, *SCALE_DTYPES):
                yield Fields(value, store, lookup, tensor=dtype), shape
            continue
        for dtype in SCALE_DTYPES:
            for tensor in (None, "f32"):
                yield Fields(value, store, lookup, block, dtype, tensor), shape
        yield Fields(value, store, lookup, block, "f16", "bf16"), shape


def table_for(value: str) -> np.ndarray:
    """A table without order or symmetry: duplicates, two zeros, no entry at -1."""
    size = 2 ** bits_of(value)
    table = np.random.default_rng(size).normal(size=size).astype(np.float32)
    table[size // 2] = 0.0
    if size > 4:
        table[[1, size - 1]] = table[3]
        table[2] = -0.0
    return table / np.abs(table).max()


def ordinary(shape: tuple[int, ...]) -> np.ndarray:
    """Weights of a few magnitudes with ties, zeros of both signs and, where there is room, an empty first row."""
    rng = np.random.default_rng(zlib.crc32(repr(shape).encode()))
    x = (rng.normal(size=shape) * np.exp2(rng.integers(-3, 4, shape))).astype(np.float32)
    flat = x.reshape(-1)
    flat[1::7] = np.round(flat[1::7] * 2) / 2
    flat[3::11] = 0.0
    flat[4::13] = -0.0
    if x.ndim > 1:
        x[0] = 0.0
    return x


def extreme(shape: tuple[int, ...]) -> np.ndarray:
    """Every magnitude a float32 has, subnormal to largest, growing along the first axis."""
    rng = np.random.default_rng(zlib.crc32(repr(shape).encode()) + 1)
    exponents = np.linspace(-149, 127, shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
    x = np.exp2(exponents + rng.uniform(-3, 0.9999, shape)) * rng.choice([-1, 1], shape)
    return x.astype(np.float32)


TENSORS = {"ordinary": ordinary, "extreme": extreme}


def expected_refusal(fields: Fields, shape: tuple[int, ...], op: str, backend: str) -> str | None:
    """Code of the first refusal the written rules call for, min-max calibration and a table in hand."""
    if backend == "burn-ndarray":
        if op == "quantize":
            return _ndarray_quantize(fields, shape)
        if op == "load":
            return _ndarray_load(fields) or _meaningless(fields, shape)
        return "lookup-not-on-ndarray" if fields.lookup else None
    return _meaningless(fields, shape) or (_two_level_dtype(fields) if op == "quantize" else None)


def _meaningless(fields: Fields, shape: tuple[int, ...]) -> str | None:
    kind, _, dim = fields.store.partition(":")
    if kind == "packed" and fields.value != "e2m1":
        return "native-packing-unsupported"
    if fields.lookup and fields.value in MINIFLOATS:
        return "lookup-minifloat"
    if fields.two_level and fields.tensor != "f32":
        return "global-scale-not-f32"
    if fields.block is not None and fields.block != (1,) and len(fields.block) > len(shape):
        return "block-rank"
    return "packing-axis" if kind != "native" and int(dim or 0) >= max(len(shape), 1) else None


def _two_level_dtype(fields: Fields) -> str | None:
    return (
        "two-level-block-dtype" if fields.two_level and fields.block_dtype not in ("f16", "ue4m3") else None
    )


def _ndarray_quantize(fields: Fields, shape: tuple[int, ...]) -> str | None:
    if fields.scale_dtype == "ue8m0":
        return "ue8m0-unsupported"
    accepted = ("q8f", "q8s") if fields.block is not None else ("q8f", "q8s", "q2s")
    if fields.lookup or fields.store != "native" or fields.value not in accepted:
        return "quantize-unsupported-scheme"
    divisible = all(dim % extent == 0 for dim, extent in zip(shape, fields.extents(shape), strict=True))
    return _meaningless(fields, shape) or (_two_level_dtype(fields) if divisible else "not-divisible")


def _ndarray_load(fields: Fields) -> str | None:
    if fields.lookup or fields.value not in ("q8f", "q8s"):
        return "from-data-unsupported-scheme"
    if fields.store.startswith("packed"):
        return "native-packing-unsupported"
    if fields.store == "u32:1":
        return "packing-not-innermost"
    return "ue8m0-unsupported" if fields.scale_dtype == "ue8m0" else None


def roundings(fields: Fields) -> Iterator[tuple[str, str]]:
    """The pairs of element and scale rounding that make a difference for a scheme."""
    rules = ["up", "nearest"]
    if fields.scale_dtype == "ue8m0" and fields.value in MINIFLOATS:
        rules += ["floor", "even"]
    for rule in rules:
        yield "half-away", rule
    if fields.value in INTEGERS and not fields.lookup:
        yield "half-even", "up"


def exactly_equal(found: Any, wanted: Any, what: str) -> None:
    """Same dtype, same shape, same bits."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype, what
    assert found.shape == wanted.shape, what
    if found.tobytes() != wanted.tobytes():
        flat = np.flatnonzero(
            found.reshape(-1).view(f"V{found.itemsize}") != wanted.reshape(-1).view(f"V{found.itemsize}")
        )
        at = int(flat[0]) if flat.size else -1
        raise AssertionError(f"{what}: at {at}: {found.reshape(-1)[at]!r} is not {wanted.reshape(-1)[at]!r}")
