"""The tensors of a .pt file by name: tables flattened to dotted names, views held against their storages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcore.formats.dtypes import BY_NAME
from qcore.formats.faults import malformed
from qcore.formats.pt_values import Table, TensorView, shown

if TYPE_CHECKING:
    from qcore.formats.limits import Limits
    from qcore.formats.zip_members import Member

__all__ = ["Named", "Placed", "flatten", "place"]

_LONGEST_TEXT = 1 << 16


@dataclass(frozen=True, slots=True)
class Named:
    """What a pickle holds: tensors by name, plain values as texts, and how many values are left out."""

    tensors: Mapping[str, TensorView]
    texts: Mapping[str, str]
    left_out: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor in the archive: its member, and the strides and offset of its elements there.

    ``width`` is the bytes of an element; ``dense`` says that the elements lie one after the other.
    """

    member: Member
    dtype: str
    width: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    count: int
    dense: bool

    @property
    def start(self) -> int:
        """Where the first element lies in the file."""
        return self.member.start + self.offset * self.width

    @property
    def reach(self) -> int:
        """Elements from the first one to the last, both counted."""
        if not self.count:
            return 0
        return 1 + sum((dim - 1) * stride for dim, stride in zip(self.shape, self.strides, strict=True))


def flatten(root: Any, path: str, where: str, bare: str, limits: Limits) -> Named:
    """Collect the tensors under a value; ``bare`` names one that stands alone."""
    tensors: dict[str, TensorView] = {}
    texts: dict[str, str] = {}
    left_out = 0
    for name, value in _leaves(root, path, where, limits):
        name = name or bare
        if isinstance(value, TensorView):
            _hold_name(name, tensors, path, where, limits)
            tensors[name] = value
        elif (text := _text(value)) is not None:
            texts[name] = text
        else:
            left_out += 1
    return Named(tensors, texts, left_out)


def _leaves(root: Any, path: str, where: str, limits: Limits) -> Iterator[tuple[str, Any]]:
    """Walk tables and lists in their order, without recursion: a table may hold itself."""
    seen = 0
    open_: list[Iterator[tuple[str, Any]]] = [iter((("", root),))]
    while open_:
        item = next(open_[-1], None)
        if item is None:
            open_.pop()
            continue
        seen += 1
        limits.hold("pt-values", seen, path=path)
        name, value = item
        if isinstance(value, (Table, list, tuple)):
            limits.hold("pt-depth", len(open_), path=path)
            open_.append(_items(value, name, path, where))
        else:
            yield item


def _items(value: Any, name: str, path: str, where: str) -> Iterator[tuple[str, Any]]:
    prefix = f"{name}." if name else ""
    if not isinstance(value, Table):
        yield from ((f"{prefix}{number}", item) for number, item in enumerate(value))
        return
    for key, item in value.pairs:
        if type(key) not in (str, int, bool) or (type(key) is int and key.bit_length() > 64):
            raise malformed(path, where, "the key of a table", shown(key), "a text or a number")
        yield f"{prefix}{key}", item


def _hold_name(name: str, taken: Mapping[str, Any], path: str, where: str, limits: Limits) -> None:
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise malformed(path, where, "the name of a tensor", ascii(name[:80]), "valid Unicode") from None
    limits.hold("name", length, path=path)
    limits.hold("pt-tensors", len(taken) + 1, path=path)
    if name in taken:
        raise malformed(path, where, "the name of a tensor", f"{name!a} a second time", "each name once")


def _text(value: Any) -> str | None:
    """A plain value as a text; None for what is left out."""
    if isinstance(value, str):
        whole = len(value) <= _LONGEST_TEXT and value.isprintable()
        return value if whole else None
    if isinstance(value, (bool, float)) or (isinstance(value, int) and value.bit_length() <= 64):
        return str(value)
    return None


def place(
    name: str, view: TensorView, members: Mapping[str, Member], root: str, path: str, limits: Limits
) -> Placed:
    """Hold a tensor against its storage, and the storage against the archive."""
    where = f"in the tensor {name!a}"

    def hold(fine: bool, rule: str, found: object, allowed: object) -> None:
        if not fine:
            raise malformed(path, where, rule, found, allowed, tensor=name)

    width, dtype = _width(view.dtype), view.dtype
    storage, shape, strides = view.storage, view.shape, view.strides
    member = members.get(f"{root}/data/{storage.key}")
    if member is None:
        raise malformed(path, where, "its storage", shown(storage.key), "a member under data/", tensor=name)
    hold(not member.deflated, "its storage", "compressed", "stored as it is")
    unit = width if storage.dtype == dtype else 1 if storage.dtype is None else _width(storage.dtype)
    hold(storage.count * unit == member.size, "the length of its storage", storage.count * unit, member.size)
    limits.hold("rank", len(shape), path=path, tensor=name)
    count = limits.hold_shape(shape, path=path, tensor=name)
    reach = 1 + sum((dim - 1) * stride for dim, stride in zip(shape, strides, strict=True)) if count else 0
    available = member.size // width
    hold(view.offset + reach <= available, "its last element", view.offset + reach, f"up to {available}")
    if count > reach:
        limits.hold("pt-repeated", count * width, path=path, tensor=name)
    if dtype == "float4_e2m1fn":  # PyTorch counts the bytes, two elements each
        hold(bool(shape) and _is_dense(shape, strides), "its strides", strides, "those of a dense tensor")
        shape, count = (*shape[:-1], 2 * shape[-1]), 2 * count
        return Placed(member, dtype, 1, view.offset, shape, (), count, True)
    return Placed(member, dtype, width, view.offset, shape, strides, count, _is_dense(shape, strides))


def _width(dtype: str) -> int:
    return 16 if dtype == "complex128" else max(BY_NAME[dtype].bits, 8) // 8


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for dim, stride in zip(reversed(shape), reversed(strides), strict=True):
        if dim == 0:
            return True
        if dim != 1 and stride != expected:
            return False
        expected *= dim
    return True
