"""gpt-oss: MXFP4 experts in ``_blocks`` and ``_scales``, both bytes, the even element in the low nibble."""

from __future__ import annotations

from collections.abc import Iterator

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

__all__ = ["NAME", "find"]

NAME = "gpt-oss mxfp4"
_BLOCKS, _SCALES = "_blocks", "_scales"
_HALF = 16


def find(look: Look) -> Iterator[Found]:
    """Every pair whose shapes agree: 16 bytes of codes for each scale."""
    from qcore.formats.dtypes import numpy_dtype

    for name, blocks in look.plain.items():
        base = name.removesuffix(_BLOCKS)
        scales = look.entry(base + _SCALES, "uint8")
        if base == name or not base or blocks.dtype != "uint8" or scales is None:
            continue
        if len(blocks.shape) < 2 or blocks.shape != (*scales.shape, _HALF):
            if look.declared:
                raise look.fault(name, "the shape", list(blocks.shape), [*scales.shape, _HALF])
            continue
        if base in look.plain:
            continue  # a tensor of the name is there already
        lead, count = blocks.shape[:-2], blocks.shape[-2]

        def make(
            fetch: Fetch,
            codes: str = name,
            exponents: str = scales.name,
            to: tuple[int, ...] = (*lead, count * _HALF),
        ) -> Parts:
            return Parts(fetch(codes).reshape(to), fetch(exponents).view(numpy_dtype("float8_e8m0fnu")))

        yield look.quantized(
            base, (name, scales.name), "e2m1/packed/b32:ue8m0", (*lead, count * 2 * _HALF), make, origin=NAME
        )
