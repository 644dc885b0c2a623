"""GPTQ: words along the input channels, so a weight lies as ``[in, out]``, and zero points beside the scales.

Files of the first version store a zero point less one. Where every zero point is the middle of the range and groups
are runs of channels, the tensor is symmetric and only its words' top bits flip; anything else decodes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.conventions.affine import AffineTensor

__all__ = ["NAME", "find"]

NAME = "gptq"
_WORDS = ("int32", "uint32")
_WIDTHS = (4, 8, 2)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The arrays of one module and what their shapes say."""

    name: str
    words: str
    zeros: str
    scales: str
    order: str | None
    bits: int
    shape: tuple[int, int]
    groups: int

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.words, self.scales, self.zeros, *(() if self.order is None else (self.order,)))

    @property
    def group(self) -> int:
        return -(-self.shape[0] // self.groups)


def find(look: Look) -> Iterator[Found]:
    """Every module with packed words, zero points and scales."""
    for prefix in look.prefixes("qweight"):
        layer = _layer(look, prefix)
        if layer is None:
            known = look.config.get("checkpoint_format", NAME) in (NAME, "gptq_v2")
            if look.declared and known and look.config.get("bits") in _WIDTHS:
                raise look.fault(prefix + "qweight", "packed weights", "shapes or parts", "those of GPTQ")
            continue
        if _symmetric(look, layer):
            yield _quantized(look, layer)
        else:
            yield look.foreign(
                layer.name,
                layer.parts,
                layer.shape,
                _decoder(look, layer),
                origin=f"{NAME}, zero points [in, out]",
            )


def _layer(look: Look, prefix: str) -> _Layer | None:
    words, zeros = look.entry(prefix + "qweight", *_WORDS), look.entry(prefix + "qzeros", *_WORDS)
    scales = look.entry(prefix + "scales", "float16", "bfloat16", "float32")
    order = look.entry(prefix + "g_idx", "int32", "int64")
    if words is None or zeros is None or scales is None or (prefix + "weight") in look.plain:
        return None
    if len(words.shape) != 2 or len(zeros.shape) != 2 or len(scales.shape) != 2 or 0 in scales.shape:
        return None
    groups, outputs = scales.shape
    if words.shape[1] != outputs or zeros.shape[0] != groups:
        return None
    fits = []
    for bits in _WIDTHS:
        inputs = words.shape[0] * 32 // bits
        ordered = order is None or order.shape == (inputs,)
        if zeros.shape[1] == -(-outputs * bits // 32) and inputs % groups == 0 and ordered:
            fits.append(bits)
    declared = look.config.get("bits")
    if type(declared) is int and fits:
        if declared not in fits:
            raise look.fault(words.name, "the width of a code", fits, f"{declared} as declared")
        fits = [declared]
    if len(fits) != 1:
        return None
    shape = (words.shape[0] * 32 // fits[0], outputs)
    name = None if order is None else order.name
    return _Layer(prefix + "weight", words.name, zeros.name, scales.name, name, fits[0], shape, groups)


def _symmetric(look: Look, layer: _Layer) -> bool:
    """Whether the module is declared symmetric with groups in order; undeclared, what its small arrays say."""
    if look.declared and isinstance(look.config.get("sym"), bool):
        return look.config["sym"] is True and look.config.get("desc_act") is not True
    fetch = look.stored.array
    return _zero_is_middle(layer, fetch, _versions(look)) and _in_order(layer, fetch)


def _versions(look: Look) -> tuple[int, ...]:
    """What is added to a stored zero point: 1, or 0 in files of the second version; both where nothing says."""
    if not look.declared:
        return (1, 0)
    return (0,) if look.config.get("checkpoint_format") == "gptq_v2" else (1,)


def _zero_is_middle(layer: _Layer, fetch: Fetch, added: tuple[int, ...]) -> bool:
    import numpy as np

    from qcore.formats.conventions.bits import stream

    stored = stream(fetch(layer.zeros).view(np.uint32), layer.bits, layer.shape[1])
    middle = 1 << (layer.bits - 1)
    return any(bool((stored == middle - more).all()) for more in added)


def _in_order(layer: _Layer, fetch: Fetch) -> bool:
    import numpy as np

    if layer.order is None:
        return True
    return bool((fetch(layer.order) == np.arange(layer.shape[0]) // layer.group).all())


def _quantized(look: Look, layer: _Layer) -> Found:
    from qcore.formats.conventions.bits import FLOAT_SCALES, MASKS, extent_of

    extent, times = extent_of(layer.group)
    value = {2: "q2f", 4: "q4f", 8: "q8f"}[layer.bits]
    word = FLOAT_SCALES[look.plain[layer.scales].dtype]

    def make(fetch: Fetch) -> Parts:
        import numpy as np

        # the configuration may lie: zero points and order are looked at before anyone relies on it
        if not _zero_is_middle(layer, fetch, _versions(look)):
            raise look.fault(layer.zeros, "a zero point", "off the middle", "the middle: declared symmetric")
        if not _in_order(layer, fetch):
            raise look.fault(layer.order or "", "the order of groups", "permuted", "runs, as declared")
        words: np.ndarray = fetch(layer.words).view(np.uint32) ^ np.uint32(MASKS[layer.bits])
        return Parts(words, np.repeat(fetch(layer.scales), times, axis=0))

    return look.quantized(
        layer.name, layer.parts, f"{value}/u32:1/b{extent}x1:{word}", layer.shape, make,
        origin=f"{NAME} [in, out]", fidelity="exact" if times == 1 else "lossless",
    )  # fmt: skip


def _decoder(look: Look, layer: _Layer) -> Callable[[Fetch], AffineTensor]:
    def make(fetch: Fetch) -> AffineTensor:
        import numpy as np

        from qcore.formats.conventions.affine import AffineTensor
        from qcore.formats.conventions.bits import stream

        inputs, outputs = layer.shape
        codes = np.ascontiguousarray(stream(fetch(layer.words).T.view(np.uint32), layer.bits, inputs).T)
        zeros = stream(fetch(layer.zeros).view(np.uint32), layer.bits, outputs).astype(np.float32)
        added = _versions(look)
        order = None if layer.order is None or _in_order(layer, fetch) else fetch(layer.order)
        if order is not None and order.size and not 0 <= int(order.min()) <= int(order.max()) < layer.groups:
            raise look.fault(
                layer.order or "", "a group", f"{order.min()} to {order.max()}", f"0 to {layer.groups - 1}"
            )
        scales = fetch(layer.scales).astype(np.float32)
        return AffineTensor(f"{NAME} [in, out]", codes, scales, zeros + added[0], order=order, axis=0)

    return make
