"""The serialised shape of a scheme: Burn's, written; Burn's and its older ones, read. Trusts nothing it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from qcore import errors
from qcore.scheme import words
from qcore.scheme.blocks import MAX_DIMS, BlockScale, BlockSize
from qcore.scheme.scales import ScaleDtype
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.store import MAX_PACKING_DIM, QuantMode, QuantStore
from qcore.scheme.values import QuantValue

T = TypeVar("T", QuantValue, QuantMode, ScaleDtype)

_NOW: Final = ("value", "store", "mode", "tensor", "block")
_OLDER: Final = ("value", "store", "mode", "param", "level")
_ONLY_NOW: Final = ("tensor", "block")
_ONLY_OLDER: Final = ("param", "level")
_PACKED: Final = {"PackedU32": QuantStore.packed_u32, "PackedNative": QuantStore.packed_native}
_LARGEST_BYTE: Final = 255


def to_dict(scheme: QuantScheme) -> dict[str, Any]:
    """Return the serialised shape of a scheme, keys in Burn's order.

    Parameters
    ----------
    scheme : QuantScheme
        The scheme.

    Returns
    -------
    dict
        Plain dictionaries, lists, strings and integers.

    Examples
    --------
    >>> to_dict(QuantScheme.parse("q8s/native/b2x16:f16"))["block"]
    {'size': {'storage': [2, 16, 1, 1, 1], 'len': 2}, 'dtype': 'F16'}
    """
    store = scheme.store
    return {
        "value": scheme.value.debug(),
        "store": store.variant if store.is_native else {store.variant: store.dim},
        "mode": scheme.mode.debug(),
        "tensor": scheme.tensor.debug() if scheme.tensor else None,
        "block": _block_to_dict(scheme.block) if scheme.block else None,
    }


def from_dict(shape: Mapping[Any, Any]) -> QuantScheme:
    """Read the serialised shape of a scheme, of this Burn or an older one.

    A key that the shape does not have is refused, not skipped: skipped keys are how Burn itself reads an older
    record as per-tensor F32 without a word. Block sizes that are not in canonical form are brought into it.

    Parameters
    ----------
    shape : mapping
        What a record holds; any content whatever is answered with a scheme or a documented error.

    Returns
    -------
    QuantScheme
        The scheme.

    Raises
    ------
    InvalidSchemeError
        ``scheme-text``, ``block-extent`` or ``block-cap``.

    Examples
    --------
    >>> from_dict({"value": "Q4S", "param": "F16", "store": "U32", "level": "Tensor", "mode": "Symmetric"})
    QuantScheme.parse('q4s/u32/t:f16')
    """
    if not isinstance(shape, Mapping):
        raise _refusal(shape, "a serialised scheme is a map")
    older = any(key in shape for key in _ONLY_OLDER)
    if older and any(key in shape for key in _ONLY_NOW):
        raise _refusal(shape, "it has fields of this Burn (tensor, block) and of an older one (param, level)")
    known = _OLDER if older else _NOW
    for key in shape:
        if key not in known:
            close = words.did_you_mean(key, known) if isinstance(key, str) else ""
            raise _refusal(shape, f"unknown field {_described(key)}{close}")
    for key in known:
        if key not in shape and (older or key not in _ONLY_NOW):
            raise _refusal(shape, f"the field {key!r} is missing")
    value = _variant(shape, QuantValue, "value", shape["value"])
    mode = _variant(shape, QuantMode, "mode", shape["mode"])
    store = _store(shape, shape["store"], older)
    tensor, block = _older_levels(shape) if older else _levels(shape)
    return QuantScheme(value, store, mode, tensor, block)


def _levels(shape: Mapping[Any, Any]) -> tuple[ScaleDtype | None, BlockScale | None]:
    """Read ``tensor`` and ``block``."""
    tensor, block = shape.get("tensor"), shape.get("block")
    dtype = None if tensor is None else _variant(shape, ScaleDtype, "tensor", tensor)
    if block is None:
        return dtype, None
    size, of_block = _fields(shape, "block", block, ("size", "dtype"))
    return dtype, BlockScale(_size(shape, size), _variant(shape, ScaleDtype, "the block's dtype", of_block))


def _older_levels(shape: Mapping[Any, Any]) -> tuple[ScaleDtype | None, BlockScale | None]:
    """Read ``level`` and ``param``: one level has the param, of two the inner one."""
    level, param = shape["level"], _variant(shape, ScaleDtype, "param", shape["param"])
    if isinstance(level, str) and level == "Tensor":
        return param, None
    if isinstance(level, Mapping) and len(level) == 1:
        ((name, content),) = level.items()
        if name == "Block":
            return None, BlockScale(_size(shape, content), param)
        if name == "BlockTensor":
            size, outer = _fields(shape, "the level BlockTensor", content, ("block", "global"))
            return _variant(shape, ScaleDtype, "the level's global", outer), BlockScale(
                _size(shape, size), param
            )
    raise _refusal(
        shape, f"a level is 'Tensor', or a map with Block or BlockTensor alone, got {_described(level)}"
    )


def _store(shape: Mapping[Any, Any], store: object, older: bool) -> QuantStore:
    """Read a store: a word, or a map of one variant to its dimension."""
    if isinstance(store, str):
        if store == "Native":
            return QuantStore.native()
        if store == "U32" and older:
            return QuantStore.packed_u32(0)
    if isinstance(store, Mapping) and len(store) == 1:
        ((name, dim),) = store.items()
        if isinstance(name, str) and name in _PACKED:
            if type(dim) is int and 0 <= dim <= MAX_PACKING_DIM:
                return _PACKED[name](dim)
            raise _refusal(
                shape, f"{name} packs along a dimension from 0 to {MAX_PACKING_DIM}, got {_described(dim)}"
            )
    raise _refusal(
        shape, f"a store is 'Native', or a map with PackedU32 or PackedNative alone, got {_described(store)}"
    )


def _size(shape: Mapping[Any, Any], size: object) -> BlockSize:
    """Read a block's extents: five bytes of storage, of which the first ``len`` count."""
    storage, count = _fields(shape, "a block size", size, ("storage", "len"))
    if not isinstance(storage, list | tuple) or len(storage) != MAX_DIMS:
        raise _refusal(
            shape, f"a block size is stored in a list of {MAX_DIMS} extents, got {_described(storage)}"
        )
    for extent in storage:
        if type(extent) is not int or not 0 <= extent <= _LARGEST_BYTE:
            raise _refusal(shape, f"a stored extent is a number of one byte, got {_described(extent)}")
    if type(count) is not int or count < 0:
        raise _refusal(shape, f"the len of a block size is a number, got {_described(count)}")
    if count > MAX_DIMS:
        raise errors.build("block-cap", got=min(count, _LARGEST_BYTE))
    return BlockSize(storage[:count])


