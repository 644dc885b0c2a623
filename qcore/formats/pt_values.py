"""What the pickle of a .pt file may speak of: a closed list of names, and the plain values that stand for them.

A name makes one of the values below or nothing at all; no name is ever imported, and nothing is called but the small
functions of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["CALLS", "OPAQUE", "Broken", "Name", "Opaque", "Storage", "Table", "TensorView", "known"]


class Broken(Exception):  # not an error of its own: the machine says where, and raises the documented one
    """What is wrong with a value: the rule, what was found, what is allowed."""

    def __init__(self, rule: str, found: object, allowed: str) -> None:
        super().__init__(rule)
        self.rule, self.found, self.allowed = rule, shown(found), allowed

    @classmethod
    def plainly(cls, rule: str, words: str, allowed: str) -> Broken:
        """The same, with what was found already in words of ours."""
        broken = cls(rule, None, allowed)
        broken.found = words
        return broken


@dataclass(frozen=True, slots=True)
class Name:
    """A name of the closed list, not yet called."""

    module: str
    word: str

    def __str__(self) -> str:
        return f"{self.module}.{self.word}"


@dataclass(frozen=True, slots=True)
class Storage:
    """A member of the archive, and its elements if its type tells them; one without a type counts bytes."""

    key: str
    dtype: str | None
    count: int


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided view of a storage, in elements."""

    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Table:
    """A mapping as the pairs that were put into it: nothing is hashed or compared."""

    pairs: list[tuple[Any, Any]] = field(default_factory=list)


class Opaque:
    """A value that is no tensor and holds none: it is left out."""

    __slots__ = ()


OPAQUE = Opaque()

