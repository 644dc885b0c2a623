"""Tensors as matrices that are read window by window, and the one place that holds an open file.

Nothing here knows of Qt. A tensor of up to ``WHOLE`` elements is kept in memory; of a larger one only the window
that is looked at is ever read, so memory does not grow with the file.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import qcore
from qcore import errors
from qcore.formats.dtypes import numpy_dtype
from qcore.formats.foreign import ForeignTensor
from qcore.formats.protocol import StoredReader
from qcore.formats.source import Source
from qcore.tensor import arrays

from .state import Axes, File, TensorRow, matrix_of

WHOLE: Final = 1 << 23
"""Elements up to which a tensor is held in memory: 32 MiB of f32, and every number about it is the library's own."""
STRIPE: Final = 1 << 20
"""Elements read at once from a larger tensor: small enough that a cancelled job stops within a tenth of a second."""

FACT: Final = 1000
"""Characters that are shown of a text of the file."""


class Matrix:
    """A tensor by rows and columns; leading axes are flattened.

    Parameters
    ----------
    name, shape
        As in the file.
    array
        The whole, where it is held in memory.
    reader, offset, dtype
        Where to read windows from otherwise.
    stored
        The tensor itself where it is quantized already.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        *,
        array: np.ndarray | None = None,
        reader: StoredReader | None = None,
        offset: int = 0,
        dtype: np.dtype[Any] | None = None,
        stored: qcore.QTensor | None = None,
    ) -> None:
        self.name, self.shape, self.array, self.stored = name, shape, array, stored
        self._reader, self._offset = reader, offset
        self.dtype: np.dtype[Any] = np.dtype(np.float32) if dtype is None else dtype
        if array is not None:
            self.dtype = array.dtype
        self.rows, self.columns = matrix_of(shape, None)
        self.size = self.rows * self.columns
        self.lenses: dict[Any, Any] = {}
        self.facts: Any = None
        self.lock, self.making = threading.Lock(), threading.Lock()

    @property
    def is_float(self) -> bool:
        """Whether ``qcore.quantize`` takes such elements."""
        return self.dtype in arrays.FLOAT_DTYPES

    def window(self, top: int, bottom: int, left: int, right: int) -> np.ndarray:
        """Elements of rows ``top:bottom`` and columns ``left:right``, in their own dtype."""
        if self.array is not None:
            flat: np.ndarray = self.array.reshape(self.rows, self.columns)[top:bottom, left:right]
            return flat
        assert self._reader is not None
        width = right - left
        out = np.empty((max(bottom - top, 0), max(width, 0)), self.dtype)
        if not out.size:
            return out
        data = out.view(np.uint8).reshape(-1).data
        item = self.dtype.itemsize
        if width == self.columns:
            self._reader.source.read_into(self._offset + top * self.columns * item, data)
        else:
            for row in range(top, bottom):
                at = (row - top) * width * item
                start = self._offset + (row * self.columns + left) * item
                self._reader.source.read_into(start, data[at : at + width * item])
        return out.byteswap(inplace=True) if sys.byteorder == "big" and item > 1 else out

    def stripes(self, rows_multiple: int = 1, columns_multiple: int = 1) -> Iterator[tuple[int, int, int, int]]:
        """Windows that cover everything, of about ``STRIPE`` elements, cut at multiples."""
        if not self.size:
            return
        width = self.columns
        if width * rows_multiple > STRIPE:
            width = max(STRIPE // rows_multiple // columns_multiple, 1) * columns_multiple
        height = max(STRIPE // max(min(width, self.columns), 1) // rows_multiple, 1) * rows_multiple
        for top in range(0, self.rows, height):
            for left in range(0, self.columns, width):
                yield top, min(top + height, self.rows), left, min(left + width, self.columns)

    def element(self, index: tuple[int, ...]) -> Any:
        """One element, in its own dtype."""
        row = 0
        for dim, at in zip(self.shape[:-1], index[:-1], strict=True):
            row = row * dim + at
        column = index[-1] if index else 0
        return self.window(row, row + 1, column, column + 1)[0, 0]


def matrix_of_array(name: str, array: Any) -> Matrix:
    """Take an array or a quantized tensor that is in memory already."""
    if isinstance(array, qcore.QTensor):
        return Matrix(name, array.shape, array=array.dequantize(), stored=array)
    if isinstance(array, ForeignTensor):  # stored in a way that is no scheme: what it decodes to is looked at
        array = array.dequantize()
    taken = np.asarray(array)
    if taken.dtype.hasobject or taken.dtype.kind not in "biufcV":
        raise errors.build("input-dtype", dtype=str(taken.dtype))
    if taken.dtype.kind == "c":
        taken = np.abs(taken)
    if not taken.dtype.isnative:
        taken = taken.astype(taken.dtype.newbyteorder("="))
    return Matrix(name, taken.shape, array=np.ascontiguousarray(taken).reshape(taken.shape))


class Session:
    """What is open: one file or one array, and the matrices that were looked at last."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._reader: StoredReader | None = None
        self._given: dict[str, Any] = {}
        self._kept: dict[str, Matrix] = {}

    def open(self, path: str) -> File:
        """Open a file and close the one before; only headers are read."""
        reader = qcore.open(path)
        rows = []
        for name in reader.names():
            info = reader.info(name)
            rows.append(TensorRow(name, info.shape, info.kind, info.size, info.nbytes, info.scheme is not None))
        self._replace(reader, {})
        # a vocabulary of a model is only begun: nobody looks at 200 000 words here
        facts = tuple((key, reader.brief(key, FACT)) for key in sorted(reader.text_names()))
        return File(str(path), reader.format, tuple(rows), reader.source.size, facts)

    def show(self, tensors: dict[str, Any], title: str) -> File:
        """Hold arrays from memory as if they were a file."""
        rows = []
        for name, tensor in tensors.items():
            if isinstance(tensor, qcore.QTensor):
                rows.append(TensorRow(name, tensor.shape, str(tensor.scheme), tensor.size, tensor.nbytes, True))
            else:
                array = np.asarray(tensor)
                rows.append(TensorRow(name, array.shape, array.dtype.name, array.size, array.nbytes))
        self._replace(None, dict(tensors))
        return File(title, "memory", tuple(rows), sum(row.nbytes for row in rows))

    def close(self) -> None:
        """Give the file back."""
        self._replace(None, {})

    def _replace(self, reader: StoredReader | None, given: dict[str, Any]) -> None:
        with self._lock:
            old, self._reader = self._reader, reader
            self._given, self._kept = given, {}
        if old is not None:
            old.close()

    def matrix(self, name: str) -> Matrix:
        """The tensor of a name; the last two that were asked for are kept."""
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                return found
            matrix = matrix_of_array(name, self._given[name]) if name in self._given else self._read(name)
            for older in self._kept.values():
                older.lenses = {}  # memory is for what is looked at
            self._kept = {**dict(list(self._kept.items())[-1:]), name: matrix}
            return matrix

    def _read(self, name: str) -> Matrix:
        if self._reader is None:
            raise errors.build("file-closed", path=name)
        info = self._reader.info(name)
        if info.size <= WHOLE:
            return matrix_of_array(name, self._reader.tensor(name))
        offset = self._reader.position(name) if isinstance(self._reader.source, Source) else None
        if offset is None:
            return matrix_of_array(name, self._reader.tensor(name))
        assert info.dtype is not None
        return Matrix(name, info.shape, reader=self._reader, offset=offset, dtype=np.dtype(numpy_dtype(info.dtype)))


def project(array: np.ndarray, axes: Axes | None) -> np.ndarray:
    """Rows and columns of an array: leading axes flattened, or the two that are named, at an index of the others.

    Examples
    --------
    >>> import numpy as np
    >>> project(np.zeros((2, 3, 4)), None).shape, project(np.zeros((2, 3, 4)), Axes(2, 0, (0, 1, 0))).shape
    ((6, 4), (4, 2))
    """
    if axes is None:
        columns = array.shape[-1] if array.ndim else 1
        rows = math.prod(array.shape[:-1])
        return array.reshape(rows, columns)
    index = tuple(slice(None) if a in (axes.row, axes.column) else at for a, at in enumerate(axes.index))
    plane = array[index]
    return plane if axes.row < axes.column else plane.T
