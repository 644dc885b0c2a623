"""ggml's blocks taken apart: bytes in, codes and scales out, without arithmetic that rounds.

Every function takes blocks as rows of bytes, little-endian. Elements stand in halves: byte j of a group holds element
j in its low bits and element j + half in its high ones; integers are stored with an offset, not as two's complement.
Types of four bits become words of eight neighbours, as our stores pack them, without a code for each element between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

__all__ = ["MINIMA", "OFFSET_OF_8", "SPLITS", "halves", "words_of"]

Bytes = np.ndarray
Floats = np.ndarray
Parts = tuple[np.ndarray, np.ndarray]


def half(blocks: Bytes, offset: int, count: int = 1) -> np.ndarray:
    """Return the float16 numbers at an offset of each block."""
    return (
        np.ascontiguousarray(blocks[:, offset : offset + 2 * count])
        .view("<f2")
        .astype(np.float16, copy=False)
    )


def nibbles(group: Bytes, run: int) -> Bytes:
    """Spread bytes to four-bit fields: each run of bytes gives its low halves, then its high ones."""
    runs = group.reshape(len(group), -1, 1, run)
    return np.concatenate((runs & 15, runs >> 4), axis=2).reshape(len(group), -1)


def words_of(group: Bytes, run: int) -> np.ndarray:
    """Turn runs of halves into words of eight neighbours, the first lowest."""
    eights = np.ascontiguousarray(group).view("<u8")
    both = np.stack((_closed(eights & _LOW), _closed(eights >> 4 & _LOW)), axis=1)  # (blocks, halves, words)
    runs = both.reshape(len(group), 2, -1, run // 8)
    return np.ascontiguousarray(runs.swapaxes(1, 2)).reshape(len(group), -1)


def halves(words: np.ndarray, run: int) -> Bytes:
    """Turn words of eight neighbours into runs of halves: the inverse of :func:`words_of`."""
    runs = _opened(words).reshape(len(words), -1, 2, run // 8)
    eights: np.ndarray = runs[:, :, 0] | runs[:, :, 1] << 4
    return eights.reshape(len(words), -1).view(np.uint8)


OFFSET_OF_8: Final = np.uint32(0x88888888)
"""What turns four-bit codes with an offset of 8 into two's complement, and back."""

_LOW: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_PAIRS: Final = np.uint64(0x00FF00FF00FF00FF)
_FOURS: Final = np.uint64(0x0000FFFF0000FFFF)


def _closed(eights: np.ndarray) -> np.ndarray:
    """Eight bytes that hold four bits each, as one word."""
    eights = (eights | eights >> 4) & _PAIRS
    eights = (eights | eights >> 8) & _FOURS
    words: np.ndarray = (eights | eights >> 16).astype("<u4")
    return words


def _opened(words: np.ndarray) -> np.ndarray:
    """One word as eight bytes that hold four bits each."""
    eights = words.astype("<u8")
    eights = (eights | eights << 16) & _FOURS
    eights = (eights | eights << 8) & _PAIRS
    spread_out: np.ndarray = (eights | eights << 4) & _LOW
    return spread_out


