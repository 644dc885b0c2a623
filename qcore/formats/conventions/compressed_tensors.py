"""compressed-tensors: integers packed or not, floats of 8 bits, NVFP4, MXFP4 and MXFP8, each for one ``weight``.

Integers are offset binary in the packed form, the first element lowest, and two's complement in the plain one. The
global scale of NVFP4 is a divisor: its reciprocal is the tensor's global scale, and the number itself is kept among
the tensor's rules, for not every reciprocal leads back.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING

from qcore.formats.conventions.compressed_tensors_zero_points import NAME, packed_with_zeros, plain_with_zeros
from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.protocol import Entry

__all__ = ["DIVISOR", "NAME", "find"]

DIVISOR = "nvfp4_divisor"
_SHAPE_BYTES = 64
_FORMS = (
    *("pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "nvfp4-pack-quantized"),
    *("mxfp4-pack-quantized", "mxfp8-quantized", "mixed-precision", "dense"),
)
_E8M0 = ("uint8", "float8_e8m0fnu")
_WIDTHS = (4, 8, 2)  # those whose fields fill a word
_ODD_WIDTHS = (3, 5, 6, 7)


def find(look: Look) -> Iterator[Found]:
    """Every module whose arrays are a quantized weight."""
    strict = look.declared and _known(look)
    for prefix in look.prefixes("weight_scale"):
        if (prefix + "weight_scale_2") in look.plain:
            continue  # ModelOpt names its scales alike
        packed, plain = look.entry(prefix + "weight_packed"), look.entry(prefix + "weight")
        if packed is not None and plain is None:
            found = _packed(look, prefix, packed)
        elif plain is not None and plain.dtype == "int8":
            found = _integers(look, prefix, plain)
        elif plain is not None and plain.dtype == "float8_e4m3fn":
            found = _floats(look, prefix, plain)
        else:
            found = None
        codes = plain or packed
        if found is not None:
            yield found
        elif strict and codes is not None and (codes is packed or codes.dtype in ("int8", "float8_e4m3fn")):
            scale = look.plain[prefix + "weight_scale"]
            pair = f"{codes.dtype} {list(codes.shape)} with {scale.dtype} {list(scale.shape)}"
            raise look.fault(codes.name, "a weight with its scales", pair, "shapes that agree")


def _known(look: Look) -> bool:
    """Whether every form that is declared is one of those read here; another may lie in any way."""
    groups = look.config.get("config_groups")
    told = [look.config.get("format")]
    told += (
        [group.get("format") for group in groups.values() if isinstance(group, dict)]
        if isinstance(groups, dict)
        else []
    )
    return all(form is None or form in _FORMS for form in told)


def _packed(look: Look, prefix: str, packed: Entry) -> Found | None:
    scale = look.plain[prefix + "weight_scale"]
    if packed.dtype in ("int32", "uint32"):
        return _packed_integers(look, prefix, packed, scale)
    if packed.dtype != "uint8" or not packed.shape:
        return None
    row = packed.shape[-1] * 2
    shape = (*packed.shape[:-1], row)
    parts = (packed.name, scale.name)
    level = look.entry(prefix + "weight_global_scale", "float32")
    if scale.dtype == "float8_e4m3fn" and level is not None and scale.shape == (*shape[:-1], -(-row // 16)):
        return _nvfp4(look, prefix, (*parts, level.name), shape)
    if scale.dtype in _E8M0 and scale.shape == (*shape[:-1], -(-row // 32)):
        return look.quantized(
            prefix + "weight", parts, "e2m1/packed/b32:ue8m0", shape,
            lambda fetch: Parts(fetch(packed.name), _exponents(fetch(scale.name))),
            origin=f"{NAME} mxfp4-pack-quantized",
        )  # fmt: skip
    return None


def _nvfp4(look: Look, prefix: str, parts: tuple[str, ...], shape: tuple[int, ...]) -> Found:
    import numpy as np

    packed, scale, level = parts
    stored = look.small(level, 4)
    if stored is None or stored.size != 1:
        raise look.fault(level, "the global scale", look.plain[level].shape, "one number")
    divisor = np.float32(stored.reshape(-1)[0])
    with np.errstate(divide="ignore", over="ignore"):
        multiplier = np.float32(1) / divisor
    rules = {DIVISOR: float(divisor)} if isfinite(divisor) else {}
    with np.errstate(divide="ignore", over="ignore"):
        exact = bool(np.float32(1) / multiplier == divisor)
    return look.quantized(
        prefix + "weight", parts, "e2m1/packed/b16:ue4m3/t:f32", shape,
        lambda fetch: Parts(fetch(packed), fetch(scale), multiplier),
        origin=f"{NAME} nvfp4-pack-quantized", rules=rules, fidelity="exact" if exact else "lossless",
    )  # fmt: skip


def _packed_integers(look: Look, prefix: str, packed: Entry, scale: Entry) -> Found | None:
    from qcore.formats.conventions.bits import along_rows

    told = look.small(prefix + "weight_shape", _SHAPE_BYTES)
    if told is None or told.dtype.kind not in "iu" or told.size != len(packed.shape) or not told.size:
        return None
    shape = tuple(int(dim) for dim in told.reshape(-1))
    if any(dim < 0 for dim in shape) or shape[:-1] != packed.shape[:-1]:
        raise look.fault(packed.name, "the logical shape", list(shape), f"rows as in {list(packed.shape)}")
    bits = _width(look, packed, shape[-1])
    if bits is None:
        return None
    zero, order = prefix + "weight_zero_point", prefix + "weight_g_idx"
    parts = [packed.name, scale.name, prefix + "weight_shape"]
    if zero in look.plain or order in look.plain:
        extra = [name for name in (zero, order) if name in look.plain]
        return packed_with_zeros(look, prefix, shape, bits, [*parts, *extra])
    scales = along_rows(scale, shape)
    if scales is None:
        return None
    value = "q2f" if bits == 2 else "q4f" if bits <= 4 else "q8f"

    def make(fetch: Fetch) -> Parts:
        return Parts(_words(fetch(packed.name), bits, shape, f"{value}/u32"), scales.lay(fetch(scale.name)))

    return look.quantized(
        prefix + "weight", parts, f"{value}/u32/{scales.levels}", shape, make,
        origin=f"{NAME} pack-quantized", fidelity=scales.fidelity if bits in _WIDTHS else "lossless",
        rules={"tied": "row"} if scales.tied else None,
    )  # fmt: skip


def _width(look: Look, packed: Entry, row: int) -> int | None:
    """The bits of a code: what the row of words allows, among what is declared."""
    words = packed.shape[-1]
    fits = [bits for bits in (*_WIDTHS, *_ODD_WIDTHS) if words == -(-row * bits // 32)]
    declared = _declared_bits(look)
    if declared:
        chosen = [bits for bits in fits if bits in declared]
        if not chosen:
            widths = " or ".join(map(str, sorted(declared)))
            raise look.fault(
                packed.name, f"a row of {row} codes in", f"{words} words", f"{widths} bits a code"
            )
        return chosen[0] if len(chosen) == 1 else None
    likely = [bits for bits in fits if bits in _WIDTHS]
    return likely[0] if len(likely) == 1 else None


def _declared_bits(look: Look) -> set[int]:
    groups = look.config.get("config_groups")
    found: set[int] = set()
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        bits = weights.get("num_bits") if isinstance(weights, dict) else None
        if type(bits) is not int:
            return set()  # a preset's name, perhaps: the shapes decide
        found.add(bits)
    return found


def _words(words: np.ndarray, bits: int, shape: tuple[int, ...], store: str) -> np.ndarray:
    """Packed offset binary as the words of a scheme; straight where no field crosses a row's end."""
    import numpy as np

    from qcore.formats.conventions.bits import from_offset, stream
    from qcore.plan import make_plan
    from qcore.scheme import QuantScheme
    from qcore.tensor.fields import pack_fields

    moved = from_offset(words, bits, shape[-1])
    if moved is not None:
        return moved
    codes = stream(words.view(np.uint32), bits, shape[-1]).astype(np.int16) - (1 << (bits - 1))
    return pack_fields(codes.astype(np.int8), make_plan(QuantScheme.parse(store), shape))


