"""The stored parts of a quantized tensor and what follows from them: immutable, comparable, picklable."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qcore.backends import loader
from qcore.calibration import scale_rounding
from qcore.capability import backend_row
from qcore.layout import packing
from qcore.plan import Plan, make_plan
from qcore.tensor import fields
from qcore.tensor.data import TensorData

if TYPE_CHECKING:
    from qcore.backends.protocol import Backend, HeldParts
    from qcore.scheme import QuantScheme
    from qcore.scheme.codebook import Codebook


class StoredTensor:
    """Values, scales, global scale, scheme, shape, codebook, backend and the rules they were made by."""

    __slots__ = (
        "_backend", "_codebook", "_codes", "_global", "_held", "_ready", "_rules", "_scales", "_scheme", "_shape",
        "_values",
    )  # fmt: skip
    __qcore_scheme__ = True
    __hash__ = None  # type: ignore[assignment]  # equality compares contents

    _values: np.ndarray
    _scales: np.ndarray
    _global: np.float32 | None
    _scheme: QuantScheme
    _shape: tuple[int, ...]
    _codebook: Codebook | None
    _backend: str
    _rules: Mapping[str, Any]
    _codes: np.ndarray | None
    _ready: dict[str, tuple[Backend, Plan]]
    _held: HeldParts | None

    @classmethod
    def _make(
        cls,
        values: np.ndarray,
        scales: np.ndarray,
        global_scale: np.float32 | None,
        scheme: QuantScheme,
        shape: tuple[int, ...],
        codebook: Codebook | None,
        backend: str,
        rules: Mapping[str, Any],
    ) -> Self:
        self = object.__new__(cls)
        values.flags.writeable = False
        scales.flags.writeable = False
        self._values = values
        self._scales = scales
        self._global = global_scale
        self._scheme = scheme
        self._shape = shape
        self._codebook = codebook
        self._backend = backend
        self._rules = rules
        self._codes = None
        self._ready = {}
        self._held = None
        return self

    @classmethod
    def _hold(
        cls,
        held: HeldParts,
        scheme: QuantScheme,
        shape: tuple[int, ...],
        codebook: Codebook | None,
        backend: str,
        rules: Mapping[str, Any],
    ) -> Self:
        """A tensor whose parts lie on a device: they come to the host when somebody asks for them."""
        self = object.__new__(cls)
        self._scheme = scheme
        self._shape = shape
        self._codebook = codebook
        self._backend = backend
        self._rules = rules
        self._codes = None
        self._ready = {}
        self._held = held
        return self

    def __getattr__(self, name: str) -> Any:
        # Reached only for slots that hold nothing yet: the parts of a tensor that lies on a device.
        if name not in ("_values", "_scales", "_global"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        assert self._held is not None
        values, scales, self._global = self._held.fetch()
        values.flags.writeable = False
        scales.flags.writeable = False
        self._values, self._scales = values, scales
        return getattr(self, name)

    @property
    def scheme(self) -> QuantScheme:
        """The scheme."""
        return self._scheme

    @property
    def shape(self) -> tuple[int, ...]:
        """Logical shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self._shape)

    @property
    def backend(self) -> str:
        """Where the tensor lives."""
        return self._backend

    @property
    def values(self) -> np.ndarray:
        """The stored values region (int8, uint8 or uint32, storage shape; read-only)."""
        return self._values

    @property
    def scales(self) -> np.ndarray:
        """Stored scales in their dtype: ``(1,)`` per tensor, else the grid, of the rank of the tensor (read-only)."""
        return self._scales if self._shape or self._scheme.block_size is None else self._scales.reshape(())

    @property
    def global_scale(self) -> np.float32 | None:
        """The per-tensor scale of a two-level scheme, else None."""
        return self._global

    @property
    def codebook(self) -> Codebook | None:
        """The table of a lookup scheme, else None."""
        return self._codebook

    @property
    def rules(self) -> Mapping[str, Any]:
        """How the tensor was made: calibration, roundings, policies. Empty where that is unknown."""
        return MappingProxyType(self._rules)

    @property
    def codes(self) -> np.ndarray:
        """One code per element, in the logical shape: int8 for integers, else uint8."""
        if self._codes is None:
            codes = fields.unpack_fields(self._values, self.plan(), loader.engine(self._backend))
            codes = codes.reshape(self._shape)
            codes.flags.writeable = False
            self._codes = codes
        return self._codes

    @property
    def nbytes(self) -> int:
        """Bytes of values, scales and global scale: the length of ``to_data().bytes``. A codebook is not in it."""
        return packing.quantized_data_len(self._scheme, self._shape)

    @property
    def bits_per_weight(self) -> float:
        """8 * nbytes / size; 0.0 when empty."""
        return 8 * self.nbytes / self.size if self.size else 0.0

    @property
    def effective_scales(self) -> np.ndarray:
        """f32(global * block) per block, in the shape of ``scales``: what a code is multiplied by."""
        scales = scale_rounding.decode_scales(self._scales)
        return scales if self._global is None else (self._global * scales).astype(np.float32)

    def plan(self, backend: str | None = None) -> Plan:
        """The numbers of this tensor for a backend's kernels."""
        row = backend_row(backend or self._backend)
        return make_plan(self._scheme, self._shape, codebook=self._codebook, zero_substitute=row.zero_substitute)

    def to_data(self) -> TensorData:
        """Burn's QFloat bytes: ``values | scales | global scale``, little-endian and dense."""
        values = self._values.astype(self._values.dtype.newbyteorder("<"), copy=False)
        parts = [values.tobytes(), self._scales.tobytes()]
        if self._global is not None:
            parts.append(self._global.tobytes())
        return TensorData(b"".join(parts), self._shape, self._scheme)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredTensor):
            return NotImplemented
        return (
            self._scheme == other._scheme
            and self._shape == other._shape
            and self._codebook == other._codebook
            and self.to_data().bytes == other.to_data().bytes
        )

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-d tensor")
        return self._shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self._values, self._scales, self._global, self._scheme, self._shape, self._codebook)
        return _restore, (type(self), *parts, self._backend, dict(self._rules))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _restore(kind: type[StoredTensor], *state: Any) -> StoredTensor:
    return kind._make(*state)