# types of storages -> NumPy's name; None where the type holds something that is no number on its own
_STORAGES: Mapping[str, str | None] = MappingProxyType(
    {
        "DoubleStorage": "float64",
        "FloatStorage": "float32",
        "HalfStorage": "float16",
        "BFloat16Storage": "bfloat16",
        "LongStorage": "int64",
        "IntStorage": "int32",
        "ShortStorage": "int16",
        "CharStorage": "int8",
        "ByteStorage": "uint8",
        "BoolStorage": "bool",
        "ComplexFloatStorage": "complex64",
        "ComplexDoubleStorage": "complex128",
        "UntypedStorage": None,
    }
)
# names of element types, as _rebuild_tensor_v3 has them and as values on their own
_DTYPES: Mapping[str, str | None] = MappingProxyType(
    {
        **{
            name: name
            for name in (
                *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"),
                *("uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
                *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
            )
        },
        "float4_e2m1fn_x2": "float4_e2m1fn",
        "complex32": None,
        "quint8": None,
        "qint8": None,
        "qint32": None,
    }
)


def shown(value: object) -> str:
    """A value in a few words, whatever a hostile file made of it."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (bool, int, float, Name)) or value is None:
        return str(value)
    if isinstance(value, (str, bytes)):
        return ascii(value[:80])
    if isinstance(value, tuple) and len(value) <= 8 and all(isinstance(item, int) for item in value):
        return "(" + ", ".join(shown(item) for item in value) + ")"
    return f"a {type(value).__name__.lower()}"


def whole(value: object, rule: str) -> int:
    """Hold a whole number from zero up to what a file can address."""
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise Broken(rule, value, "a whole number from 0")
    return value


def _wholes(value: object, rule: str) -> tuple[int, ...]:
    if not isinstance(value, tuple):
        raise Broken(rule, value, "a tuple of whole numbers")
    return tuple(whole(item, rule) for item in value)


def storage_of(pid: object) -> Storage:
    """Read the reference to a storage: its kind, its type, its member, the device it was on, its length."""
    if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage":
        raise Broken("a reference outside the pickle", pid, "('storage', type, member, device, length)")
    _, kind, key, _, count = pid
    if not isinstance(kind, Name) or kind.word not in _STORAGES:
        raise Broken("the type of a storage", kind, ", ".join(_STORAGES))
    if not isinstance(key, str):
        raise Broken("the member of a storage", key, "a text")
    return Storage(key, _STORAGES[kind.word], whole(count, "the length of a storage"))


def _first(args: tuple[Any, ...]) -> Any:
    return args[0] if args else None


def _tensor(args: tuple[Any, ...]) -> TensorView:
    storage = _first(args)
    return _view(args, storage.dtype if isinstance(storage, Storage) else None)


def _tensor_of_dtype(args: tuple[Any, ...]) -> TensorView:
    dtype = args[6] if len(args) > 6 else None
    if not isinstance(dtype, Name) or dtype.word not in _DTYPES:
        raise Broken("the dtype of a tensor", dtype, "one of torch's")
    return _view(args, _DTYPES[dtype.word])


def _view(args: tuple[Any, ...], dtype: str | None) -> TensorView:
    storage = _first(args)
    if len(args) < 4 or not isinstance(storage, Storage):
        raise Broken("the storage of a tensor", storage, "a storage of the archive")
    if dtype is None:
        allowed = "one that NumPy or ml_dtypes has"
        raise Broken.plainly("the dtype of a tensor", "one that no format here holds", allowed)
    offset = whole(args[1], "the offset of a tensor")
    shape, strides = _wholes(args[2], "the shape of a tensor"), _wholes(args[3], "the strides of a tensor")
    if len(shape) != len(strides):
        raise Broken("the number of strides", len(strides), f"{len(shape)}, as the shape has dimensions")
    return TensorView(storage, dtype, offset, shape, strides)


def _parameter(args: tuple[Any, ...]) -> TensorView:
    found = _first(args)
    if not isinstance(found, TensorView):
        raise Broken("the data of a parameter", found, "a tensor")
    return found


_REBUILDS: Mapping[str, Callable[[tuple[Any, ...]], TensorView]] = MappingProxyType(
    {
        "torch._utils._rebuild_tensor": _tensor,
        "torch._utils._rebuild_tensor_v2": _tensor,
        "torch._utils._rebuild_tensor_v3": _tensor_of_dtype,
        "torch._utils._rebuild_parameter": _parameter,
        "torch._utils._rebuild_parameter_with_state": _parameter,
    }
)


def _from_type(args: tuple[Any, ...]) -> TensorView:
    """A tensor with attributes: how it is rebuilt, its class, its own arguments, the attributes."""
    how, kind, inner = (*args, None, None, None)[:3]
    if not isinstance(kind, Name) or kind.word not in ("Tensor", "Parameter", "Buffer"):
        raise Broken("the class of a tensor", kind, "torch.Tensor, Parameter or Buffer")
    if not isinstance(how, Name) or str(how) not in _REBUILDS:
        raise Broken("how a tensor is rebuilt", how, ", ".join(_REBUILDS))
    if not isinstance(inner, tuple):
        raise Broken("the arguments of a tensor", inner, "a tuple")
    return _REBUILDS[str(how)](inner)


def _table(args: tuple[Any, ...]) -> Table:
    table = Table()
    items = _first(args)
    for pair in items if isinstance(items, list) else ():
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise Broken("an item of a table", pair, "a key and a value")
        table.pairs.append((pair[0], pair[1]))
    return table


def _sequence(args: tuple[Any, ...]) -> Any:
    items = _first(args)
    return tuple(items) if isinstance(items, (list, tuple)) else ()


def _opaque(args: tuple[Any, ...]) -> Opaque:
    return OPAQUE


CALLS: Mapping[str, Callable[[tuple[Any, ...]], Any]] = MappingProxyType(
    {
        "collections.OrderedDict": _table,
        "collections.defaultdict": lambda args: Table(),
        "collections.Counter": lambda args: Table(),
        **_REBUILDS,
        "torch._tensor._rebuild_from_type_v2": _from_type,
        "torch.Size": _sequence,
        "torch.device": _opaque,
        "torch.serialization._get_layout": _opaque,
        "_codecs.encode": _opaque,
        **{f"{module}.{word}": _opaque for module in ("builtins", "__builtin__") for word in ("set", "frozenset")},
        "builtins.bytearray": _opaque,
        "__builtin__.bytearray": _opaque,
        # a number or an array of NumPy beside the tensors, the epoch's best loss say: data, but no tensor of torch
        **{
            f"numpy.{package}.multiarray.{word}": _opaque
            for package in ("core", "_core")
            for word in ("scalar", "_reconstruct")
        },
        "numpy.dtype": _opaque,
    }
)
# what stands as a value or an argument and is never called
_WORDS = frozenset(
    {
        *(f"torch.{word}" for word in (*_STORAGES, *_DTYPES)),
        "torch.storage.UntypedStorage",
        "torch.storage.TypedStorage",
        "torch.Tensor",
        "torch.nn.parameter.Parameter",
        "torch.nn.parameter.Buffer",
        "numpy.ndarray",
        *(f"{module}.{word}" for module in ("builtins", "__builtin__") for word in ("list", "dict", "int", "float")),
    }
)


def known(name: Name) -> bool:
    """Whether a name stands on the closed list."""
    return str(name) in CALLS or str(name) in _WORDS
