"""A bare .npy: one plain array, called after its file."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from qcore import errors
from qcore.formats import npy_header
from qcore.formats.content import byte_view
from qcore.formats.dtypes import BY_NAME, numpy_dtype
from qcore.formats.dtypes import parse as parse_dtype
from qcore.formats.faults import malformed
from qcore.formats.protocol import Entry
from qcore.formats.source import pieces

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.content import Content
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source

__all__ = ["NpyFile", "array_header", "decode", "read", "write"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


class NpyFile:
    """The one entry of an open .npy file."""

    metadata = records = digests = _NOTHING

    def __init__(self, source: Source, limits: Limits, dtype: str | None) -> None:
        name = source.path.stem
        self._source = source
        self._header = npy_header.parse(
            source.read, source.size, source.name, limits, tensor=name, dtype=dtype
        )
        header = self._header
        self.entries = MappingProxyType({name: Entry(name, header.dtype, header.shape, header.nbytes)})

    def array(self, name: str) -> np.ndarray:
        """Read the array."""
        import numpy as np

        stored = np.empty(self._header.nbytes, np.uint8)
        self._source.read_into(self._header.start, stored.data)
        return decode(stored, self._header, self._source.name, name)

    def position(self, name: str) -> int | None:
        """Offset of the array's first byte, where its elements lie in C order, little-endian."""
        header = self._header
        return None if header.fortran or header.big_endian else header.start

    def in_order(self, name: str) -> bool:
        """Whether the array's elements lie in C order, little-endian."""
        return self.position(name) is not None

    def raw(self, name: str) -> Iterator[bytes]:
        """Read the array's bytes, piece by piece."""
        return pieces(self._source, self._header.start, self._header.nbytes)


def read(source: Source, limits: Limits, dtype: Any) -> NpyFile:
    """Open the entry of a file; ``dtype`` says what the elements are where the file lost it."""
    return NpyFile(source, limits, None if dtype is None else parse_dtype(dtype))


def decode(stored: np.ndarray, header: npy_header.ArrayHeader, path: str, name: str) -> np.ndarray:
    """View stored bytes as the array they are, in the machine's byte order."""
    if header.dtype == "bool" and stored.size and stored.max() > 1:
        at = header.start + int((stored > 1).argmax())
        raise malformed(path, at, "a truth value", int(stored.max()), "0 or 1", tensor=name)
    flat: np.ndarray = stored.view(numpy_dtype(header.dtype))
    if header.big_endian != (sys.byteorder == "big") and flat.dtype.itemsize > 1:
        flat = flat.byteswap(inplace=True)
    if header.fortran:
        return flat.reshape(header.shape[::-1]).transpose()
    return flat.reshape(header.shape)


def array_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of a little-endian array in C order, as NumPy writes it."""
    import numpy as np

    descr = np.lib.format.dtype_to_descr(np.dtype(dtype).newbyteorder("<"))
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def write(file: BinaryIO, path: str, content: Content) -> None:
    """Write the one plain array of the content."""
    if len(content.groups) != 1:
        what = f"{len(content.groups)} tensors"
        raise errors.build("file-cannot-hold", path=path, format="npy", what=what)
    (group,) = content.groups
    info = group.info
    if info.dtype is None or (info.dtype in BY_NAME and BY_NAME[info.dtype].is_extension):
        what = f"a quantized tensor ({info.scheme})" if info.scheme is not None else f"{info.dtype} elements"
        raise errors.build("file-cannot-hold", tensor=info.name, path=path, format="npy", what=what)
    if content.metadata or content.digests:
        raise errors.build("file-cannot-hold", path=path, format="npy", what="metadata or digests")
    content.hold_names(path, reserved=())
    file.write(array_header(info.dtype, info.shape))
    file.write(byte_view(group.load()[info.name]).data)
