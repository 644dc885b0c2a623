"""The steps of the staircase on a device, one launch or two each: peaks, scales, fields, floats, packing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore.backends.opencl.geometry import VECTOR, Geometry, merged
from qcore.backends.opencl.program import Definitions
from qcore.backends.opencl.stream import Stream
from qcore.plan import INTEGER

if TYPE_CHECKING:
    from qcore.plan import Codec, Plan, ScaleNumbers

F32, F16, BF16, BYTE = 0, 2, 3, 4
ANY: Final = np.uint32(0xFFFF_FFFF)
FINITE: Final = np.uint32(0x7F80_0000)
"""Bits from which on a magnitude is not finite: where peaks pass over such elements, and what they are held against."""

_FEW_RUNS: Final = 64


@dataclass(frozen=True, slots=True)
class Placed:
    """A geometry whose numbers lie on the device."""

    geometry: Geometry
    numbers: Any
    most: int
    lanes: int

    @property
    def runs(self) -> int:
        """Runs of the tensor."""
        return self.geometry.runs(self.most)


@dataclass(frozen=True, slots=True)
class Tables:
    """Arrays of a plan on the device: values of fields and of scale bytes, thresholds of lookup and their order."""

    values: Any
    scales: Any
    bounds: Any
    order: Any


def element_of(dtype: np.dtype) -> int:
    """The number kernels know a float type by.

    Examples
    --------
    >>> element_of(np.dtype(np.float16))
    2
    """
    return F32 if dtype.itemsize == 4 else F16 if dtype == np.float16 else BF16


def scale_kind(numbers: ScaleNumbers) -> int:
    """The number kernels know a scale dtype by."""
    return F32 if numbers.nbytes == 4 else BYTE if numbers.nbytes == 1 else F16 if numbers.mbits == 10 else BF16


def place(stream: Stream, plan: Plan, shape: tuple[int, ...], extents: tuple[int, ...]) -> Placed:
    """The geometry of a box of a plan's tensor, put on the device once."""
    kept = _kept(stream, plan)
    found: Placed | None = kept.get((shape, extents))
    if found is None:
        found = kept[shape, extents] = placed(stream, merged(shape, extents, plan.packing))
    return found


