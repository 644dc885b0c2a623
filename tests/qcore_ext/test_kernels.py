"""Kernels over whole arrays: levels agree, every lane sees a NaN, nothing is touched beyond an array's end."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from kernels import LEVELS, decode, encode, geometry, guarded, kernel, minmax, plan_of

import qcore_ext
from qcore.backends.cpu import numbers
from qcore.backends.cpu.geometry import finer, pack

NF4_LIKE = np.linspace(-1, 1, 16, dtype=np.float32) ** 3
TEXTS = (
    "q8s/native/b32:f16",
    "q8f/native/t:f32",
    "q4s/u32/b32:f16",
    "q4f/u32/b7:bf16",
    "q2s/u32/b16:ue4m3",
    "q4f/u32:1/b2x5:f32",
    "q2f/u32/b3x64:ue8m0",
    "e4m3/native/b32:ue8m0",
    "e5m2/u32/b1:f16",
    "e2m1/packed/b16:ue4m3",
    "e2m1/packed:1/b32:f32",
    "q4f/u32/lookup/b64:f32",
)


def table_of(text: str) -> np.ndarray | None:
    return NF4_LIKE if "lookup" in text else None


def weights(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape))).astype(np.float32)
    x[rng.random(shape) < 0.05] = 0
    return x


@pytest.mark.parametrize("text", TEXTS)
def test_levels_agree_to_the_bit(text: str) -> None:
    for shape in ((5, 1200), (33, 67), (1, 9000), (6000, 1)):
        x = weights(shape)
        plan = plan_of(text, shape, table_of(text))
        scales = np.ones(plan.grid, numbers.of_plan(plan).scale_dtype)
        found = []
        for level in LEVELS:
            values = encode(level, x, plan, scales)
            out = decode(level, values, plan, scales, np.empty(shape, np.float32))
            bits = [values.tobytes(), out.tobytes()]
            if geometry(x, plan).fused:
                bits += [part.tobytes() for part in minmax(level, x, plan) or ()]
            found.append(bits)
        assert all(bits == found[0] for bits in found[1:])


@pytest.mark.parametrize("special", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("level", LEVELS)
def test_every_lane_sees_a_non_finite_element(level: str, special: float) -> None:
    plan = plan_of("q8s/native/b32:f16", (71,))
    for at in range(71):
        x = np.ones(71, np.float32)
        x[at] = special
        assert minmax(level, x, plan) is None
        g = geometry(x, plan)
        assert kernel(level, "measure").nonfinite(x, g.packed, 0, g.block_tasks) == (1, at)
        peaks = np.empty(g.blocks, np.float32)
        kernel(level, "measure").peaks(x, peaks, False, g.packed, 0, g.block_tasks)
        assert np.flatnonzero(~np.isfinite(peaks)).tolist() == [at // 32]
        kernel(level, "measure").peaks(x, peaks, True, g.packed, 0, g.block_tasks)
        assert peaks.tolist() == [1, 1, 1]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_touched_beyond_the_end_of_an_array(level: str, text: str) -> None:
    for columns in [*range(1, 70), 127, 128, 129, 255, 256, 300]:
        shape = (3, columns)
        x = guarded(shape, np.float32)
        x[...] = weights(shape, columns)
        plan = plan_of(text, shape, table_of(text))
        n = numbers.of_plan(plan)
        values = guarded(plan.storage_shape, n.values_dtype)
        scales = guarded(plan.grid, n.scale_dtype)
        scales[...] = 1
        encode(level, x, plan, scales, values)
        decode(level, values, plan, scales, guarded(shape, np.float32))
        g = geometry(x, plan)
        if g.fused:
            assert minmax(level, x, plan, scales, values)
        fine = pack(finer(g.axes), 0)
        kernel(level, "measure").peaks(
            x, guarded((fine.blocks,), np.float32), True, fine.packed, 0, fine.block_tasks
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
@pytest.mark.parametrize("level", LEVELS)
def test_other_dtypes_are_read_to_their_end_and_no_further(level: str, dtype: type) -> None:
    plan_text = "q4s/u32/b32:f16"
    for columns in range(1, 100, 7):
        x = guarded((2, columns), dtype)
        x[...] = np.round(weights((2, columns), columns))
        plan = plan_of(plan_text, x.shape)
        scales = np.ones(plan.grid, np.float16)
        wide = encode(level, x.astype(np.float32), plan, scales)
        np.testing.assert_array_equal(encode(level, x, plan, scales), wide)
        out = decode(level, wide, plan, scales, guarded((2, columns), dtype))
        np.testing.assert_array_equal(out, decode(level, wide, plan, scales, np.empty((2, columns), dtype)))


@pytest.mark.parametrize("level", LEVELS)
def test_any_division_into_tasks_gives_the_same_bits(level: str) -> None:
    x = weights((7, 150_000))
    plan = plan_of("q4s/u32/b32:f16", x.shape)
    n, g = numbers.of_plan(plan), geometry(x, plan)
    whole = minmax(level, x, plan)
    assert whole is not None
    assert g.block_tasks > 3
    values, scales = np.empty_like(whole[0]), np.empty_like(whole[1])
    for task in reversed(range(g.block_tasks)):
        assert kernel(level, "quantize").minmax(x, scales, values, g.packed, n.codec, n.scale, task, task + 1)
    assert values.tobytes() == whole[0].tobytes()
    assert scales.tobytes() == whole[1].tobytes()


def test_padding_bits_are_zero_whatever_was_there() -> None:
    for text, columns in (("q4s/u32/b32:f16", 9), ("q2s/u32/t:f32", 17), ("e2m1/packed/t:f32", 5)):
        x = np.full((3, columns), -1, np.float32)
        plan = plan_of(text, x.shape)
        values = np.full(plan.storage_shape, 255, numbers.of_plan(plan).values_dtype)
        encode(LEVELS[0], x, plan, np.ones(plan.grid, numbers.of_plan(plan).scale_dtype), values)
        bits = np.unpackbits(values.view(np.uint8).reshape(3, -1), axis=1, bitorder="little")
        used = columns * plan.codec.bits
        assert not bits[:, used:].any()
        assert bits[:, :used].any()


def test_a_smaller_output_than_claimed_is_refused() -> None:
    x = weights((4, 64))
    plan = plan_of("q8s/native/b32:f16", x.shape)
    with pytest.raises(AssertionError):
        encode(LEVELS[0], x, plan, np.ones(plan.grid, np.float16), np.empty((4, 63), np.int8))


def test_the_level_in_use_is_the_one_asked_for() -> None:
    script = "import qcore_ext; print(qcore_ext.level())"
    for level in LEVELS:
        done = subprocess.run(
            [sys.executable, "-P", "-c", script],
            env={**os.environ, "QCORE_CPU_LEVEL": level},
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == level, done.stderr


def test_an_unknown_level_is_an_import_error_that_names_the_choices() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import qcore_ext"],
        env={**os.environ, "QCORE_CPU_LEVEL": "v9"},
        capture_output=True,
        text=True,
    )
    assert done.returncode
    assert "ImportError" in done.stderr
    assert qcore_ext.level() in done.stderr


def test_kernels_leave_the_rounding_mode_and_subnormals_alone() -> None:
    # Subnormals flushed to zero would show in a product NumPy forms afterwards.
    x = weights((64,))
    minmax(LEVELS[0], x, plan_of("q8s/native/b32:f16", x.shape))
    assert float(np.float32(1e-40) * np.float32(1)) > 0
