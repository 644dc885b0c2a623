"""Burn's burnpack: tensors of an open file by position, each quantized one in a single range of bytes.

What burnpack has no word for is said in texts of the file whose keys begin with ``qcore.``: the table of a lookup
scheme lies beside its tensor as ``<name>.lookup_table`` and ``qcore.lookup.<name>`` names its codebook, so that Burn
reads such a file up to that tensor; ``qcore.rules.<name>`` says how a tensor was made, ``qcore.digest.<name>`` is
the digest of its bytes, and ``qcore.burn`` the Burn that the file was written for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from qcore import errors
from qcore.formats import convention
from qcore.formats.burnpack_header import Header, read_header
from qcore.formats.burnpack_write import rewrite, write
from qcore.formats.dtypes import numpy_dtype
from qcore.formats.faults import malformed
from qcore.formats.protocol import Entry, TensorInfo
from qcore.formats.source import pieces

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.burnpack_ranges import Descriptor
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source
    from qcore.scheme import Codebook
    from qcore.tensor import QTensor

__all__ = ["BurnpackFile", "read", "rewrite", "write"]

LOOKUP_KEY, RULES_KEY, DIGEST_KEY, BURN_KEY = "qcore.lookup.", "qcore.rules.", "qcore.digest.", "qcore.burn"
_CARRIED: Final = ("Flex32", "Bool(U8)", "Bool(U32)")
"""Types that are read as another one."""


class BurnpackFile:
    """The checked entries of an open burnpack file, in the order of its metadata."""

    def __init__(self, source: Source, limits: Limits, burn: str | None) -> None:
        self.header: Header = read_header(source, limits, burn)
        self.source = source
        self.metadata = self.header.texts
        self.records: Mapping[str, str] = MappingProxyType({})
        self.digests = _after(DIGEST_KEY, self.metadata)
        self.notes = self.header.notes
        self._tables = self._paired_tables()
        tensors = self.header.tensors.values()
        self.entries = MappingProxyType({tensor.name: _entry(tensor) for tensor in tensors})
        taken = set(self._tables.values())
        found = {tensor.name: self._info(tensor, limits) for tensor in tensors if tensor.name not in taken}
        self.infos = MappingProxyType(found)

    @property
    def scalars(self) -> bytes | None:
        """The scalars of the file, encoded."""
        return self.header.keys.get("scalars")

    def _paired_tables(self) -> dict[str, str]:
        """The table of each lookup tensor whose metadata says that it has one."""
        tables: dict[str, str] = {}
        for name in _after(LOOKUP_KEY, self.metadata):
            tensor, part = self.header.tensors.get(name), name + convention.TABLE
            table = self.header.tensors.get(part)
            if tensor is None or tensor.scheme is None or not tensor.scheme.is_lookup:
                continue
            expected = (1 << tensor.scheme.value.bits,)
            if table is None:
                raise errors.build(
                    "file-tensor-missing", variant="none-close", tensor=name, path=self.source.name,
                    name=part, choices=(),
                )  # fmt: skip
            if table.word is None or table.word.word != "F32" or table.shape != expected:
                got = f"{table.kind} {list(table.shape)}"
                raise malformed(
                    self.source.name, "in its metadata", "the lookup table", got, f"F32 {list(expected)}",
                    tensor=name,
                )  # fmt: skip
            tables[name] = part
        return tables

    def _info(self, tensor: Descriptor, limits: Limits) -> TensorInfo:
        name, nbytes = tensor.name, tensor.end - tensor.begin
        extra = {} if tensor.param_id is None else {"param_id": tensor.param_id}
        if tensor.scheme is None:
            assert tensor.word is not None
            origin = tensor.word.word if tensor.word.word in _CARRIED else ""
            return TensorInfo(
                name, tensor.shape, tensor.word.name, None, nbytes, (name,), origin=origin, extra=extra
            )
        parts: tuple[str, ...] = (name,)
        if name in self._tables:
            parts = (name, self._tables[name])
            nbytes += self.header.tensors[parts[1]].end - self.header.tensors[parts[1]].begin
        codebook = self.metadata.get(LOOKUP_KEY + name) or None
        rules = MappingProxyType(self._rules(name, limits))
        return TensorInfo(
            name, tensor.shape, None, tensor.scheme, nbytes, parts, rules, codebook, extra=extra
        )

    def _rules(self, name: str, limits: Limits) -> dict[str, Any]:
        text = self.metadata.get(RULES_KEY + name)
        if text is None:
            return {}
        where = f"in the rules of {name!r}"
        limits.hold("metadata-record", len(text), path=self.source.name, tensor=name)
        rules = convention.strict_object(text, self.source.name, where, name)
        if any(isinstance(value, (dict, list)) for value in rules.values()):
            allowed = "an object of words and numbers"
            raise malformed(self.source.name, where, "the rules", rules, allowed, tensor=name)
        return rules

    def array(self, name: str) -> np.ndarray:
        """Read a plain entry as an array of its own."""
        import numpy as np

        tensor = self.header.tensors[name]
        stored = np.empty(tensor.end - tensor.begin, np.uint8)
        self.source.read_into(self.header.start + tensor.begin, stored.data)
        word = tensor.word
        if word is None:
            return stored
        if word.name == "bool":
            return self._truths(tensor, stored)
        array: np.ndarray = stored.view(numpy_dtype(word.name)).reshape(tensor.shape)
        return array.byteswap(inplace=True) if sys.byteorder == "big" and word.nbytes > 1 else array

    def _truths(self, tensor: Descriptor, stored: np.ndarray) -> np.ndarray:
        """Truth values: any byte but 0 and 1 is refused where Burn would call it a bool, else nonzero is true."""
        import numpy as np

        assert tensor.word is not None
        if tensor.word.word != "Bool(Native)":
            return np.asarray(stored.reshape(-1, tensor.word.nbytes).any(axis=1).reshape(tensor.shape))
        if stored.size and stored.max() > 1:
            at = self.header.start + tensor.begin + int((stored > 1).argmax())
            raise malformed(self.source.name, at, "a Bool", int(stored.max()), "0 or 1", tensor=tensor.name)
        return stored.view(np.bool_).reshape(tensor.shape)

    def tensor(self, name: str) -> np.ndarray | QTensor:
        """Read a tensor: an array of its own, or a quantized tensor."""
        info, tensor = self.infos[name], self.header.tensors[name]
        if info.scheme is None:
            return self.array(name)
        from qcore.tensor import TensorData
        from qcore.tensor.loading import load

        if info.scheme.is_lookup and name not in self._tables:
            raise errors.build("lookup-needs-table", tensor=name)
        data = self.source.read(self.header.start + tensor.begin, tensor.end - tensor.begin)
        try:
            return load(TensorData(data, info.shape, info.scheme), "cpu", self._codebook(info), info.rules)
        except errors.QuantError as problem:
            raise problem.for_tensor(name) from None

    def _codebook(self, info: TensorInfo) -> Codebook | None:
        from qcore.scheme import Codebook

        part = self._tables.get(info.name)
        return None if part is None else Codebook(self.array(part), info.codebook)

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one entry's bytes, piece by piece."""
        tensor = self.header.tensors[name]
        return pieces(self.source, self.header.start + tensor.begin, tensor.end - tensor.begin)


def _entry(tensor: Descriptor) -> Entry:
    nbytes = tensor.end - tensor.begin
    if tensor.word is None:
        return Entry(tensor.name, "uint8", (nbytes,), nbytes)
    return Entry(tensor.name, tensor.word.name, tensor.shape, nbytes)


def _after(prefix: str, texts: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(
        {key[len(prefix) :]: text for key, text in texts.items() if key.startswith(prefix)}
    )


def read(source: Source, limits: Limits, dtype: Any, *, burn: str | None = None) -> BurnpackFile:
    """Open the entries of a file.

    Parameters
    ----------
    source, limits
        The file, and what it may ask for.
    dtype
        For formats that lose it; this one names every type.
    burn
        The Burn version that wrote the file, where the file does not tell: ``"0.19"``.
    """
    return BurnpackFile(source, limits, burn)
