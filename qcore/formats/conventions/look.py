"""What a convention's module is given to look at: a file's plain entries and what its configuration declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.convention import strict_object
from qcore.formats.faults import malformed
from qcore.formats.protocol import Entry, TensorInfo

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.conventions.affine import AffineTensor
    from qcore.formats.limits import Limits
    from qcore.formats.protocol import Stored
    from qcore.scheme import QuantScheme
    from qcore.tensor import QTensor

__all__ = ["Fetch", "Found", "Look", "Parts"]

Fetch = Callable[[str], "np.ndarray"]


@lru_cache(maxsize=1024)  # a model's layers are alike
def _loading(text: str, shape: tuple[int, ...]) -> QuantScheme:
    """The scheme of a text, held against a shape."""
    from qcore.capability import check
    from qcore.scheme import QuantScheme

    scheme = QuantScheme.parse(text)
    check(scheme, shape, op="load", on="cpu", codebook=scheme.is_lookup).demand()
    return scheme


@dataclass(frozen=True, slots=True)
class Found:
    """A tensor that a convention keeps in several arrays, and how to make it of them."""

    info: TensorInfo
    load: Callable[[Fetch], QTensor | AffineTensor]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a quantized tensor, ready to be put together."""

    values: np.ndarray
    scales: np.ndarray
    global_scale: Any = None
    codebook: Any = None


@dataclass(frozen=True, slots=True)
class Look:
    """The entries that no record of ours explains, and the configuration of the convention.

    ``declared`` says whether a configuration names the convention. Where it does, arrays that contradict it are an
    error; where only names suggest it, they stay plain arrays.
    """

    stored: Stored
    plain: Mapping[str, Entry]
    path: str
    limits: Limits
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    declared: bool = False

    def prefixes(self, suffix: str) -> Iterator[str]:
        """What stands before a suffix in the names that end with it as a whole word of the path."""
        for name in self.plain:
            if name == suffix or name.endswith("." + suffix):
                yield name[: len(name) - len(suffix)]

    def entry(self, name: str, *dtypes: str) -> Entry | None:
        """The plain entry of a name, if it has one of the dtypes (or any, if none is named)."""
        found = self.plain.get(name)
        return found if found is not None and (not dtypes or found.dtype in dtypes) else None

    def small(self, name: str, most: int = 4096) -> np.ndarray | None:
        """Read an entry that describes others, unless it is too long to be one."""
        entry = self.plain.get(name)
        return None if entry is None or not 0 <= entry.nbytes <= most else self.stored.array(name)

    def text(self, name: str) -> dict[str, Any]:
        """Read an entry that is a JSON object in bytes."""
        self.limits.hold("metadata-record", self.plain[name].nbytes, path=self.path, tensor=name)
        data = self.stored.array(name).tobytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise self.fault(name, "the text", "bytes", "UTF-8") from None
        return strict_object(text, self.path, f"in the tensor {name!a}", name)

    def fault(self, name: str, rule: str, found: object, allowed: object) -> errors.QuantError:
        """Build the error of arrays that contradict each other."""
        return malformed(self.path, f"in the tensor {name!a}", rule, found, allowed, tensor=name)

    def number(self, key: str, default: int) -> int:
        """A whole number of the configuration, or what it is without one."""
        found = self.config.get(key, default)
        return found if type(found) is int and 0 < found < 1 << 31 else default

    def nbytes(self, parts: Sequence[str]) -> int:
        """What the file spends on some entries."""
        return sum(self.plain[part].nbytes for part in parts)

    def quantized(
        self,
        name: str,
        parts: Sequence[str],
        scheme: str,
        shape: tuple[int, ...],
        make: Callable[[Fetch], Parts],
        *,
        origin: str,
        fidelity: str = "exact",
        rules: Mapping[str, Any] | None = None,
        codebook: str | None = None,
    ) -> Found:
        """Describe a quantized tensor whose parts ``make`` reads, after holding its scheme against its shape."""
        self._hold_shape(name, shape)
        try:
            meant = _loading(scheme, shape)
        except errors.QuantError as problem:
            raise self.fault(name, "the scheme", problem, "one that loads") from problem
        told = dict(rules or {})
        info = TensorInfo(
            name, shape, None, meant, self.nbytes(parts), tuple(parts), MappingProxyType(told), codebook,
            origin, fidelity,
        )  # fmt: skip

        def load(fetch: Fetch) -> QTensor:
            from qcore.tensor import QTensor

            try:
                made = make(fetch)
                return QTensor.from_parts(
                    values=made.values,
                    scales=made.scales,
                    scheme=meant,
                    shape=shape,
                    global_scale=made.global_scale,
                    codebook=made.codebook,
                    rules=told,
                )
            except errors.QuantError as problem:
                raise problem if problem.tensor else problem.for_tensor(name) from None

        return Found(info, load)

    def foreign(
        self,
        name: str,
        parts: Sequence[str],
        shape: tuple[int, ...],
        make: Callable[[Fetch], AffineTensor],
        *,
        origin: str,
    ) -> Found:
        """Describe a tensor that only decodes: its info is that of the floats it decodes to."""
        self._hold_shape(name, shape)
        info = TensorInfo(
            name,
            shape,
            "float32",
            None,
            self.nbytes(parts),
            tuple(parts),
            origin=origin,
            fidelity="requantized",
        )
        return Found(info, make)

    def _hold_shape(self, name: str, shape: tuple[int, ...]) -> None:
        count = 1
        for dim in shape:
            count *= dim
        self.limits.hold("elements", count, path=self.path, tensor=name)
        self.limits.hold("rank", len(shape), path=self.path, tensor=name)
