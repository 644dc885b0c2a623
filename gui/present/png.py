"""A picture as a PNG, written without a window: for reports."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from ..findings import Picture
from .colours import mapped

__all__ = ["encode", "image"]


def encode(pixels: np.ndarray) -> bytes:
    """Encode RGBA bytes of rows and columns.

    Examples
    --------
    >>> encode(np.zeros((1, 1, 4), np.uint8))[:8] == bytes([137]) + b"PNG" + bytes([13, 10, 26, 10])
    True
    """
    height, width = pixels.shape[:2]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 4)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def image(picture: Picture) -> str:
    """An ``<img>`` with the picture inside, each cell at least two pixels of a small one."""
    pixels = mapped(picture.cells, picture.kind, picture.low, picture.high, dark=False)
    times = max(512 // max(*pixels.shape[:2], 1), 1)
    pixels = pixels.repeat(times, axis=0).repeat(times, axis=1)
    text = base64.b64encode(encode(pixels)).decode()
    return f'<img alt="{picture.what}" src="data:image/png;base64,{text}">'
