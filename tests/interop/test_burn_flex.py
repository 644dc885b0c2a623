"""Burn's default backend decodes our files to our bits wherever `check` says that it loads them, and only there."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import source

import qcore

pytestmark = [
    pytest.mark.reliability,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="Burn is built with cargo"),
    pytest.mark.skipif(not os.environ.get("QCORE_INTEROP"), reason="it takes minutes; QCORE_INTEROP=1 runs it"),
]

X = np.random.default_rng(0).standard_normal((64, 96), dtype=np.float32)
SCHEMES = (
    *("q8f/u32", "q8s/u32/t:f32", "q8s/native/b32:bf16", "q8s/native/b32:f16", "q8s/native/b4x8:f32"),
    *("q4s/u32/b32:f16", "q4f/u32/b32:f32", "q4s/native/b16:f16", "q2s/u32/b32:f32", "q2f/native"),
    *("q8s/native/b32:f16/t:f32", "q4s/u32/b16:ue4m3/t:f32", "burn-int8", "burn-int4"),
    # what it panics at, or takes for something else without a word
    *("q4f/u32:1/b2x16:f32", "nvfp4", "fp8", "fp8-e5m2", "mxfp8", "nf4"),
)


def test_burn_decodes_to_our_bits_exactly_what_check_says_it_loads(tmp_path):
    folder = source.ROOT / "tests" / "interop" / "flex"
    target = Path(os.environ.get("CARGO_TARGET_DIR", source.ROOT / "build" / "interop"))
    build = ["cargo", "build", "--quiet", "--locked", "--target-dir", target]
    subprocess.run(build, cwd=folder, check=True, timeout=3000)
    tensors = {f"q{number:02d}": qcore.quantize(X, scheme) for number, scheme in enumerate(SCHEMES)}
    qcore.save(tmp_path / "x.bpk", tensors)
    words = [target / "debug" / "flex-interop", tmp_path / "x.bpk", tmp_path]
    result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found = dict(line.split("|") for line in result.stdout.splitlines())
    for name, tensor in tensors.items():
        equal = False
        if found[name] != "panics":
            floats = np.fromfile(tmp_path / f"{found[name]}.f32", "<f4")
            equal = floats.tobytes() == tensor.dequantize().tobytes()
        given = tensor.codebook is not None
        verdict = qcore.check(tensor.scheme, tensor.shape, op="load", on="burn-flex", codebook=given)
        assert equal is bool(verdict), (str(tensor.scheme), found[name], verdict.refusals)
