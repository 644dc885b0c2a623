"""MLX: codes as a bit stream in little-endian words, ``[out, in]``; small floats, or affine with scales and biases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    from qcore.formats.conventions.affine import AffineTensor
    from qcore.formats.protocol import Entry

__all__ = ["NAME", "find"]

NAME = "mlx"
# words for each scale -> mode, scheme, elements in a word, the dtype the bytes of scales mean
_MODES: Mapping[int, tuple[str, str, int, str]] = MappingProxyType(
    {
        4: ("mxfp4", "e2m1/packed/b32:ue8m0", 8, "float8_e8m0fnu"),
        2: ("nvfp4", "e2m1/packed/b16:ue4m3", 8, "float8_e4m3fn"),
        8: ("mxfp8", "e4m3/native/b32:ue8m0", 4, "float8_e8m0fnu"),
    }
)


def find(look: Look) -> Iterator[Found]:
    """Every weight of words with its scales."""
    for prefix in look.prefixes("scales"):
        weight, scales = look.entry(prefix + "weight", "uint32"), look.plain[prefix + "scales"]
        if weight is None or not weight.shape or weight.shape[:-1] != scales.shape[:-1] or 0 in scales.shape:
            continue
        biases = look.plain.get(prefix + "biases")
        if scales.dtype == "uint8" and biases is None:
            found = _floats(look, weight, scales)
        elif biases is not None and biases.shape == scales.shape:
            found = _affine(look, prefix, weight, scales, biases)
        else:
            found = None
        if found is not None:
            yield found


def _floats(look: Look, weight: Entry, scales: Entry) -> Found | None:
    from qcore.formats.dtypes import numpy_dtype

    row = (
        _MODES.get(weight.shape[-1] // scales.shape[-1]) if weight.shape[-1] % scales.shape[-1] == 0 else None
    )
    if row is None:
        return None
    mode, scheme, per_word, kind = row
    shape = (*weight.shape[:-1], weight.shape[-1] * per_word)

    def make(fetch: Fetch) -> Parts:
        import numpy as np

        words = fetch(weight.name).astype("<u4", copy=False)
        return Parts(words.view(np.uint8), fetch(scales.name).view(numpy_dtype(kind)))

    return look.quantized(
        weight.name, (weight.name, scales.name), scheme, shape, make, origin=f"{NAME} {mode}"
    )


def _affine(look: Look, prefix: str, weight: Entry, scales: Entry, biases: Entry) -> Found | None:
    """Scale times unsigned code plus bias; what a code is, only the configuration can say."""
    own: Any = look.config.get(prefix.removesuffix("."))
    settings = own if isinstance(own, dict) else look.config
    bits, group = settings.get("bits"), settings.get("group_size")
    if type(bits) is not int or type(group) is not int or not 1 <= bits <= 8 or not 1 <= group < 1 << 31:
        return None
    row = scales.shape[-1] * group
    if row * bits != weight.shape[-1] * 32:
        words = f"{weight.shape[-1]} words for {scales.shape[-1]} groups"
        raise look.fault(weight.name, "a row", words, f"groups of {group} codes of {bits} bits")
    shape = (*weight.shape[:-1], row)

    def make(fetch: Fetch) -> AffineTensor:
        import numpy as np

        from qcore.formats.conventions.affine import AffineTensor
        from qcore.formats.conventions.bits import stream

        codes = stream(fetch(weight.name).astype("<u4", copy=False), bits, row)
        scale, bias = (fetch(part.name).astype(np.float32) for part in (scales, biases))
        return AffineTensor(f"{NAME} affine", codes, scale, minima=bias)

    parts = (weight.name, scales.name, biases.name)
    return look.foreign(weight.name, parts, shape, make, origin=f"{NAME} affine, minima")
