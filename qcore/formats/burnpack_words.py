"""The words of burnpack's metadata: element types and schemes, as each generation of Burn spells them.

The version number in a file's header has been 1 ever since; what changed is where the data begins, how a truth value
is named, and how a scheme is serialised. A row here is a generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from qcore import errors

if TYPE_CHECKING:
    from qcore.scheme import QuantScheme

__all__ = [
    "DTYPES",
    "GENERATIONS",
    "NEWEST",
    "ElementWord",
    "Generation",
    "bool_word",
    "generation",
    "word_for",
]


@dataclass(frozen=True, slots=True)
class ElementWord:
    """One element type: Burn's name, NumPy's name of what it is read as, bytes for each element."""

    word: str
    name: str
    nbytes: int


_ROWS: Final = (
    ("F64", "float64", 8),
    ("F32", "float32", 4),
    ("Flex32", "float32", 4),
    ("F16", "float16", 2),
    ("BF16", "bfloat16", 2),
    ("I64", "int64", 8),
    ("I32", "int32", 4),
    ("I16", "int16", 2),
    ("I8", "int8", 1),
    ("U64", "uint64", 8),
    ("U32", "uint32", 4),
    ("U16", "uint16", 2),
    ("U8", "uint8", 1),
)
_BOOLS: Final = {"Native": 1, "U8": 1, "U32": 4}

DTYPES: Final[Mapping[str, ElementWord]] = MappingProxyType({row[0]: ElementWord(*row) for row in _ROWS})
_WORDS: Final = {row.name: row.word for row in DTYPES.values() if row.word != "Flex32"}


def bool_word(store: str) -> ElementWord | None:
    """The row of a truth value by how it is stored; None where there is no such store."""
    return ElementWord(f"Bool({store})", "bool", _BOOLS[store]) if store in _BOOLS else None


@dataclass(frozen=True, slots=True)
class Generation:
    """One form of the file: the Burn that introduced it, where data begins, how words are spelled."""

    burn: str
    aligned: bool
    bool_has_store: bool
    scheme: Callable[[QuantScheme], dict[str, Any] | None]
    """The serialised scheme, keys in declared order; None where this Burn has no way to say it."""

    def dtype(self, name: str) -> Any:
        """What stands for a plain element type, by NumPy's name; None where Burn has none."""
        if name == "bool":
            return {"Bool": "Native"} if self.bool_has_store else "Bool"
        return _WORDS.get(name)


def _now(scheme: QuantScheme) -> dict[str, Any]:
    return scheme.to_dict()


def _one_level(scheme: QuantScheme) -> dict[str, Any] | None:
    """One level of scales, and ``param``, the type of the innermost."""
    return None if scheme.is_two_level else _older(scheme)


def _two_levels(scheme: QuantScheme) -> dict[str, Any] | None:
    return _older(scheme)


def _older(scheme: QuantScheme) -> dict[str, Any] | None:
    now = scheme.to_dict()
    if scheme.is_lookup:
        return None
    block = now["block"]
    level: Any = "Tensor"
    if block is not None and scheme.is_two_level:
        level = {"BlockTensor": {"block": block["size"], "global": now["tensor"]}}
    elif block is not None:
        level = {"Block": block["size"]}
    # the order in which the fields were declared
    return {
        "value": now["value"],
        "param": scheme.scale_dtype.debug(),
        "store": now["store"],
        "level": level,
        "mode": now["mode"],
    }


def _none(scheme: QuantScheme) -> None:
    """Quantized tensors failed that Burn's own check of lengths, so that no such file exists."""


GENERATIONS: Final[Mapping[str, Generation]] = MappingProxyType(
    {
        row.burn: row
        for row in (
            Generation("0.19", aligned=False, bool_has_store=False, scheme=_none),
            Generation("0.20", aligned=True, bool_has_store=False, scheme=_one_level),
            Generation("0.21", aligned=True, bool_has_store=True, scheme=_one_level),
            Generation("0.22-pre.2", aligned=True, bool_has_store=True, scheme=_two_levels),
            # 0.22.1 and 0.23.0-pre.1, the newest that are published, read and write this one
            Generation("0.22", aligned=True, bool_has_store=True, scheme=_now),
        )
    }
)
NEWEST: Final = GENERATIONS["0.22"]


def generation(burn: str | None) -> Generation:
    """Return the generation that a Burn version writes; the newest where none is named.

    Examples
    --------
    >>> generation("0.21").burn, generation("head").burn
    ('0.21', '0.22')
    """
    if burn is None or burn == "head":
        return NEWEST
    row = GENERATIONS.get(burn)
    if row is None:
        raise errors.build(
            "unknown-name", kind="Burn version", name=str(burn), choices=(*GENERATIONS, "head")
        )
    return row


def word_for(info: Any, made_by: Generation, path: str) -> Any:
    """What stands for a tensor's type in the metadata, or a refusal that names the tensor."""
    if info.scheme is not None:
        said = made_by.scheme(info.scheme)
        if said is not None:
            return {"QFloat": said}
        what = f"a tensor quantized as {info.scheme}"
    else:
        found = made_by.dtype(info.dtype)
        if found is not None:
            return found
        what = f"{info.dtype} elements"
    raise errors.build(
        "file-cannot-hold", tensor=info.name, path=path, format=f"burnpack (Burn {made_by.burn})", what=what
    )
