"""What a reader accepts at most: one table, shown by ``qcore limits``.

A limit bounds what a file may ask of memory and time before its data is looked at. Rows that have room above their
default are raised with ``qcore.open(path, limits={name: value})``, up to their ceiling; the others are fixed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from qcore import errors

__all__ = ["LIMITS", "Limit", "Limits"]


@dataclass(frozen=True, slots=True)
class Limit:
    """One row: the default, the ceiling it can be raised to, and what happens beyond it."""

    name: str
    value: int
    ceiling: int
    unit: str
    what: str
    breach: str = "LimitError"


_MIB = 1 << 20
_WIDEST_ELEMENT = 16

_ROWS = (
    Limit("safetensors-header", 64 * _MIB, 100_000_000, "bytes", "JSON header of a safetensors file"),
    Limit("npy-header", 64 << 10, 64 << 10, "bytes", "header of an .npy array, versions 1 to 3"),
    # an archive of PyTorch has a few members beside one for each tensor
    Limit("zip-members", 100_100, 1_000_000, "members", "members of an .npz or .pt archive"),
    Limit(
        "npz-expanded", 1 << 30, 1 << 40, "bytes", "compressed members of an .npz archive, unpacked, together"
    ),
    Limit("npz-record", 64 * _MIB, 1 << 30, "bytes", "member __qcore__ of an .npz archive"),
    Limit("pt-pickle", 64 * _MIB, 1 << 30, "bytes", "member data.pkl of a .pt archive"),
    Limit(
        "pt-memory", 48 * _MIB, 1 << 34, "bytes", "memory that data.pkl takes beyond 16 times its length"
    ),
    Limit("pt-values", 1 << 20, 1 << 28, "values", "number of values in the tables of a .pt file"),
    Limit("pt-tensors", 100_000, 1_000_000, "tensors", "number of tensors of a .pt file"),
    Limit("pt-depth", 64, 64, "levels", "nesting of the tables of a .pt file"),
    Limit("pt-repeated", 1 << 30, 1 << 40, "bytes", "length of a tensor that repeats the elements of its storage"),
    Limit("gguf-keys", 65_536, 65_536, "keys", "number of keys of a GGUF file"),
    Limit("gguf-tensors", 100_000, 100_000, "tensors", "number of tensors of a GGUF file"),
    Limit("gguf-key", 65_535, 65_535, "bytes", "key of a GGUF file"),
    Limit("gguf-string", 16 * _MIB, 1 << 30, "bytes", "string in a GGUF file"),
    Limit("gguf-array", 1 << 24, 1 << 30, "elements", "number of elements of an array in a GGUF header"),
    Limit("gguf-alignment", 1 << 16, 1 << 16, "bytes", "alignment of a GGUF file", "FormatError"),
    Limit("gguf-rank", 4, 4, "dimensions", "rank of a tensor in a GGUF file", "FormatError"),
    Limit("gguf-name", 63, 63, "bytes", "name of a tensor written to a GGUF file", "FormatError"),
    Limit("burnpack-metadata", 100 * _MIB, 100 * _MIB, "bytes", "metadata of a burnpack file"),
    Limit("burnpack-tensors", 100_000, 100_000, "tensors", "number of tensors of a burnpack file"),
    Limit(
        "burnpack-texts", 100_000, 100_000, "entries", "number of texts, or of scalars, of a burnpack file"
    ),
    Limit("burnpack-depth", 128, 128, "levels", "nesting of the metadata of a burnpack file"),
    # what Burn reads: held when writing
    Limit("burnpack-tensor", 10 << 30, 10 << 30, "bytes", "data of a tensor written to a burnpack file"),
    Limit("burnpack-file", 100 << 30, 100 << 30, "bytes", "size of a burnpack file that is written"),
    Limit("config-json", 16 * _MIB, 256 * _MIB, "bytes", "JSON file beside a checkpoint: its index, its configuration"),
    Limit("shards", 1000, 100_000, "files", "shards of a checkpoint, parts of a split model"),
    Limit("metadata-record", _MIB, _MIB, "bytes", "the JSON that describes one quantized tensor"),
    Limit("rank", 8, 8, "dimensions", "rank of a tensor", "FormatError"),
    Limit(
        "elements", 2**63 - 1, 2**63 - 1, "elements", "number of elements or bytes of a tensor", "FormatError"
    ),
    Limit("name", 4096, 4096, "bytes", "name of a tensor in UTF-8", "FormatError"),
)

LIMITS: Mapping[str, Limit] = MappingProxyType({row.name: row for row in _ROWS})


class Limits:
    """The limits of one reader: the table, with what its caller raised.

    Examples
    --------
    >>> Limits({"safetensors-header": 100_000_000})["safetensors-header"]
    100000000
    >>> Limits()["rank"]
    8
    """

    def __init__(self, raised: Mapping[str, int] | None = None) -> None:
        self._values = {row.name: row.value for row in LIMITS.values()}
        for name, value in (raised or {}).items():
            row = LIMITS.get(name)
            if row is None:
                raise errors.build("unknown-name", kind="limit", name=name, choices=tuple(LIMITS))
            if not 0 <= value <= row.ceiling:
                raise errors.build(
                    "option-value",
                    option=f"limit {name}",
                    expected=f"0 to {row.ceiling} {row.unit}",
                    got=value,
                )
            self._values[name] = value

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def hold_shape(self, shape: Iterable[int], *, path: str, tensor: str | None = None) -> int:
        """Refuse a shape that no array can have, and return its number of elements.

        A zero hides nothing beside it: NumPy counts the other dimensions of an empty array, too.
        """
        count = others = 1
        for dim in shape:
            count *= dim
            others *= dim or 1
        self.hold("elements", count or others * _WIDEST_ELEMENT, path=path, tensor=tensor)
        return count

    def hold(self, name: str, found: int, *, path: str, tensor: str | None = None) -> None:
        """Refuse a found number beyond the limit of that name."""
        row, allowed = LIMITS[name], self._values[name]
        if found <= allowed:
            return
        advice = (
            f"limit {name}"
            if allowed >= row.ceiling
            else f"limit {name}, raised to at most {row.ceiling} by limits="
        )
        raise errors.build(
            "file-limit" if row.breach == "LimitError" else "file-malformed",
            tensor=tensor,
            path=path,
            what=f"the {row.what}",
            found=found,
            limit=f"{allowed} {row.unit} ({advice})",
            where="in its header",
            reason=f"the {row.what} is {found} {row.unit}, allowed is {allowed} ({advice})",
        )
