"""torch and what builds on it, as peers: eager expressions, the same compiled, torchao, bitsandbytes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

import qcore

if TYPE_CHECKING:
    from operations import Data
    from peers import Found

Tensor = torch.Tensor
F32 = torch.float32
STEPS = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
NF4 = torch.tensor(qcore.Codebook.nf4().table)
MIDDLES = (NF4[1:] + NF4[:-1]) / 2


def int8_tensor(x: Tensor) -> tuple[Tensor, ...]:
    scale = x.abs().amax() / 127
    return torch.clamp(torch.round(x / scale), -127, 127).to(torch.int8), scale


def from_int8(q: Tensor, scale: Tensor) -> Tensor:
    return q.to(F32) * scale


def blocks(x: Tensor, size: int, top: int) -> tuple[Tensor, Tensor]:
    b = x.reshape(-1, size)
    scale = (b.abs().amax(1, keepdim=True) / top).to(torch.float16)
    wide = scale.to(F32)
    wide = torch.where(wide == 0, torch.ones_like(wide), wide)
    return torch.clamp(torch.round(b / wide), -top, top).to(torch.int8), scale


def from_blocks(q: Tensor, scale: Tensor) -> Tensor:
    return q.to(F32) * scale.to(F32)


def join(q: Tensor) -> Tensor:
    q = q.view(torch.uint8)
    return (q[:, 0::2] & 15) | (q[:, 1::2] << 4)


def signed(p: Tensor) -> Tensor:
    return torch.stack([(p << 4).view(torch.int8) >> 4, p.view(torch.int8) >> 4], -1).reshape(p.shape[0], -1)


def fields(p: Tensor) -> Tensor:
    return torch.stack([p & 15, p >> 4], -1).reshape(p.shape[0], -1).to(torch.int32)


def q4(x: Tensor) -> tuple[Tensor, ...]:
    q, scale = blocks(x, 32, 7)
    return join(q), scale


def from_q4(p: Tensor, scale: Tensor) -> Tensor:
    return signed(p).to(F32) * scale.to(F32)


def int2(x: Tensor) -> tuple[Tensor, ...]:
    q, scale = blocks(x, 32, 1)
    v = q.view(torch.uint8) & 3
    return v[:, 0::4] | (v[:, 1::4] << 2) | (v[:, 2::4] << 4) | (v[:, 3::4] << 6), scale


def from_int2(p: Tensor, scale: Tensor) -> Tensor:
    lanes = [(p << (6 - 2 * lane)).view(torch.int8) >> 6 for lane in range(4)]
    return torch.stack(lanes, -1).reshape(p.shape[0], -1).to(F32) * scale.to(F32)


def e4m3(x: Tensor) -> tuple[Tensor, ...]:
    return (x.clamp(-448, 448).to(torch.float8_e4m3fn),)


def e5m2(x: Tensor) -> tuple[Tensor, ...]:
    return (x.clamp(-57344, 57344).to(torch.float8_e5m2),)


def widened(q: Tensor) -> Tensor:
    return q.to(F32)


def powers(b: Tensor, emax: int) -> Tensor:
    return torch.clamp((b.abs().amax(1, keepdim=True).view(torch.int32) >> 23) - emax, 1, 254)


def mxfp8(x: Tensor) -> tuple[Tensor, ...]:
    b = x.reshape(-1, 32)
    e = powers(b, 8)
    return (b * ((254 - e) << 23).view(F32)).clamp(-448, 448).to(torch.float8_e4m3fn), e.to(torch.uint8)


def from_mxfp8(q: Tensor, e: Tensor) -> Tensor:
    return q.to(F32) * (e.to(torch.int32) << 23).view(F32)


def to_e2m1(v: Tensor) -> Tensor:
    return join(
        torch.bucketize(v.abs(), STEPS, out_int32=True).to(torch.uint8) | ((v < 0).to(torch.uint8) << 3)
    )


def mxfp4(x: Tensor) -> tuple[Tensor, ...]:
    b = x.reshape(-1, 32)
    e = powers(b, 2)
    return to_e2m1(b * ((254 - e) << 23).view(F32)), e.to(torch.uint8)


def from_mxfp4(p: Tensor, e: Tensor) -> Tensor:
    return E2M1[fields(p)] * (e.to(torch.int32) << 23).view(F32)


def nvfp4(x: Tensor) -> tuple[Tensor, ...]:
    whole = x.abs().amax() / (448 * 6)
    b = x.reshape(-1, 16)
    scale = (b.abs().amax(1, keepdim=True) / 6 / whole).clamp(max=448).to(torch.float8_e4m3fn)
    wide = scale.to(F32) * whole
    return to_e2m1(b / torch.where(wide == 0, torch.ones_like(wide), wide)), scale, whole


def from_nvfp4(p: Tensor, scale: Tensor, whole: Tensor) -> Tensor:
    return E2M1[fields(p)] * (scale.to(F32) * whole)


def nf4(x: Tensor) -> tuple[Tensor, ...]:
    b = x.reshape(-1, 64)
    scale = b.abs().amax(1, keepdim=True)
    return join(torch.bucketize(b / scale, MIDDLES, out_int32=True).to(torch.uint8)), scale


def from_nf4(p: Tensor, scale: Tensor) -> Tensor:
    return NF4[fields(p)] * scale


PAIRS: tuple[tuple[str, Callable[..., Any], Callable[..., Any]], ...] = (
    ("int8_tensor", int8_tensor, from_int8), ("q8_0", lambda x: blocks(x, 32, 127), from_blocks),
    ("q4_0", q4, from_q4), ("int2", int2, from_int2), ("e4m3_cast", e4m3, widened), ("e5m2_cast", e5m2, widened),
    ("e4m3_b32", mxfp8, from_mxfp8), ("mxfp4", mxfp4, from_mxfp4), ("nvfp4", nvfp4, from_nvfp4), ("nf4", nf4, from_nf4),
    ("pack4", lambda c: (join(c),), signed),
)  # fmt: skip


@lru_cache(maxsize=32)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False)


def _pairs(data: Data, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[Any]:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(data.threads)
    torch.set_grad_enabled(False)
    for op, forward, back in PAIRS:
        x = torch.from_numpy(data.codes4 if op == "pack4" else data.x)
        parts = forward(x)
        yield f"q.{op}", name, lambda f=forward, x=x: made(f)(x)
        yield f"d.{op}", name, lambda b=back, p=parts: made(b)(*p)
        if op == "q8_0":
            yield "fresh d.q8_0", name, lambda b=back, p=parts: made(b)(*p)


def torch_peer(data: Data) -> Found:
    """Eager torch."""
    yield from _pairs(data, "torch", lambda function: function)


def compiled_peer(data: Data) -> Found:
    """The same functions under torch.compile; each compiles when it is first called."""
    yield from _pairs(data, "torch.compile", _compiled)


def torchao_peer(data: Data) -> Found:
    """torchao's affine primitives and its microscaling tensors."""
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.quantization import MappingType, choose_qparams_affine, dequantize_affine, quantize_affine

    x = torch.from_numpy(data.x)
    for op, size in (("int8_tensor", data.shape), ("q8_0", (1, 32))):

        def affine(size: Any = size) -> tuple[Tensor, Tensor, Tensor]:
            s, z = choose_qparams_affine(x, MappingType.SYMMETRIC, size, torch.int8, scale_dtype=F32)
            return quantize_affine(x, size, s, z, torch.int8), s, z

        q, s, z = affine()
        yield f"q.{op}", "torchao", affine
        yield (
            f"d.{op}",
            "torchao",
            lambda q=q, s=s, z=z, size=size: dequantize_affine(q, size, s, z, torch.int8),
        )
    for op, dtype in (("e4m3_b32", torch.float8_e4m3fn), ("mxfp4", torch.float4_e2m1fn_x2)):
        held = MXTensor.to_mx(x, dtype, 32)
        yield f"q.{op}", "torchao", lambda dtype=dtype: MXTensor.to_mx(x, dtype, 32)
        yield f"d.{op}", "torchao", lambda held=held: held.dequantize(F32)
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

    def to_nvfp4() -> Any:
        return NVFP4Tensor.to_nvfp4(x, per_tensor_scale=per_tensor_amax_to_scale(x.abs().max()))

    packed = to_nvfp4()
    yield "q.nvfp4", "torchao", to_nvfp4
    yield "d.nvfp4", "torchao", lambda: packed.dequantize(F32)


def bitsandbytes_peer(data: Data) -> Found:
    """The 4-bit NormalFloat functions."""
    import bitsandbytes.functional as functional

    x = torch.from_numpy(data.x)
    packed, state = functional.quantize_4bit(x, blocksize=64, quant_type="nf4")
    yield "q.nf4", "bitsandbytes", lambda: functional.quantize_4bit(x, blocksize=64, quant_type="nf4")
    yield "d.nf4", "bitsandbytes", lambda: functional.dequantize_4bit(packed, state)
