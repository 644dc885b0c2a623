"""bitsandbytes: indices of four bits into a table (NF4, FP4), and int8 with the peak of each row.

Blocks run over the flattened tensor. Where a row is no whole number of them, a block is cut at the row's end, into
pieces that all carry its scale. The even element of a byte is in the high nibble.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TYPE_CHECKING, Any

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.protocol import Entry

__all__ = ["NAME", "find"]

NAME = "bitsandbytes"
_STATE = ".quant_state.bitsandbytes__"
_MOST_DIMS = 8
_MOST_OFFSET = 2.0**127  # what a float32 holds


def find(look: Look) -> Iterator[Found]:
    """Weights of four bits, each with its state, and weights of eight with the peaks of their rows."""
    for state in look.plain:
        name, mark, kind = state.partition(_STATE)
        weight = look.plain.get(name)
        if mark and weight is not None and kind in ("nf4", "fp4"):
            found = _four_bits(look, weight, state, kind)
            if found is not None:
                yield found
    for prefix in look.prefixes("SCB"):
        weight, peaks = look.entry(prefix + "weight", "int8"), look.entry(prefix + "SCB", "float32")
        if weight is None or peaks is None or len(weight.shape) != 2:
            continue
        if peaks.shape not in (weight.shape[:1], (weight.shape[0], 1)):
            if look.declared:
                raise look.fault(peaks.name, "the peaks of rows", list(peaks.shape), [weight.shape[0]])
            continue
        yield _eight_bits(look, weight, peaks, prefix)


def _eight_bits(look: Look, weight: Entry, peaks: Entry, prefix: str) -> Found:
    import numpy as np

    from qcore.formats.conventions.bits import extent_of

    extent, times = extent_of(weight.shape[1])
    parts = [weight.name, peaks.name, *(name for name in (prefix + "weight_format",) if name in look.plain)]

    def make(fetch: Fetch) -> Parts:
        scales = (fetch(peaks.name).reshape(-1, 1) / np.float32(127)).astype(np.float32)
        return Parts(fetch(weight.name), np.repeat(scales, times, axis=1))

    return look.quantized(
        weight.name, parts, f"q8s/native/b{extent}:f32", weight.shape, make,
        origin=f"{NAME} int8", fidelity="lossless", rules={"tied": "row"},
    )  # fmt: skip


def _four_bits(look: Look, weight: Entry, state: str, kind: str) -> Found | None:
    from qcore.formats.conventions.bits import largest_divisor

    told = look.text(state)
    shape = _dims(told.get("shape"))
    blocksize = told.get("blocksize")
    if shape is None or type(blocksize) is not int or not 1 <= blocksize < 1 << 31:
        raise look.fault(state, "the state", told, "a shape and a blocksize")
    count = 1
    for dim in shape:
        count *= dim
    name = weight.name
    table, peaks = (
        look.entry(name + ".quant_map", "float32"),
        look.entry(name + ".absmax", "float32", "uint8"),
    )
    if table is None or peaks is None or table.shape != (16,):
        raise look.fault(
            name, "its table and peaks", "missing or of another kind", "quant_map F32 [16], absmax"
        )
    blocks = -(-count // blocksize)
    if weight.nbytes != -(-count // 2) or peaks.shape != (blocks,) or not count:
        found = f"{weight.nbytes} bytes, {list(peaks.shape)} peaks"
        raise look.fault(
            name, f"the size of {list(shape)} in blocks of {blocksize}", found, f"{-(-count // 2)}, {blocks}"
        )
    nested = _nested(look, name, told, blocks) if peaks.dtype == "uint8" else ()
    parts = [name, peaks.name, table.name, *nested, state]
    extent = largest_divisor(gcd(blocksize, shape[-1]))

    def make(fetch: Fetch) -> Parts:
        import numpy as np

        from qcore.scheme import Codebook

        scales = _peaks(fetch, peaks.name, nested, told)
        every = np.arange(0, count, extent) // blocksize
        grid = scales[every].reshape(*shape[:-1], shape[-1] // extent)
        return Parts(_values(fetch(name), shape), grid, codebook=Codebook(fetch(table.name), kind))

    exact = extent == blocksize and not nested
    return look.quantized(
        name, parts, f"q4f/u32/lookup/b{extent}:f32", shape, make,
        origin=f"{NAME} {kind}", fidelity="exact" if exact else "lossless", codebook=kind,
    )  # fmt: skip


def _nested(look: Look, name: str, told: dict[str, Any], blocks: int) -> tuple[str, str]:
    """The arrays that peaks of one byte refer to."""
    size: Any = told.get("nested_blocksize")
    offset: Any = told.get("nested_offset")
    peaks, table = name + ".nested_absmax", name + ".nested_quant_map"
    fits = (
        type(size) is int
        and 0 < size < 1 << 31
        and type(offset) in (int, float)
        and abs(offset) < _MOST_OFFSET
        and look.entry(peaks, "float32") is not None
        and look.plain[peaks].shape == (-(-blocks // size),)
        and look.entry(table, "float32") is not None
        and look.plain[table].shape == (256,)
    )
    if not fits:
        raise look.fault(
            name, "peaks of one byte", "incomplete", "nested_absmax, nested_quant_map and their state"
        )
    return peaks, table


def _peaks(fetch: Fetch, name: str, nested: tuple[str, ...], told: dict[str, Any]) -> np.ndarray:
    import numpy as np

    stored = fetch(name)
    if not nested:
        return stored
    outer, table = fetch(nested[0]), fetch(nested[1])
    per = outer[np.arange(len(stored)) // told["nested_blocksize"]]
    with np.errstate(all="ignore"):  # they may be anything a file holds
        found: np.ndarray = table[stored] * per + np.float32(told["nested_offset"])
    return found


def _values(weight: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Indices in words along the last axis."""
    import numpy as np

    from qcore.plan import make_plan
    from qcore.scheme import Codebook, QuantScheme
    from qcore.tensor.fields import pack_fields

    data = np.ascontiguousarray(weight).reshape(-1).view(np.uint8)
    if shape[-1] % 8 == 0:  # bytes with their nibbles turned are words already
        turned = (data >> 4) | (data << 4)
        return np.ascontiguousarray(turned).view("<u4").astype(np.uint32, copy=False).reshape(*shape[:-1], -1)
    codes = np.stack((data >> 4, data & 15), axis=-1).reshape(-1)
    count = 1
    for dim in shape:
        count *= dim
    plan = make_plan(QuantScheme.parse("q4f/u32/lookup"), shape, codebook=Codebook.nf4())
    return pack_fields(codes[:count].reshape(shape), plan)


def _dims(found: Any) -> tuple[int, ...] | None:
    if not isinstance(found, list) or not 1 <= len(found) <= _MOST_DIMS:
        return None
    return tuple(found) if all(type(dim) is int and 0 <= dim < 1 << 63 for dim in found) else None