def _block_to_dict(block: BlockScale) -> dict[str, Any]:
    """Write a block level."""
    storage = [*block.size.extents, *(1,) * (MAX_DIMS - len(block.size))]
    return {"size": {"storage": storage, "len": len(block.size)}, "dtype": block.dtype.debug()}


def _fields(
    shape: Mapping[Any, Any], what: str, given: object, names: tuple[str, str]
) -> tuple[object, object]:
    """Take a map of exactly two fields apart."""
    if not isinstance(given, Mapping) or len(given) != len(names) or any(name not in given for name in names):
        raise _refusal(
            shape, f"{what} is a map with the fields {names[0]} and {names[1]}, got {_described(given)}"
        )
    return given[names[0]], given[names[1]]


def _variant(shape: Mapping[Any, Any], enum: type[T], what: str, given: object) -> T:
    """Read a variant by the one name it has here; the aliases of texts do not count."""
    for member in enum:
        if isinstance(given, str) and given == member.value:
            return member
    names = [str(member.value) for member in enum]
    close = words.did_you_mean(given, names) if isinstance(given, str) else ""
    raise _refusal(
        shape,
        f"{what} is one of {', '.join(names)}, got {_described(given)}{close if 'mean' in close else ''}",
    )


def _refusal(shape: object, reason: str) -> errors.QuantError:
    return errors.build("scheme-text", text=_described(shape, fields=True), reason=reason)


def _described(given: object, *, fields: bool = False) -> str:
    """Return a few words for any content: never long, never deep, never failing."""
    if isinstance(given, str):
        return repr(given[:40])
    if isinstance(given, Mapping):
        if fields and len(given) <= len(_NOW):
            return (
                "{" + ", ".join(f"{_described(key)}: {_described(item)}" for key, item in given.items()) + "}"
            )
        return f"a map of {len(given)}"
    if isinstance(given, list | tuple):
        return f"a list of {len(given)}"
    if given is None or isinstance(given, bool | float) or (type(given) is int and abs(given) < 10**18):
        return repr(given)
    return f"something of type {type(given).__name__}"
