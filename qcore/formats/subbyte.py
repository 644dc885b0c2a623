"""Elements narrower than a byte: one byte each in memory, a stream of bits in a file, the first one lowest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["pack", "unpack"]


def unpack(stored: np.ndarray, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    """Spread a bit stream over one byte for each element.

    Examples
    --------
    >>> import numpy as np
    >>> unpack(np.array([0x21, 0x43], np.uint8), 4, (4,)).tolist()
    [1, 2, 3, 4]
    """
    import numpy as np

    count = 1
    for dim in shape:
        count *= dim
    fields = np.zeros((count, 8), np.uint8)
    fields[:, :bits] = np.unpackbits(stored, bitorder="little")[: count * bits].reshape(count, bits)
    return np.packbits(fields, axis=1, bitorder="little").reshape(shape)


def pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Close ranks: the inverse of :func:`unpack` for codes that fit their bits.

    Examples
    --------
    >>> import numpy as np
    >>> pack(np.array([1, 2, 3, 4], np.uint8), 4).tolist()
    [33, 67]
    """
    import numpy as np

    fields = np.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")
    return np.packbits(fields[:, :bits].reshape(-1), bitorder="little")
