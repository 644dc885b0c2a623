"""NumPy as a peer: the expression that a person writes for each operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

import qcore

if TYPE_CHECKING:
    from operations import Data

Found = Iterator[tuple[str, str, Callable[[], object]]]
E2M1_STEPS: Final = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], np.float32)


def join(codes: np.ndarray) -> np.ndarray:
    """Two codes in a byte."""
    unsigned = codes.view(np.uint8)
    return (unsigned[..., 0::2] & 15) | (unsigned[..., 1::2] << 4)


def split(packed: np.ndarray) -> np.ndarray:
    """The unsigned codes of bytes."""
    codes = np.empty((*packed.shape[:-1], packed.shape[-1] * 2), np.uint8)
    codes[..., 0::2], codes[..., 1::2] = packed & 15, packed >> 4
    return codes


def signed(packed: np.ndarray) -> np.ndarray:
    codes = np.empty((*packed.shape[:-1], packed.shape[-1] * 2), np.int8)
    codes[..., 0::2], codes[..., 1::2] = (packed << 4).view(np.int8) >> 4, packed.view(np.int8) >> 4
    return codes


def numpy_peer(data: Data) -> Found:
    """The expression a person writes."""
    x, shape, f32 = data.x, data.shape, np.float32

    def int8() -> tuple[np.ndarray, Any]:
        scale = np.abs(x).max() / f32(127)
        return np.clip(np.rint(x / scale), -127, 127).astype(np.int8), scale

    def blocks(size: int, top: int) -> tuple[np.ndarray, np.ndarray]:
        b = x.reshape(-1, size)
        scale = (np.abs(b).max(1, keepdims=True) / f32(top)).astype(np.float16)
        wide = scale.astype(f32)
        return np.clip(np.rint(b / np.where(wide == 0, f32(1), wide)), -top, top).astype(np.int8), scale

    codes, scale = int8()
    yield "q.int8_tensor", "numpy", int8
    yield "d.int8_tensor", "numpy", lambda: codes.astype(f32) * scale
    c8, s8 = blocks(32, 127)
    yield "q.q8_0", "numpy", lambda: blocks(32, 127)
    yield "d.q8_0", "numpy", lambda: (c8.astype(f32) * s8.astype(f32)).reshape(shape)
    yield "fresh d.q8_0", "numpy", lambda: (c8.astype(f32) * s8.astype(f32)).reshape(shape)

    def q4() -> tuple[np.ndarray, np.ndarray]:
        found, scales = blocks(32, 7)
        return join(found), scales

    p4, s4 = q4()
    yield "q.q4_0", "numpy", q4
    yield "d.q4_0", "numpy", lambda: (signed(p4).astype(f32) * s4.astype(f32)).reshape(shape)

    def int2() -> tuple[np.ndarray, np.ndarray]:
        found, scales = blocks(32, 1)
        v = found.view(np.uint8) & 3
        return v[:, 0::4] | (v[:, 1::4] << 2) | (v[:, 2::4] << 4) | (v[:, 3::4] << 6), scales

    p2, s2 = int2()

    def from_int2() -> np.ndarray:
        y = np.empty((data.n // 32, 32), np.int8)
        for lane in range(4):
            y[:, lane::4] = (p2 << (6 - 2 * lane)).view(np.int8) >> 6
        return y.astype(f32) * s2.astype(f32)

    yield "q.int2", "numpy", int2
    yield "d.int2", "numpy", from_int2
    nf4 = qcore.Codebook.nf4().table
    middles = (nf4[1:] + nf4[:-1]) / 2

    def to_nf4() -> tuple[np.ndarray, np.ndarray]:
        b = x.reshape(-1, 64)
        scales = np.abs(b).max(1, keepdims=True)
        return join(np.searchsorted(middles, b / scales).astype(np.uint8)), scales

    pn, sn = to_nf4()
    yield "q.nf4", "numpy", to_nf4
    yield "d.nf4", "numpy", lambda: nf4[split(pn)] * sn
    e2m1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(f32)

    def to_e2m1(v: np.ndarray) -> np.ndarray:
        return join((np.searchsorted(E2M1_STEPS, np.abs(v)) | (np.signbit(v) << 3)).astype(np.uint8))

    def mxfp4() -> tuple[np.ndarray, np.ndarray]:
        b = x.reshape(-1, 32)
        power = np.clip(np.frexp(np.abs(b).max(1, keepdims=True))[1] - 3, -127, 127)
        return to_e2m1(np.ldexp(b, -power)), (power + 127).astype(np.uint8)

    pm, em = mxfp4()
    yield "q.mxfp4", "numpy", mxfp4
    yield "d.mxfp4", "numpy", lambda: np.ldexp(e2m1[split(pm)], em.astype(np.int32) - 127)

    def nvfp4() -> tuple[np.ndarray, np.ndarray, Any]:
        whole = np.abs(x).max() / f32(448 * 6)
        b = x.reshape(-1, 16)
        scales = (np.abs(b).max(1, keepdims=True) / f32(6) / whole).astype(ml_dtypes.float8_e4m3fn)
        wide = scales.astype(f32) * whole
        return to_e2m1(b / np.where(wide == 0, f32(1), wide)), scales, whole

    pv, sv, gv = nvfp4()
    yield "q.nvfp4", "numpy", nvfp4
    yield "d.nvfp4", "numpy", lambda: e2m1[split(pv)] * (sv.astype(f32) * gv)
    p_codes = join(data.codes4)
    yield "q.pack4", "numpy", lambda: join(data.codes4)
    yield "d.pack4", "numpy", lambda: signed(p_codes)
    for name, dtype in (("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)):
        cast = x.astype(dtype)
        yield f"q.{name}_cast", "numpy ml_dtypes", lambda dtype=dtype: x.astype(dtype)
        yield f"d.{name}_cast", "numpy ml_dtypes", lambda cast=cast: cast.astype(f32)

    def mxfp8() -> tuple[np.ndarray, np.ndarray]:
        b = x.reshape(-1, 32)
        power = np.clip(np.frexp(np.abs(b).max(1, keepdims=True))[1] - 9, -127, 127)
        return np.ldexp(b, -power).astype(ml_dtypes.float8_e4m3fn), (power + 127).astype(np.uint8)

    q8, e8 = mxfp8()
    yield "q.e4m3_b32", "numpy ml_dtypes", mxfp8
    yield "d.e4m3_b32", "numpy ml_dtypes", lambda: np.ldexp(q8.astype(f32), e8.astype(np.int32) - 127)