def _integers(look: Look, prefix: str, weight: Entry) -> Found | None:
    from qcore.formats.conventions.bits import along_rows

    scale = look.plain[prefix + "weight_scale"]
    scales = along_rows(scale, weight.shape)
    parts = [weight.name, scale.name]
    if scales is None:
        return None
    zero = look.entry(prefix + "weight_zero_point")
    if zero is not None:
        return plain_with_zeros(look, weight, [*parts, zero.name])
    return look.quantized(
        weight.name, parts, f"q8f/native/{scales.levels}", weight.shape,
        lambda fetch: Parts(fetch(weight.name), scales.lay(fetch(scale.name))),
        origin=f"{NAME} int-quantized", fidelity=scales.fidelity, rules={"tied": "row"} if scales.tied else None,
    )  # fmt: skip


def _floats(look: Look, prefix: str, weight: Entry) -> Found | None:
    import numpy as np

    from qcore.formats.conventions.bits import FLOAT_SCALES, along_blocks, along_rows

    scale = look.plain[prefix + "weight_scale"]
    shape = weight.shape
    if scale.dtype in _E8M0:
        if not shape or scale.shape != (*shape[:-1], -(-shape[-1] // 32)):
            return None
        return look.quantized(
            weight.name, (weight.name, scale.name), "e4m3/native/b32:ue8m0", shape,
            lambda fetch: Parts(fetch(weight.name).view(np.uint8), _exponents(fetch(scale.name))),
            origin=f"{NAME} mxfp8-quantized",
        )  # fmt: skip
    scales = along_rows(scale, shape)
    for block in _blocks(look):
        if scales is None and scale.dtype in FLOAT_SCALES:
            scales = along_blocks(scale, shape, block, FLOAT_SCALES[scale.dtype])
    if scales is None:
        return None
    return look.quantized(
        weight.name, (weight.name, scale.name), f"e4m3/native/{scales.levels}", shape,
        lambda fetch: Parts(fetch(weight.name).view(np.uint8), scales.lay(fetch(scale.name))),
        origin=f"{NAME} float-quantized", fidelity=scales.fidelity, rules={"tied": "row"} if scales.tied else None,
    )  # fmt: skip


def _blocks(look: Look) -> Iterator[tuple[int, int]]:
    """The rectangles that groups declare, then the usual one."""
    groups = look.config.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        block = weights.get("block_structure") if isinstance(weights, dict) else None
        if isinstance(block, list) and len(block) == 2 and all(type(extent) is int for extent in block):
            yield block[0], block[1]
    yield 128, 128


def _exponents(scales: np.ndarray) -> np.ndarray:
    """Exponents stored as bytes, as what they are."""
    from qcore.formats.dtypes import numpy_dtype

    return scales.view(numpy_dtype("float8_e8m0fnu"))
