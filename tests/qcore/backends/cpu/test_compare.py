"""Comparing in strips gives what the reference gives, whatever the blocks, the data, the rank and the threads."""

from __future__ import annotations

import numpy as np
import pytest

import qcore
from qcore.backends import cpu, reference
from qcore.backends.protocol import Parts

CPU, REFERENCE = cpu.open_backend(), reference.open_backend()
CASES = [
    ("q8s/native/b32:f16", (64, 1024)), ("q4f/u32/b32:f16", (5, 70)), ("q8s/native/t:f32", (130, 97)),
    ("mxfp4", (16, 256)), ("fp8-e5m2", (9, 200)), ("nvfp4", (31, 160)), ("nf4", (64, 128)),
    ("q8s/native/b16x16:f16", (40, 50)), ("q4s/u32:1/b32x1:f16", (64, 50)), ("q2s/u32/b32:f16", (64, 64)),
    ("q8s/native/b5:f32", (64, 67)), ("q8s/native/b255:f32", (64, 1000)),
]  # fmt: skip
KINDS = {
    "close": lambda x: x,
    "clipped": lambda x: x * np.float32(3),
    "zeros": lambda x: np.zeros_like(x),
    "not all finite": lambda x: np.where(
        np.arange(x.size).reshape(x.shape) % 617 == 3, np.float32(np.nan), x
    ),
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(("scheme", "shape"), CASES)
def test_strips_give_what_the_reference_gives(scheme: str, shape: tuple[int, ...], kind: str) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    q = qcore.quantize(x, scheme)
    parts, plan, y = Parts(q.values, q.scales, q.global_scale), q.plan(), KINDS[kind](x)
    for percent in (99.9, 50.0):
        wanted = REFERENCE.errors(y, parts, plan, percent)
        for given, threads in ((y, 1), (np.asfortranarray(y), 3)):
            for name, ours, theirs in zip(
                wanted._fields, CPU.errors(given, parts, plan, percent, threads), wanted, strict=True
            ):
                np.testing.assert_array_equal(ours, theirs, err_msg=name)


def test_the_largest_distances_are_kept_whatever_their_order() -> None:
    random = np.random.default_rng(1)
    x = random.standard_normal((600, 1024)).astype(np.float32)
    q = qcore.quantize(x, "q4s/u32/b32:f16")
    parts, plan = Parts(q.values, q.scales, q.global_scale), q.plan()
    rising = np.sort(np.abs(random.standard_normal(x.size)).astype(np.float32)).reshape(x.shape)
    for y in (x + rising, x + rising[::-1, ::-1], np.round(x * 2) / 2):
        distances = np.sort(np.abs(y - q.dequantize()).reshape(-1))
        for percent in (99.0, 99.9, 99.999, 100.0):
            rank = int(np.ceil(percent * y.size / 100))
            for threads in (1, 4):
                found = CPU.errors(y, parts, plan, percent, threads)
                assert found.ranked == distances[rank - 1]
                assert found.max_abs == distances[-1]
