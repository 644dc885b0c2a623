"""Conventions: one row each, in the order in which names are asked; what a configuration declares comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.conventions.look import Look
from qcore.formats.faults import malformed

if TYPE_CHECKING:
    from qcore.formats.conventions.look import Found
    from qcore.formats.conventions.settings import Settings
    from qcore.formats.limits import Limits
    from qcore.formats.protocol import Stored, TensorInfo

__all__ = ["CONVENTIONS", "Convention", "found_in", "matching"]


@dataclass(frozen=True, slots=True)
class Convention:
    """One row: the words a configuration names it by, what its arrays' names end with, its module."""

    name: str
    methods: tuple[str, ...]
    suffixes: tuple[str, ...]
    module: str
    texts: str = ""
    """A text of the file's metadata that marks it, where names do not."""

    def find(self) -> Callable[[Look], Iterator[Found]]:
        """Load ``find(look)`` of the row's module."""
        found: Callable[[Look], Iterator[Found]] = import_module(
            f"qcore.formats.conventions.{self.module}"
        ).find
        return found


CONVENTIONS: tuple[Convention, ...] = (
    Convention("compressed-tensors", ("compressed-tensors",), (".weight_packed",), "compressed_tensors"),
    Convention("modelopt", ("modelopt",), (".weight_scale_2",), "modelopt"),
    Convention("fp8", ("fp8",), ("_scale_inv",), "hf_fp8"),
    Convention("gptq", ("gptq",), (".qzeros",), "gptq"),
    Convention("awq", ("awq",), (".qzeros",), "awq"),
    Convention(
        "bitsandbytes",
        ("bitsandbytes",),
        (".bitsandbytes__nf4", ".bitsandbytes__fp4", ".SCB"),
        "bitsandbytes",
    ),
    Convention("gpt-oss", ("mxfp4",), ("_blocks",), "gpt_oss"),
    Convention("quanto", ("quanto",), (".weight._data",), "quanto"),
    Convention("mlx", ("mlx",), (".scales",), "mlx"),
    Convention("torchao", ("torchao",), (), "torchao", texts="tensor_names"),
    # whole-number and 8-bit weights beside a scale: the plainest names, asked last
    Convention("compressed-tensors", (), (".weight_scale",), "compressed_tensors"),
)


def matching(
    settings: Settings, names: Iterable[str], metadata: Mapping[str, str]
) -> list[tuple[Convention, bool]]:
    """The rows to ask in turn, each with whether the configuration declares it."""
    declared = [row for row in CONVENTIONS if settings.method in row.methods]
    likely = [
        row
        for row in CONVENTIONS
        if (row.texts in metadata if row.texts else any(f".{name}".endswith(row.suffixes) for name in names))
    ]
    return [(row, True) for row in declared] + [(row, False) for row in likely if row not in declared]


def found_in(
    stored: Stored, settings: Settings, infos: Mapping[str, TensorInfo], path: str, limits: Limits
) -> tuple[dict[str, TensorInfo], dict[str, Found]]:
    """Join the plain arrays of a file to the tensors that conventions make of them.

    Returns
    -------
    The infos of all tensors, each joined one where the first of its arrays was, and how to load the joined ones.
    """
    plain = {
        name: stored.entries[name]
        for name, info in infos.items()
        if info.scheme is None and info.parts == (name,) and not info.origin and name in stored.entries
    }
    found: dict[str, Found] = {}
    taken: dict[str, str] = {}
    for row, declared in matching(settings, list(plain), stored.metadata):
        free = {name: entry for name, entry in plain.items() if name not in taken}
        look = Look(stored, free, path, limits, settings.block if declared else {}, declared)
        for item in _all(row, look):
            name = item.info.name
            clash = next((part for part in item.info.parts if part in taken), None)
            if clash is None and (name in found or (name in infos and name not in item.info.parts)):
                clash = name
            if clash is not None and not declared:
                continue
            if clash is not None:
                where = f"in the tensor {name!a}"
                raise malformed(
                    path, where, "a part", ascii(clash), "one that no other tensor has", tensor=name
                )
            taken.update(dict.fromkeys(item.info.parts, name))
            found[name] = item
    joined: dict[str, TensorInfo] = {}
    for name, info in infos.items():
        owner = taken.get(name)
        if owner is None:
            joined[name] = info
        elif owner not in joined:
            joined[owner] = found[owner].info
    return joined, found


def _all(row: Convention, look: Look) -> Iterator[Found]:
    """What a row finds; where only names suggest it, arrays that contradict it are left as they are."""
    items: Any = row.find()(look)
    while True:
        try:
            yield next(items)
        except StopIteration:
            return
        except errors.FormatError as problem:
            if look.declared or problem.code == "file-changed":
                raise
            return