def spread(group: Bytes, run: int, bits: int) -> Bytes:
    """Spread bytes to fields of ``bits``: each run of bytes gives its lowest fields, then the next, up to the top."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    runs = group.reshape(len(group), -1, 1, run)
    return (runs >> shifts & ((1 << bits) - 1)).reshape(len(group), -1)


def _signed(fields: Bytes, offset: int) -> np.ndarray:
    return (fields - np.uint8(offset)).view(np.int8)


def _q8_0(blocks: Bytes) -> Parts:
    return np.ascontiguousarray(blocks[:, 2:]).view(np.int8), half(blocks, 0)


def _q4_0(blocks: Bytes) -> Parts:
    return words_of(blocks[:, 2:], 16) ^ OFFSET_OF_8, half(blocks, 0)


def _fifth_bits(blocks: Bytes, offset: int) -> Bytes:
    bits = np.unpackbits(blocks[:, offset : offset + 4], axis=1, bitorder="little")
    return bits << 4


def _q5_0(blocks: Bytes) -> Parts:
    return _signed(nibbles(blocks[:, 6:], 16) | _fifth_bits(blocks, 2), 16), half(blocks, 0)


def _q3_k(blocks: Bytes) -> Parts:
    low = spread(blocks[:, 32:96], 32, 2)
    high = spread(blocks[:, :32], 32, 1)
    packed = blocks[:, 96:108]
    scales = nibbles(packed[:, :8], 8) | spread(packed[:, 8:], 4, 2) << 4
    factors = half(blocks, 108).astype(np.float32) * _signed(scales, 32).astype(np.float32)
    return _signed(low | high << 2, 4), factors


def _q6_k(blocks: Bytes) -> Parts:
    # 64 low bytes serve 128 elements: the low halves of the first 32 and of the next 32 bytes, then the high halves
    low = nibbles(blocks[:, :128], 64)
    high = spread(blocks[:, 128:192], 32, 2)
    steps = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8).astype(np.float32)
    return _signed(low | high << 4, 32), half(blocks, 208).astype(np.float32) * steps


def _iq4_nl(blocks: Bytes) -> Parts:
    return words_of(blocks[:, 2:], 16), half(blocks, 0)


def _iq4_xs(blocks: Bytes) -> Parts:
    high = np.ascontiguousarray(blocks[:, 2:4]).view("<u2") >> np.arange(0, 16, 2, dtype=np.uint16) & 3
    low = np.stack((blocks[:, 4:8] & 15, blocks[:, 4:8] >> 4), axis=2).reshape(len(blocks), 8)
    steps = _signed(low | high.astype(np.uint8) << 4, 32).astype(np.float32)
    return words_of(blocks[:, 8:], 16), half(blocks, 0).astype(np.float32) * steps


def _mxfp4(blocks: Bytes) -> Parts:
    return words_of(blocks[:, 1:], 16), np.ascontiguousarray(blocks[:, :1])


def _nvfp4(blocks: Bytes) -> Parts:
    # ggml looks at seven bits of a scale, and takes the code that is NaN elsewhere for zero
    scales = blocks[:, :4] & 0x7F
    scales[scales == 0x7F] = 0
    return words_of(blocks[:, 4:], 8), scales


def _twice(scales: np.ndarray) -> np.ndarray:
    return np.repeat(scales, 2, axis=1)


def _trits(group: Bytes, run: int, planes: int) -> Bytes:
    """Digits to the base of three, the most significant first, of fractions of 256: a plane of each digit."""
    powers = np.array([1, 3, 9, 27, 81], np.uint8)[:planes, None]
    runs = group.reshape(len(group), -1, 1, run)
    return ((runs * powers).astype(np.uint16) * 3 >> 8).astype(np.uint8).reshape(len(group), -1)


def _tq1_0(blocks: Bytes) -> Parts:
    fields = np.concatenate(
        (_trits(blocks[:, :32], 32, 5), _trits(blocks[:, 32:48], 16, 5), _trits(blocks[:, 48:52], 4, 4)),
        axis=1,
    )
    return _signed(fields, 1), _twice(half(blocks, 52))


def _tq2_0(blocks: Bytes) -> Parts:
    return _signed(spread(blocks[:, :64], 32, 2), 1), _twice(half(blocks, 64))


def _q1_0(blocks: Bytes) -> Parts:
    bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
    return (bits << 1).view(np.int8) - np.int8(1), half(blocks, 0)


def _q2_0(blocks: Bytes) -> Parts:
    # -1 to 2 is no range of ours, -2 to 1 is: the code and the scale change their signs
    fields = blocks[:, 2:, None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3
    return np.int8(1) - fields.reshape(len(blocks), -1).view(np.int8), -half(blocks, 0)


SPLITS: Final[Mapping[str, Callable[[Bytes], Parts]]] = MappingProxyType(
    {
        "Q8_0": _q8_0,
        "Q4_0": _q4_0,
        "Q5_0": _q5_0,
        "Q3_K": _q3_k,
        "Q6_K": _q6_k,
        "IQ4_NL": _iq4_nl,
        "IQ4_XS": _iq4_xs,
        "MXFP4": _mxfp4,
        "NVFP4": _nvfp4,
        "TQ1_0": _tq1_0,
        "TQ2_0": _tq2_0,
        "Q1_0": _q1_0,
        "Q2_0": _q2_0,
    }
)
"""Types that are schemes of ours: blocks to codes, or words of four-bit ones, and scales as stored."""


def _q4_1(blocks: Bytes) -> tuple[Bytes, Floats, Floats]:
    both = half(blocks, 0, 2).astype(np.float32)
    return nibbles(blocks[:, 4:], 16), both[:, :1], both[:, 1:]


def _q5_1(blocks: Bytes) -> tuple[Bytes, Floats, Floats]:
    both = half(blocks, 0, 2).astype(np.float32)
    return nibbles(blocks[:, 8:], 16) | _fifth_bits(blocks, 4), both[:, :1], both[:, 1:]


def _q2_k(blocks: Bytes) -> tuple[Bytes, Floats, Floats]:
    both = half(blocks, 80, 2).astype(np.float32)
    scales = both[:, :1] * (blocks[:, :16] & 15).astype(np.float32)
    minima = both[:, 1:] * (blocks[:, :16] >> 4).astype(np.float32)
    return spread(blocks[:, 16:80], 32, 2), scales, -minima


def _six_bits(blocks: Bytes) -> tuple[Floats, Floats]:
    """Scales and minima of Q4_K and Q5_K: eight of each, six bits wide, in twelve bytes."""
    both = half(blocks, 0, 2).astype(np.float32)
    first, second, third = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate((first & 63, third & 15 | first >> 6 << 4), axis=1)
    minima = np.concatenate((second & 63, third >> 4 | second >> 6 << 4), axis=1)
    return both[:, :1] * scales.astype(np.float32), -(both[:, 1:] * minima.astype(np.float32))


def _q4_k(blocks: Bytes) -> tuple[Bytes, Floats, Floats]:
    return nibbles(blocks[:, 16:], 32), *_six_bits(blocks)


def _q5_k(blocks: Bytes) -> tuple[Bytes, Floats, Floats]:
    return nibbles(blocks[:, 48:], 32) | spread(blocks[:, 16:48], 32, 1) << 4, *_six_bits(blocks)


MINIMA: Final[Mapping[str, tuple[int, Callable[[Bytes], tuple[Bytes, Floats, Floats]]]]] = MappingProxyType(
    {
        "Q4_1": (32, _q4_1),
        "Q5_1": (32, _q5_1),
        "Q2_K": (16, _q2_k),
        "Q4_K": (32, _q4_k),
        "Q5_K": (32, _q5_k),
    }
)
"""Types with a minimum: elements that share a scale, and blocks to codes, scales and minima."""
