"""The arithmetic of ggml's Q8_0 and Q4_0 blocks, byte for byte: the stated exception to the numbers of qcore.

Both multiply by the reciprocal of the float32 scale, store that scale rounded to the nearest float16, and decode with
the stored one. Q4_0 divides the element of largest magnitude, sign included, by -8, so its scale is negative when that
element is positive.

What follows from that, and is kept because the bytes are the promise:

* a magnitude beyond ``127 * 65504`` (Q8_0; ``8 * 65504`` in Q4_0) stores an **infinite** scale, and the block decodes
  to infinities and NaN. ggml writes exactly that; whoever needs such tensors takes another preset;
* a tiny block stores scale 0 beside codes that are not zero, and decodes to zeros;
* an all-zero block of Q4_0 stores the scale -0.0.

Where C leaves the result open, this module says what it is: a scale so small that its reciprocal is infinite gives
the codes x86-64 gives (0 in Q8_0, -8 in Q4_0; the stored scale is 0). NaN elements count as zeros and infinite ones
take the end of the range on their side, the finite elements making the scale: qcore's ``saturate``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

BLOCK: Final = 32

_STEP: Final = BLOCK << 13
"""Elements per step: a quarter of a million, so that temporaries stay at a few MiB whatever the tensor."""

_Codes = tuple[np.ndarray, np.ndarray]


def quantize(x: np.ndarray, arithmetic: str) -> _Codes:
    """Quantize blocks of 32 along the last axis as ggml does; a last, short block counts as filled up with zeros.

    Parameters
    ----------
    x
        Floats of any shape; a 0-d array counts as one of shape (1,). Wider ones are first rounded to float32.
    arithmetic
        ``ggml-q8_0`` or ``ggml-q4_0``, as presets name it.

    Returns
    -------
    tuple of numpy.ndarray
        int8 codes in the shape of ``x``, and float16 scales: that shape with the last axis counted in blocks.

    Examples
    --------
    >>> codes, scales = quantize(np.linspace(-1, 1, 32, dtype=np.float32), "ggml-q4_0")
    >>> int(codes[0]), int(codes[-1]), scales.tolist()
    (-8, 7, [0.125])
    """
    shape = x.shape or (1,)
    lines = x.reshape(-1, shape[-1]) if x.size else np.zeros((0, max(shape[-1], 1)), np.float32)
    codes = np.empty(lines.shape, np.int8)
    scales = np.empty((len(lines), -(-lines.shape[1] // BLOCK)), np.float16)
    rows_per_step = max(1, _STEP // lines.shape[1])
    for row in range(0, len(lines), rows_per_step):
        rows = slice(row, row + rows_per_step)
        for column in range(0, lines.shape[1], _STEP):
            columns = slice(column, column + _STEP)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                found, stored = _piece(lines[rows, columns].astype(np.float32), ARITHMETICS[arithmetic])
            codes[rows, columns] = found
            scales[rows, column // BLOCK : (column + _STEP) // BLOCK] = stored
    return codes.reshape(shape), scales.reshape(*shape[:-1], -(-shape[-1] // BLOCK))


def _piece(x: np.ndarray, arithmetic: Callable[[np.ndarray], _Codes]) -> _Codes:
    lines, columns = x.shape
    whole = np.pad(x, [(0, 0), (0, -columns % BLOCK)])
    codes, scales = arithmetic(whole.reshape(-1, BLOCK))
    return codes.reshape(whole.shape)[:, :columns], scales.reshape(lines, -1)


def _q8_0(x: np.ndarray) -> _Codes:
    peak = np.abs(_finite(x)).max(axis=1, keepdims=True)
    scale = peak / np.float32(127)
    product = x * _reciprocal(scale)
    # roundf: half away from zero. In float64 adding a half is exact for every float32 below 2**28.
    whole = np.copysign(np.floor(np.abs(product.astype(np.float64)) + 0.5), product)
    codes = np.clip(whole, -127, 127)
    return _settle(codes, x, scale, lost=0, zero=0), _stored(scale)


def _q4_0(x: np.ndarray) -> _Codes:
    finite = _finite(x)
    first_largest = np.abs(finite).argmax(axis=1)
    extreme = np.take_along_axis(finite, first_largest[:, None], axis=1)
    scale = np.where(extreme == 0, np.float32(0), extreme) / np.float32(-8)
    product = x * _reciprocal(scale)
    codes = np.clip(np.trunc(product + np.float32(8.5)), 0, 15) - 8
    return _settle(codes, x, scale, lost=-8, zero=0), _stored(scale)


ARITHMETICS: Final[dict[str, Callable[[np.ndarray], _Codes]]] = {"ggml-q8_0": _q8_0, "ggml-q4_0": _q4_0}


def _finite(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), x, np.float32(0))


def _reciprocal(scale: np.ndarray) -> np.ndarray:
    return np.where(scale == 0, np.float32(0), np.float32(1) / scale)


def _stored(scale: np.ndarray) -> np.ndarray:
    return scale[:, 0].astype(np.float16)


def _settle(codes: np.ndarray, x: np.ndarray, scale: np.ndarray, *, lost: int, zero: int) -> np.ndarray:
    """Codes where the product was no number to round: under an infinite reciprocal, of NaN, and in blocks of zeros."""
    codes = np.where(np.isfinite(_reciprocal(scale)) | ~np.isfinite(x), codes, lost)
    no_magnitude = np.isnan(x) | ((scale == 0) & ~np.isfinite(x))
    return np.where(no_magnitude, zero, codes).astype(np.int8)
