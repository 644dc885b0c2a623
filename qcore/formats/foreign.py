"""Tensors in a form that no scheme expresses: they can be looked at and dequantized, and stay what they are.

Burn's schemes know a code and a scale. Forms with a minimum or a zero point, and those whose codes are indices of
vectors, are foreign to them: taking one over as a quantized tensor means to dequantize and quantize again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, final

import numpy as np

from qcore.formats.protocol import AsStored, StoredPart
from qcore.tensor import arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ForeignParts", "ForeignTensor"]

_STEP = 1 << 20
"""Elements decoded at a time, so that temporaries stay at a few MiB."""


@dataclass(frozen=True, slots=True)
class ForeignParts:
    """What the rows of a foreign tensor consist of: ``value = scale * code + minimum``, block by block.

    Codes have a row for each row of the tensor; scales and minima a column for each block of a row.
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]
    minima: NDArray[np.float32]


@final
class ForeignTensor:
    """A tensor of a file whose form no scheme expresses; immutable, decoded when it is asked for.

    Parameters
    ----------
    kind
        What the form is called where it comes from: ``Q4_K``.
    shape
        Logical shape.
    block
        Consecutive elements of a row that share a scale.
    stored
        The rows as the file stores them: uint8, one row each.
    decode
        Makes float32 rows of stored ones.
    split
        Makes the parts of stored rows; None for a form that has no codes and scales of its own.
    format
        The file format whose form it is.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1, 2]], np.uint8)
    >>> t = ForeignTensor("halves", (2,), 1, rows, lambda rows: rows.astype(np.float32) / 2)
    >>> t.dequantize().tolist()
    [0.5, 1.0]
    """

    __slots__ = ("_decode", "_split", "block", "format", "kind", "shape", "stored")
    __iter__ = None
    __hash__ = None  # type: ignore[assignment]  # equality compares contents

    def __init__(
        self,
        kind: str,
        shape: tuple[int, ...],
        block: int,
        stored: np.ndarray,
        decode: Callable[[np.ndarray], np.ndarray],
        split: Callable[[np.ndarray], ForeignParts] | None = None,
        format: str = "gguf",
    ) -> None:
        stored.flags.writeable = False
        for name, value in zip(
            self.__slots__, (decode, split, block, format, kind, shape, stored), strict=True
        ):
            object.__setattr__(self, name, value)

    kind: str
    shape: tuple[int, ...]
    block: int
    format: str
    stored: np.ndarray
    _decode: Callable[[np.ndarray], np.ndarray]
    _split: Callable[[np.ndarray], ForeignParts] | None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ForeignTensor is immutable: cannot set {name!r}")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the file spends on it."""
        return int(self.stored.nbytes)

    @property
    def bits_per_weight(self) -> float:
        """Stored bits for each element; 0.0 when there is none."""
        return 8 * self.nbytes / self.size if self.size else 0.0

    @property
    def codes(self) -> np.ndarray | None:
        """One unsigned code for each element, in the logical shape; None where the form has none."""
        return None if self._split is None else self._split(self.stored).codes.reshape(self.shape)

    @property
    def scales(self) -> np.ndarray | None:
        """The factor of each block, float32, in the shape of the grid; None where the form has none."""
        return None if self._split is None else self._split(self.stored).scales.reshape(self._grid())

    @property
    def minima(self) -> np.ndarray | None:
        """What is added to each block, float32, in the shape of the grid; None where the form has none."""
        return None if self._split is None else self._split(self.stored).minima.reshape(self._grid())

    def dequantize(self, dtype: Any = np.float32, out: np.ndarray | None = None) -> np.ndarray:
        """Decode to floats: computed in f32, rounded once to ``dtype``.

        Parameters
        ----------
        dtype
            float32 (default), float64, float16 or bfloat16; None means the dtype of ``out``, else float32.
        out
            Written and returned. Its shape and dtype must match exactly.

        Raises
        ------
        qcore.errors.DeviceError
            ``package-missing`` where the form is decoded by another package and that is not installed.
        """
        wanted = arrays.out_dtype(dtype, out)
        result = (
            np.empty(self.shape, wanted) if out is None else arrays.check_out(out, self.shape, (self.stored,))
        )
        if not self.size:
            return result
        width = self.shape[-1] if self.shape else 1
        whole = result.flags.c_contiguous
        rows = (result if whole else np.empty(self.shape, wanted)).reshape(-1, width)
        step = max(1, _STEP // width)
        with np.errstate(all="ignore"):  # infinite scales decode to what they decode to
            for start in range(0, len(rows), step):
                rows[start : start + step] = self._decode(self.stored[start : start + step])
        if not whole:
            result[...] = rows.reshape(self.shape)
        return result

    def as_stored(self, name: str) -> AsStored:
        """What it is stored as, for a writer of its own format."""
        part = StoredPart(name, self.kind, self.shape, self.nbytes, lambda: iter((self.stored.tobytes(),)))
        return AsStored(self.format, (part,))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        from qcore import errors

        if copy is False:
            raise errors.build("array-needs-copy")
        wanted = np.dtype(np.float32 if dtype is None else dtype)
        return self.dequantize(wanted) if wanted in arrays.FLOAT_DTYPES else self.dequantize().astype(wanted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForeignTensor):
            return NotImplemented
        same = (self.kind, self.shape) == (other.kind, other.shape)
        return same and self.stored.tobytes() == other.stored.tobytes()

    def __repr__(self) -> str:
        return (
            f"ForeignTensor(shape={self.shape}, kind={self.kind!r}, {self.nbytes} bytes, "
            f"{self.bits_per_weight:.2f} bits/weight)"
        )

    def _grid(self) -> tuple[int, ...]:
        return (*self.shape[:-1], -(-self.shape[-1] // self.block))
