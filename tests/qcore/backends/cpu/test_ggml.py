"""The kernel of ggml's arithmetic against the plain NumPy of ggml_blocks, which is held to bytes that ggml wrote."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernels import LEVELS, kernel

import qcore
from qcore.backends import cpu, ggml_blocks
from qcore.backends.cpu import numbers
from qcore.plan import Plan, make_plan
from qcore.tensor import fields

CPU = cpu.open_backend()
PRESETS = ("q8_0", "q4_0")


def plan_of(preset: str, shape: tuple[int, ...]) -> Plan:
    return make_plan(qcore.PRESETS[preset].scheme, shape)


def expected(x: np.ndarray, preset: str) -> tuple[bytes, bytes]:
    codes, scales = ggml_blocks.quantize(x, f"ggml-{preset}")
    return fields.pack_fields(codes, plan_of(preset, x.shape)).tobytes(), scales.tobytes()


def found(x: np.ndarray, preset: str, threads: int = 1) -> tuple[bytes, bytes]:
    parts = CPU.stage(x, plan_of(preset, x.shape), threads).quantize_ggml()
    assert parts is not None
    return parts.values.tobytes(), parts.scales.tobytes()


def hard(count: int) -> np.ndarray:
    """Blocks of every size of number, with ties, equal magnitudes of both signs, zeros and subnormals."""
    random = np.random.default_rng(5)
    x = random.standard_normal((count, 32)).astype(np.float32)
    x *= np.exp2(random.integers(-150, 127, (count, 1))).astype(np.float32)
    x[::7] = np.round(x[::7])
    x[::5, 9] = -x[::5, 3]
    x[::11] = 0
    x[1::11] = -0.0
    x[2::11] = np.float32(1e-45) * random.integers(-200, 200, (len(x[2::11]), 32)).astype(np.float32)
    x[3::11] = random.integers(-254, 255, (len(x[3::11]), 32)).astype(np.float32) / 2
    return np.nan_to_num(x, posinf=3e38, neginf=-3e38)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_gives_the_bytes_of_the_plain_loops(preset: str, level: str) -> None:
    x = hard(4000).reshape(-1)
    plan = plan_of(preset, x.shape)
    g, n = numbers.geometry_of(plan, x), numbers.of_plan(plan)
    scales, values = np.empty(plan.grid, n.scale_dtype), np.empty(plan.storage_shape, n.values_dtype)
    assert kernel(level, "ggml").minmax(x, scales, values, g.packed, 0, g.block_tasks)
    assert (values.tobytes(), scales.tobytes()) == expected(x, preset)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("shape", [(1,), (5,), (10, 5), (4, 8), (33,), (3, 2, 70), (7, 64), (2, 5000), (200, 1056)])
def test_any_shape_and_layout(preset: str, shape: tuple[int, ...]) -> None:
    x = np.resize(hard(200), shape)
    for given in (x, np.asfortranarray(x), x[..., ::-1], x.astype(np.float64)):
        assert found(given, preset) == expected(given, preset)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        narrow = np.clip(x, -6e4, 6e4).astype(dtype)
        assert found(narrow, preset) == expected(narrow, preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_threads_change_nothing(preset: str) -> None:
    x = hard(20_000)
    assert found(x, preset, 3) == found(x, preset, 1) == expected(x, preset)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -np.nan])
def test_what_is_not_finite_is_left_to_the_caller(preset: str, bad: float) -> None:
    x = hard(100)
    x[50, 17] = bad
    assert CPU.stage(x, plan_of(preset, x.shape), 1).quantize_ggml() is None
    with pytest.raises(qcore.errors.NonFiniteError):
        qcore.quantize(x, preset)
    saturated = qcore.quantize(x, preset, nonfinite="saturate")
    assert saturated == qcore.quantize(x, preset, nonfinite="saturate", backend="reference").to("cpu")
