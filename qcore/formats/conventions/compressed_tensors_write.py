"""Writing compressed-tensors: which form a scheme takes, its arrays, and the configuration that names them.

Whole rows under one scale are one scale in the file, however many blocks repeat it here; a scale per tensor in a
packed form becomes one per row. Nothing is rounded: what the convention has no form for is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.content import Content, Group
from qcore.formats.convention import GLOBAL, SCALE, entry
from qcore.formats.conventions.bits import MASKS
from qcore.formats.conventions.compressed_tensors import DIVISOR, NAME
from qcore.formats.conventions.compressed_tensors_forms import FORMATS, LEAF, Form, configuration, form_of

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.protocol import TensorInfo

__all__ = ["rewritten"]


def rewritten(
    content: Content, path: str, origins: Mapping[str, str], wanted: str | None
) -> tuple[Content, dict[str, Any] | None]:
    """Put every quantized tensor into its form.

    Parameters
    ----------
    content
        What is to be written, quantized tensors in our own convention.
    path
        The destination, for messages.
    origins
        Where each tensor comes from, so that it keeps the form it had.
    wanted
        The form of 8-bit integers, if it is not left to the scheme.

    Returns
    -------
    The content to write, and the ``quantization_config`` that describes it (None if nothing is quantized).
    """
    groups: list[Group] = []
    forms: dict[str, Form] = {}
    for group in content.groups:
        info = group.info
        if info.scheme is None:
            groups.append(group)
            continue
        kept = origins.get(info.name, "").removeprefix(f"{NAME} ")
        form = form_of(info, path, wanted or (kept if kept in FORMATS else None), partial(_tied, group))
        forms[info.name] = form
        groups.append(_converted(group, form, path))
    metadata = {**content.metadata, "format": "pt"}
    plain = [g.info for g in content.groups if g.info.scheme is None]
    block = configuration(forms, plain) if forms else None
    return replace(content, groups=tuple(groups), records={}, metadata=metadata), block


def _tied(group: Group) -> bool:
    """Whether the scales of each row are one: by the tensor's own word, else by looking."""
    rules = group.info.rules
    if "tied" in rules:
        return bool(rules["tied"] == "row")
    return _one_a_row(group.load()[group.info.name + SCALE])


def _one_a_row(scales: np.ndarray) -> bool:
    words = scales.view(f"u{scales.dtype.itemsize}")
    return bool((words == words[..., :1]).all())


def _converted(group: Group, form: Form, path: str) -> Group:
    """The same tensor as the arrays of its form."""
    info = group.info
    assert info.scheme is not None
    prefix, shape = info.name.removesuffix(LEAF), info.shape
    row, grid = shape[-1], info.scheme.params_shape(shape)
    scale = info.scheme.scale_dtype.numpy_dtype.name
    packed, scales = prefix + "weight_packed", prefix + "weight_scale"
    if form.strategy == "channel":
        grid = (*shape[:-1], 1)
    if form.format == "pack-quantized":
        words = -(-row * form.bits // 32)
        parts = [(packed, "int32", (*shape[:-1], words)), (scales, scale, grid)]
        parts.append((prefix + "weight_shape", "int64", (len(shape),)))
    elif form.format in ("int-quantized", "float-quantized"):
        kind = "int8" if form.format == "int-quantized" else "float8_e4m3fn"
        parts = [(info.name, kind, shape), (scales, scale, grid)]
    elif form.format == "mxfp8-quantized":
        parts = [(info.name, "float8_e4m3fn", shape), (scales, "uint8", grid)]
    else:
        nv = form.format == "nvfp4-pack-quantized"
        parts = [(packed, "uint8", (*shape[:-1], row // 2)), (scales, scale if nv else "uint8", grid)]
        if nv:
            parts.append((prefix + "weight_global_scale", "float32", (1,)))
    entries = tuple(entry(*part) for part in parts)

    def load() -> dict[str, np.ndarray]:
        arrays = group.load()
        found = _arrays(
            info, form, arrays[info.name], arrays[info.name + SCALE], arrays.get(info.name + GLOBAL), path
        )
        return {item.name: array.reshape(item.shape) for item, array in zip(entries, found, strict=True)}

    return replace(group, entries=entries, load=load)


def _arrays(
    info: TensorInfo, form: Form, values: np.ndarray, scales: np.ndarray, level: np.ndarray | None, path: str
) -> Iterable[np.ndarray]:
    import numpy as np

    from qcore.formats.dtypes import numpy_dtype

    assert info.scheme is not None
    if form.strategy == "channel" and scales.size > 1:
        if not _one_a_row(scales):
            what = "scales that differ within a row, of a tensor that says it has one for each row"
            raise errors.build("file-cannot-hold", tensor=info.name, path=path, format=NAME, what=what)
        scales = np.ascontiguousarray(scales[..., :1])
    elif form.strategy == "channel":
        count = 1
        for dim in info.shape[:-1]:
            count *= dim
        scales = np.repeat(scales.reshape(1), count)
    if form.format == "pack-quantized":
        return _packed(info, form.bits, values), scales, np.array(info.shape, np.int64)
    if form.format == "int-quantized":
        return _codes(info, values), scales
    if form.format == "float-quantized":
        return _codes(info, values).view(numpy_dtype("float8_e4m3fn")), scales
    if form.format == "mxfp8-quantized":
        return _codes(info, values).view(numpy_dtype("float8_e4m3fn")), scales.view(np.uint8)
    nibbles = values
    if info.scheme.store.debug() != "PackedNative(0)":
        codes = _codes(info, values)
        nibbles = codes[..., 0::2] | codes[..., 1::2] << 4
    if form.format == "mxfp4-pack-quantized":
        return nibbles, scales.view(np.uint8)
    return nibbles, scales, _divisor(info, level)


def _divisor(info: TensorInfo, level: np.ndarray | None) -> np.ndarray:
    """The global scale as a divisor: the one it was read as, if it still means the same."""
    import numpy as np

    if level is None:
        return np.ones(1, np.float32)
    given = np.asarray(level, np.float32).reshape(1)
    kept = info.rules.get(DIVISOR)
    with np.errstate(all="ignore"):
        if type(kept) is float and isfinite(kept):
            divisor = np.full(1, kept, np.float32)
            if (np.float32(1) / divisor).tobytes() == given.tobytes():
                return divisor
        return (np.float32(1) / given).astype(np.float32)


def _codes(info: TensorInfo, values: np.ndarray) -> np.ndarray:
    from qcore.plan import make_plan
    from qcore.tensor.fields import unpack_fields

    assert info.scheme is not None
    return unpack_fields(values, make_plan(info.scheme, info.shape))


def _packed(info: TensorInfo, bits: int, values: np.ndarray) -> np.ndarray:
    """Words of offset binary; straight from those of a scheme that lies alike."""
    import numpy as np

    assert info.scheme is not None
    row, per_word = info.shape[-1], 32 // bits
    if info.scheme.store.debug() == "PackedU32(0)" and row % per_word == 0:
        words = values ^ np.uint32(MASKS[bits])
    else:
        fields = _codes(info, values).astype(np.int16) + (1 << (bits - 1))
        padded = np.zeros((*info.shape[:-1], -(-row // per_word) * per_word), np.uint32)
        padded[..., :row] = fields
        shifts = (np.arange(per_word, dtype=np.uint32) * np.uint32(bits)).astype(np.uint32)
        lanes = padded.reshape(*info.shape[:-1], -1, per_word) << shifts
        words = np.bitwise_or.reduce(lanes, axis=-1)
    return words.view(np.int32)
