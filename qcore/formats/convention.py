"""How a quantized tensor lies in a file whose format knows plain arrays only.

``w`` is the values region as it lies in memory, in its storage shape (I8, U8 or U32); ``w.scale`` the scales in the
shape of their grid and in their dtype; ``w.global_scale`` one F32, with two levels; ``w.lookup_table`` the F32
table of a lookup scheme. A record, one JSON object for each tensor, is the scheme in Burn's own form plus the
logical ``shape``, the ``rules`` the tensor was made by, and the name of the ``codebook``. Any tool can look at the
arrays; with the record they are a tensor again, equal to the one that was saved.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.dtypes import BY_NAME, packed_nbytes
from qcore.formats.faults import malformed
from qcore.formats.protocol import Entry, TensorInfo

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.limits import Limits
    from qcore.formats.protocol import Stored
    from qcore.scheme import QuantScheme
    from qcore.tensor import QTensor

__all__ = ["arrays_of", "described", "entries_of", "infos", "join", "record_of", "strict_object"]

SCALE, GLOBAL, TABLE = ".scale", ".global_scale", ".lookup_table"


def entries_of(name: str, scheme: QuantScheme, shape: tuple[int, ...]) -> tuple[Entry, ...]:
    """List the arrays that a quantized tensor of this scheme and shape consists of, values first."""
    from qcore.layout import packing
    from qcore.scheme import QuantMode

    values = packing.storage_shape(scheme, shape)
    parts = [
        (name, packing.values_dtype_name(scheme), tuple(values)),
        (name + SCALE, scheme.scale_dtype.numpy_dtype.name, tuple(packing.grid_shape(scheme, shape))),
    ]
    if scheme.is_two_level:
        parts.append((name + GLOBAL, "float32", (1,)))
    if scheme.mode is QuantMode.LOOKUP:
        parts.append((name + TABLE, "float32", (1 << scheme.value.bits,)))
    return tuple(entry(*part) for part in parts)


def entry(name: str, dtype: str, shape: tuple[int, ...]) -> Entry:
    """Make an entry whose bytes follow from its dtype and shape."""
    count = 1
    for dim in shape:
        count *= dim
    nbytes = packed_nbytes(BY_NAME[dtype], count) if dtype in BY_NAME else None
    return Entry(name, dtype, shape, -1 if nbytes is None else nbytes)


def arrays_of(name: str, tensor: QTensor) -> dict[str, np.ndarray]:
    """Take a quantized tensor apart into the arrays of :func:`entries_of`."""
    import numpy as np

    arrays = {name: tensor.values, name + SCALE: tensor.scales}
    if tensor.global_scale is not None:
        arrays[name + GLOBAL] = np.array([tensor.global_scale], np.float32)
    if tensor.codebook is not None:
        arrays[name + TABLE] = np.asarray(tensor.codebook.table)
    return arrays


def record_of(
    scheme: QuantScheme, shape: tuple[int, ...], rules: Mapping[str, Any], codebook: str | None = None
) -> str:
    """Write the record of a quantized tensor; the same tensor always gives the same text."""
    record: dict[str, Any] = {**scheme.to_dict(), "shape": list(shape), "rules": dict(rules)}
    if codebook is not None:
        record["codebook"] = codebook
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def infos(stored: Stored, path: str, limits: Limits) -> dict[str, TensorInfo]:
    """Join the entries of a file to the tensors they mean, and hold each record against its arrays."""
    quantized = {name: described(name, text, path, limits) for name, text in stored.records.items()}
    taken: dict[str, str] = {}
    for name, info in quantized.items():
        _hold_parts(info, stored.entries, path)
        for part in info.parts:
            if part in taken:
                raise malformed(
                    path,
                    "in the records",
                    "a part",
                    part,
                    f"one tensor, not {taken[part]!r} too",
                    tensor=name,
                )
            taken[part] = name
    found: dict[str, TensorInfo] = {}
    for name, item in stored.entries.items():
        if name in quantized:
            found[name] = quantized[name]
        elif name not in taken:
            found[name] = TensorInfo(name, item.shape, item.dtype, None, item.nbytes, (name,))
    return found


def _hold_parts(info: TensorInfo, entries: Mapping[str, Entry], path: str) -> None:
    assert info.scheme is not None
    for expected in entries_of(info.name, info.scheme, info.shape):
        got = entries.get(expected.name)
        if got is None:
            raise errors.build(
                "file-tensor-missing",
                variant="none-close",
                tensor=info.name,
                path=path,
                name=expected.name,
                choices=(),
            )
        if (got.dtype, got.shape) != (expected.dtype, expected.shape):
            raise malformed(
                path,
                f"in the tensor {expected.name!r}",
                "what the array holds",
                f"{got.dtype} {list(got.shape)}",
                f"{expected.dtype} {list(expected.shape)} under {info.scheme}",
                tensor=info.name,
            )


def described(name: str, text: str, path: str, limits: Limits) -> TensorInfo:
    """Read one record, trusting nothing in it."""
    from qcore.capability import check
    from qcore.scheme import QuantMode, QuantScheme

    where = f"in the record of {name!r}"
    limits.hold("metadata-record", len(text), path=path, tensor=name)
    record = strict_object(text, path, where, name)
    shape = record.get("shape")
    if not isinstance(shape, list) or any(type(dim) is not int or not 0 <= dim < 1 << 63 for dim in shape):
        raise malformed(path, where, "the shape", shape, "a list of whole numbers", tensor=name)
    limits.hold("rank", len(shape), path=path, tensor=name)
    rules = record.get("rules", {})
    if not isinstance(rules, dict) or any(isinstance(value, (dict, list)) for value in rules.values()):
        raise malformed(path, where, "the rules", rules, "an object of words and numbers", tensor=name)
    codebook = record.get("codebook")
    if codebook is not None and not isinstance(codebook, str):
        raise malformed(path, where, "the codebook's name", codebook, "a text", tensor=name)
    own: dict[str, Any] = {
        key: record[key] for key in ("value", "store", "mode", "tensor", "block") if key in record
    }
    try:
        scheme = QuantScheme.from_dict(own)
        dims = tuple(shape)
        check(scheme, dims, op="load", on="cpu", codebook=scheme.mode is QuantMode.LOOKUP).demand()
        parts = entries_of(name, scheme, dims)
    except errors.QuantError as problem:
        raise malformed(path, where, "the scheme", problem, "one that loads", tensor=name) from problem
    limits.hold_shape(dims, path=path, tensor=name)
    nbytes = sum(part.nbytes for part in parts)
    names = tuple(part.name for part in parts)
    return TensorInfo(name, dims, None, scheme, nbytes, names, MappingProxyType(rules), codebook)


def strict_object(text: str, path: str, where: str, tensor: str | None = None) -> dict[str, Any]:
    """Parse a JSON object: every key once, every number finite, no deeper than the parser can go."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise malformed(path, where, "a key", "there twice", "each key once", tensor=tensor)
        return dict(pairs)

    def real(word: str) -> float:
        number = float(word)
        if not math.isfinite(number):
            raise malformed(path, where, "a number", word, "a finite number", tensor=tensor)
        return number

    try:
        found = json.loads(text, object_pairs_hook=once, parse_constant=real, parse_float=real)
    except errors.QuantError:
        raise
    except (ValueError, RecursionError) as problem:
        raise malformed(path, where, "the text", problem, "a JSON object", tensor=tensor) from None
    if not isinstance(found, dict):
        raise malformed(path, where, "the text", type(found).__name__, "a JSON object", tensor=tensor)
    return found


def join(info: TensorInfo, array: Callable[[str], np.ndarray]) -> QTensor:
    """Put a quantized tensor together from its arrays."""
    from qcore.scheme import Codebook
    from qcore.tensor import QTensor

    assert info.scheme is not None
    found = {part[len(info.name) :]: array(part) for part in info.parts}
    table, level = found.get(TABLE), found.get(GLOBAL)
    try:
        return QTensor.from_parts(
            values=found[""],
            scales=found[SCALE],
            scheme=info.scheme,
            shape=info.shape,
            global_scale=None if level is None else level[0],
            codebook=None if table is None else Codebook(table, info.codebook),
            rules=info.rules,
        )
    except errors.QuantError as problem:
        raise problem.for_tensor(info.name) from None