def placed(stream: Stream, geometry: Geometry) -> Placed:
    """A geometry on the device: how long its runs are, and how many items share one."""
    most = stream.session.run
    groups = -(-geometry.piece(most) // VECTOR)
    lanes = min(stream.session.lanes, 1 << (groups - 1).bit_length())
    return Placed(geometry, stream.constant(geometry.numbers(most)), most, lanes)


def tables(stream: Stream, plan: Plan) -> Tables:
    """The tables of a plan, put on the device once."""
    kept = _kept(stream, plan)
    found: Tables | None = kept.get("tables")
    if found is None:
        codec, scale = plan.codec, plan.scale
        found = kept["tables"] = Tables(
            values=stream.constant(codec.table),
            scales=stream.constant(_some(scale.table, np.float32)),
            bounds=stream.constant(_some(codec.bounds, np.float32)),
            order=stream.constant(_some(codec.order, np.uint8)),
        )
    return found


def peaks(stream: Stream, x: Any, dtype: np.dtype, at: Placed, limit: np.uint32) -> Any:
    """Largest magnitude of every block as bits, over the elements whose magnitude lies below ``limit``."""
    geometry = at.geometry
    words: Definitions = (("ELEMENT", element_of(dtype)), ("LANES", at.lanes))
    partial = stream.scratch(4 * at.runs)
    stream.launch("measure", words, "maxima", at.runs * at.lanes, x, partial, at.numbers, np.uint64(at.runs), limit)
    if at.runs == geometry.blocks:
        return partial
    each = -(-at.runs // geometry.blocks)
    lanes = stream.session.facts.group if stream.session.lanes > 1 and each > _FEW_RUNS else 1
    blocks, grid = geometry.blocks, stream.scratch(4 * geometry.blocks)
    stream.launch(
        "measure", (("LANES", lanes),), "fold", blocks * lanes, partial, grid, at.numbers, np.uint64(blocks)
    )
    return grid


def level(stream: Stream, grid: Any, blocks: int, plan: Plan) -> Any:
    """The global scale above a grid of peaks, or 1 for a scheme of one level: a number on the device."""
    if not plan.two_level:
        return one(stream, plan)
    line = placed(stream, Geometry((blocks,), (blocks,), -1, 8, 1))
    peak = peaks(stream, grid, np.dtype(np.float32), line, ANY)
    found = stream.scratch(4)
    numbers = np.float32(plan.scale.half_range), np.float32(plan.scale.top)
    stream.launch("solve", (), "level", 1, peak, found, *numbers)
    return found


def one(stream: Stream, plan: Plan) -> Any:
    """The number 1 on the device: what stands where there is no global scale."""
    kept = _kept(stream, plan)
    if "one" not in kept:
        kept["one"] = stream.constant(np.ones(1, np.float32))
    return kept["one"]


def scales(stream: Stream, grid: Any, global_scale: Any, stored: Any, wrong: Any, blocks: int, plan: Plan) -> None:
    """Peaks to stored scales; ``wrong`` becomes 1 where one is not finite."""
    arguments = grid, global_scale, stored, wrong, np.uint64(blocks), *_scale_numbers(plan.scale)
    stream.launch("solve", (), "scales", blocks, *arguments)


def minmax(
    stream: Stream, x: Any, dtype: np.dtype, stored: Any, values: Any, wrong: Any, at: Placed, plan: Plan
) -> Any:
    """All launches of min-max over one tile; the global scale, or the 1 that stands for it.

    Where a run is a block, and no global scale stands above it, that is one launch. ``wrong`` becomes 1 where an
    element is not finite.
    """
    blocks = at.geometry.blocks
    if at.runs == blocks and not plan.two_level and _entry("encode", at)[0] == "encode_runs":
        _quantize(stream, x, dtype, stored, values, wrong, at, plan)
        return one(stream, plan)
    grid = peaks(stream, x, dtype, at, ANY)
    above = level(stream, grid, blocks, plan)
    scales(stream, grid, above, stored, wrong, blocks, plan)
    encode(stream, x, dtype, stored, above, grid if plan.scale.mbits == 0 else None, values, at, plan)
    return above


def _quantize(
    stream: Stream, x: Any, dtype: np.dtype, stored: Any, values: Any, wrong: Any, at: Placed, plan: Plan
) -> None:
    found = tables(stream, plan)
    if at.geometry.is_padded:
        stream.clear(values, at.geometry.values_nbytes)
    stream.launch(
        "quantize", _encoding(plan, dtype, at, stream), "quantize_runs", at.runs * at.lanes, x, stored, values, wrong,
        at.numbers, np.uint64(at.runs), *_scale_numbers(plan.scale), *_codec_numbers(plan.codec), found.bounds,
        found.order,
    )  # fmt: skip


def encode(
    stream: Stream, x: Any, dtype: np.dtype, stored: Any, global_scale: Any, grid: Any, values: Any, at: Placed,
    plan: Plan,
) -> None:  # fmt: skip
    """Fields under stored scales into words. ``grid`` holds finite peaks, or is None where a scale can be 0."""
    codec, found = plan.codec, tables(stream, plan)
    if at.geometry.is_padded:
        stream.clear(values, at.geometry.values_nbytes)
    words = _encoding(plan, dtype, at, stream)
    zeros, peaks_ = np.int32(grid is not None), global_scale if grid is None else grid
    entry, count, lanes = _entry("encode", at)
    stream.launch(
        "encode", words, entry, count * lanes, x, values, at.numbers, np.uint64(count), stored, global_scale, peaks_,
        zeros, np.int32(scale_kind(plan.scale)), found.scales, *_codec_numbers(codec), found.bounds, found.order,
    )  # fmt: skip


def decode(
    stream: Stream, values: Any, stored: Any, global_scale: Any, out: Any, dtype: np.dtype, at: Placed, plan: Plan
) -> None:
    """Words to floats of ``dtype``."""
    found = tables(stream, plan)
    entry, count, lanes = _entry("decode", at)
    stream.launch(
        "decode", _words(plan, dtype, at, stream), entry, count * lanes, values, out, at.numbers, np.uint64(count),
        stored, global_scale, np.int32(scale_kind(plan.scale)), found.scales, found.values,
    )  # fmt: skip


def pack(stream: Stream, codes: Any, values: Any, at: Placed, plan: Plan) -> None:
    """Codes, a byte each, into words."""
    if at.geometry.is_padded:
        stream.clear(values, at.geometry.values_nbytes)
    units = at.geometry.units
    stream.launch("packing", _field(plan), "pack_units", units, codes, values, at.numbers, np.uint64(units))


def unpack(stream: Stream, values: Any, codes: Any, at: Placed, plan: Plan) -> None:
    """Words into codes, a byte each; integers with their sign."""
    units = at.geometry.units
    words = _field(plan) if plan.codec.kind != INTEGER else (*_field(plan), ("SIGNED", None))
    stream.launch("packing", words, "unpack_units", units, values, codes, at.numbers, np.uint64(units))


def _entry(step: str, at: Placed) -> tuple[str, int, int]:
    """The kernel that fits, how many runs or units it walks, and how many items share one."""
    if at.geometry.has_whole_groups and (at.geometry.pieces(at.most) == 1 or at.most % VECTOR == 0):
        return f"{step}_runs", at.runs, at.lanes
    return f"{step}_units", at.geometry.units, 1


def _field(plan: Plan) -> Definitions:
    word = plan.packing.word_bytes if plan.packing.axis >= 0 else 0
    return ("BITS", plan.packing.bits), ("WORD", word), ("ELEMENT", F32)


def _words(plan: Plan, dtype: np.dtype, at: Placed, stream: Stream) -> Definitions:
    """What changes the code of a kernel."""
    bits, word, _ = _field(plan)
    near = (("LOCAL_TABLE", None),) if stream.session.lanes > 1 else ()
    return ("KIND", plan.codec.kind), bits, word, ("ELEMENT", element_of(dtype)), ("LANES", at.lanes), *near


def _encoding(plan: Plan, dtype: np.dtype, at: Placed, stream: Stream) -> Definitions:
    words = _words(plan, dtype, at, stream)
    return (*words, ("EVEN", None)) if plan.codec.kind == INTEGER and plan.codec.half_even else words


def _codec_numbers(codec: Codec) -> tuple[Any, ...]:
    whole = codec.lo, codec.hi, codec.mbits, codec.emin
    return *map(np.int32, whole), np.float32(codec.top).view(np.uint32), np.uint32(codec.zero_code)


def _scale_numbers(scale: ScaleNumbers) -> tuple[Any, ...]:
    whole = scale_kind(scale), scale.mbits, scale.emin, scale.rule, scale.elem_emax, scale.elem_mbits
    top = np.float32(scale.top).view(np.uint32)
    return *map(np.int32, whole), top, np.float32(scale.smallest), np.float32(scale.half_range)


def _kept(stream: Stream, plan: Plan) -> dict[Any, Any]:
    """What a session has put on its device for a plan."""
    sessions: dict[Any, dict[Any, Any]] = plan.extras.setdefault("opencl", {})
    return sessions.setdefault(stream.session, {})


def _some(array: np.ndarray | None, dtype: type) -> np.ndarray:
    """The array, or a single 0 where there is none: a buffer is never empty."""
    return np.zeros(1, dtype) if array is None or not array.size else array
