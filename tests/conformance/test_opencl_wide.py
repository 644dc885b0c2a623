"""OpenCL against the processor over fifty million elements: every size around a vector, specials, both roundings."""

import numpy as np
import pytest

import qcore
from qcore.backends import loader
from qcore.backends.opencl import open_engine
from qcore.plan import make_plan

SIZES = (1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, 1_000_003)
SCHEMES = (
    "q8f/native/t:f32",
    "q8s/u32/b32:f16",
    "q8s/native/b7:ue8m0",
    "q4s/u32/b32:f16",
    "q4f/u32/b16:bf16",
    "q2f/u32/t:f16",
    "q2s/u32/b24:f32",
    "e4m3/native/b32:ue8m0",
    "e4m3/u32/t:f32",
    "e5m2/u32/b8:bf16",
    "e2m1/packed/b16:ue4m3/t:f32",
    "e2m1/packed/b32:ue8m0",
    "e2m1/u32/b5:f32",
    "q4f/u32/lookup/b64:f32",
    "q8f/native/lookup/b32:f16",
)
WANTED = 50_000_000


def weights(n: int, seed: int) -> np.ndarray:
    """Magnitudes from subnormal to large, ties, zeros of both signs and zero blocks."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=n) * np.exp2(rng.integers(-30, 30, n))).astype(np.float32)
    x[1::5] = np.round(x[1::5] * 2) / 2
    x[2::11] = -0.0
    x[:: max(n // 40, 1)] = np.float32(1e-42)
    x[n // 3 : n // 3 + 100] = 0
    return x


def codebook(text: str) -> qcore.Codebook | None:
    if "lookup" not in text:
        return None
    size = 256 if text.startswith("q8") else 16
    return qcore.Codebook(np.random.default_rng(size).normal(size=size).astype(np.float32))


def differing(engine: object, x: np.ndarray, plan: object) -> int:
    """Bytes of values, scales and floats in which an engine and the processor's differ."""
    host = loader.engine("cpu")
    found, wanted = engine.stage(x, plan, None).quantize_minmax(), host.stage(x, plan, None).quantize_minmax()
    floats = [np.empty(x.shape, np.float32) for _ in range(2)]
    engine.decode(*wanted, plan, floats[0], None)
    host.decode(*wanted, plan, floats[1], None)
    pairs = [(found.values, wanted.values), (found.scales, wanted.scales), floats]
    assert found.global_scale == wanted.global_scale
    return sum(int(np.count_nonzero(a.view(np.uint8) != b.view(np.uint8))) for a, b in pairs)


@pytest.mark.parametrize("text", SCHEMES)
@pytest.mark.parametrize("n", [1, 8, 33, 257, 4097])
def test_every_size_around_a_vector_gives_the_same_bytes(text: str, n: int) -> None:
    engine = loader.engine("opencl")
    plan = make_plan(qcore.QuantScheme.parse(text), (n,), codebook=codebook(text))
    assert differing(engine, weights(n, n), plan) == 0


@pytest.mark.reliability
def test_fifty_million_elements_have_no_differing_bit() -> None:
    engine, seen = loader.engine("opencl"), 0
    while seen < WANTED:
        for text in SCHEMES:
            scheme, book = qcore.QuantScheme.parse(text), codebook(text)
            for rounding in ("half-away", "half-even"):
                for n in SIZES:
                    plan = make_plan(scheme, (n,), codebook=book, rounding=rounding)
                    assert differing(engine, weights(n, seen + n), plan) == 0, (text, n, rounding)
                    seen += n
    assert seen >= WANTED


@pytest.mark.reliability
@pytest.mark.parametrize("text", SCHEMES)
def test_the_form_a_gpu_runs_has_no_differing_bit(text: str) -> None:
    engine = open_engine(lanes=8, run=512, corrected=True)
    engine.session.shares_memory = False
    for n in SIZES:
        plan = make_plan(qcore.QuantScheme.parse(text), (n,), codebook=codebook(text))
        assert differing(engine, weights(n, n), plan) == 0, n
