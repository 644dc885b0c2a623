"""Random plans and tensors through both engines, every method of theirs: equal bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qcore.backends import loader
from qcore.backends.protocol import ErrorSums, Parts
from qcore.calibration.scale_rounding import encode_scales
from qcore.calibration.solve import global_scale_of, mse_factor, solve
from qcore.plan import Plan, make_plan
from qcore.scheme import Codebook, QuantScheme

DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
LONGEST = {1: 9000, 2: 70, 3: 17, 4: 7}
CASES = 120


def text_of(rng: np.random.Generator, rank: int) -> str:
    value = str(rng.choice(["q8f", "q8s", "q4f", "q4s", "q2f", "q2s", "e4m3", "e5m2", "e2m1"]))
    dim = int(rng.integers(rank))
    stores = ["native", "u32", f"u32:{dim}"] + [f"packed:{dim}"] * (value == "e2m1")
    lookup = "/lookup" if value[0] == "q" and rng.random() < 0.3 else ""
    dtype = str(rng.choice(["f32", "f16", "bf16", "ue8m0", "ue4m3"]))
    level = f"/t:{dtype}"
    if rng.random() < 0.7:
        extents = rng.choice([1, 2, 3, 5, 16, 32, 255], int(rng.integers(1, rank + 1)))
        level = f"/b{'x'.join(map(str, extents))}:{dtype}"
        if dtype in ("f16", "ue4m3") and rng.random() < 0.4:
            level += "/t:f32"
    return f"{value}/{rng.choice(stores)}{lookup}{level}"


def table_of(rng: np.random.Generator, bits: int) -> Codebook:
    """Entries of ordinary spread, or quarters with many equals and exact midpoints."""
    entries = rng.standard_normal(2**bits)
    if rng.random() < 0.5:
        entries = np.round(entries * 4) / 4
        entries[0] = 1
    return Codebook(entries.astype(np.float32))


def tensor_of(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-45, 38)
    if rng.random() < 0.4:  # ties
        x = np.round(8 * x / np.abs(x).max()) / 2
    if rng.random() < 0.4:
        x = x * 10.0 ** rng.integers(-12, 12, shape)
    if rng.random() < 0.4:
        x[rng.random(shape) < 0.5] = -0.0
    if rng.random() < 0.3:
        for special in (np.nan, np.inf, -np.inf):
            x[rng.random(shape) < 0.05] = special
    with np.errstate(over="ignore"):
        x = x.astype(DTYPES[rng.integers(len(DTYPES))])
    return (x, np.asfortranarray(x), x[..., ::-1])[rng.integers(3)]


def case_of(seed: int) -> tuple[np.random.Generator, Plan, np.ndarray]:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    shape = tuple(int(dim) for dim in rng.integers(1, LONGEST[rank], rank))
    scheme = QuantScheme.parse(text_of(rng, rank))
    lookup = "lookup" in str(scheme)
    rules = ["up", "nearest"]
    ue8m0 = scheme.scale_dtype.name == "UE8M0"
    if ue8m0 and scheme.value.is_minifloat:
        rules += ["floor", "even"]
    plan = make_plan(
        scheme,
        shape,
        codebook=table_of(rng, scheme.value.bits) if lookup else None,
        rounding=str(rng.choice(["half-away", "half-even"])),
        scale_rounding=str(rng.choice(rules)),
        zero_substitute=0.1 if not ue8m0 and rng.random() < 0.15 else 0.0,
    )
    return rng, plan, tensor_of(rng, shape)


def assert_equal_bits(ours: Any, wanted: Any, what: str) -> None:
    if not isinstance(wanted, np.ndarray):
        assert ours == wanted, what
        return
    assert (ours.dtype, ours.shape) == (wanted.dtype, wanted.shape), what
    assert ours.tobytes() == wanted.tobytes(), what


@pytest.mark.parametrize("seed", range(CASES))
def test_both_engines_measure_encode_decode_and_compare_alike(seed: int) -> None:
    rng, plan, x = case_of(seed)
    cpu, reference = loader.engine("cpu"), loader.engine("reference")
    ours, wanted = cpu.stage(x, plan, None), reference.stage(x, plan, None)
    percent = float(rng.choice([99.9, 90, 50]))
    assert ours.nonfinite() == wanted.nonfinite()
    assert_equal_bits(ours.peaks(plan.extents), wanted.peaks(plan.extents), "peaks")
    assert_equal_bits(ours.means(plan.extents), wanted.means(plan.extents), "means")
    assert_equal_bits(
        ours.percentiles(plan.extents, percent), wanted.percentiles(plan.extents, percent), "percentiles"
    )
    found, expected = ours.quantize_minmax(), wanted.quantize_minmax()
    assert (found is None) == (expected is None)
    for part, other in zip(found or (), expected or (), strict=True):
        assert_equal_bits(part, other, "min-max")

    peaks = wanted.peaks(plan.extents)
    level = global_scale_of(peaks, plan.scale) if plan.two_level else None
    winners = wanted.search(peaks, level)
    assert_equal_bits(ours.search(peaks, level), winners, "search")
    scales, level = solve(peaks, plan.scale, two_level=plan.two_level, factor=mse_factor(winners))
    stored = encode_scales(scales, plan.scale.dtype)
    values = wanted.encode(stored, level)
    assert_equal_bits(ours.encode(stored, level), values, "encode")
    codes = reference.unpack(values, plan)
    assert_equal_bits(cpu.unpack(values, plan), codes, "unpack")
    assert_equal_bits(cpu.pack(codes, plan), values, "pack")
    for dtype in DTYPES:
        outs = np.empty(plan.shape, dtype), np.empty(plan.shape, dtype)
        for engine, out in zip((cpu, reference), outs, strict=True):
            engine.decode(values, stored, level, plan, out, None)
        assert_equal_bits(*outs, f"decode to {dtype}")
    parts = Parts(values, stored, level)
    sums = (engine.errors(x, parts, plan, percent, None) for engine in (cpu, reference))
    for name, *both in zip(ErrorSums._fields, *sums, strict=True):
        assert_equal_bits(*both, f"errors: {name}")
