"""Files written here are read by the published burn-pack, and what it writes is read here; `make interop` runs it."""

import os
import shutil
import subprocess
from pathlib import Path

import bpk
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
    *("q8f/u32", "q8s/native/t:bf16", "q4s/u32/b32:f16", "q4f/u32:1/b2x16:f32", "q2f/native"),
    *("nvfp4", "mxfp4", "fp8"),
)


@pytest.fixture(scope="session")
def burn():
    """Burn's reader and writer: the lines it prints, or its complaint."""
    folder = source.ROOT / "tests" / "interop" / "burnpack"
    target = Path(os.environ.get("CARGO_TARGET_DIR", source.ROOT / "build" / "interop"))
    command = ["cargo", "build", "--quiet", "--locked", "--target-dir", target]
    subprocess.run(command, cwd=folder, check=True, timeout=1800)

    def call(path, out):
        words = [target / "debug" / "burnpack-interop", path, out]
        result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        return result.stdout.splitlines() if result.returncode == 0 else result.stderr

    return call


def test_burn_reads_every_store_and_writes_the_same_bytes(burn, tmp_path):
    tensors = {f"q{number}": qcore.quantize(X, scheme) for number, scheme in enumerate(SCHEMES)}
    tensors |= {"u": np.arange(3, dtype=np.uint16), "m": X > 0, "x": X, "none": X[:0]}
    qcore.save(tmp_path / "ours.bpk", tensors)
    lines = burn(tmp_path / "ours.bpk", tmp_path / "theirs.bpk")
    found = dict(line.split("|", 1) for line in lines)
    for name, tensor in tensors.items():
        if isinstance(tensor, qcore.QTensor):
            assert found[name] == f"QFloat({tensor.scheme.debug()})|[64, 96]|None|{tensor.nbytes}"
    assert found["m"] == "Bool(Native)|[64, 96]|None|6144"
    with qcore.open(tmp_path / "theirs.bpk") as f:
        for name, tensor in tensors.items():
            got = f.tensor(name)
            assert got == tensor if isinstance(tensor, qcore.QTensor) else (got == tensor).all()


def test_burn_reads_files_with_our_texts(burn, tmp_path):
    qcore.save(tmp_path / "ours.bpk", {"l": qcore.quantize(X, "nf4"), "x": X}, {"k": "v"}, provenance=True)
    lines = burn(tmp_path / "ours.bpk", tmp_path / "theirs.bpk")
    assert [line.split("|")[0] for line in lines] == ["l", "l.lookup_table", "x"]


def test_burn_reads_identities_and_scalars_that_went_through_another_format(burn, tmp_path):
    about = bpk.tensor("F32", (4,), 0, 16, param_id=2**64 - 1)
    scalars = {"epoch": {"Int": -3}, "seed": {"UInt": 2**64 - 1}, "rate": {"Float": 0.1}, "done": {"Bool": True}}
    (tmp_path / "a.bpk").write_bytes(bpk.file({"tensors": {"b": about}, "scalars": scalars}, bytes(16)))
    with qcore.open(tmp_path / "a.bpk") as f:
        qcore.save(tmp_path / "b.safetensors", f)
    with qcore.open(tmp_path / "b.safetensors") as f:
        qcore.save(tmp_path / "c.bpk", f, layout="keep")
    for name in ("a.bpk", "c.bpk"):
        assert burn(tmp_path / name, tmp_path / "x.bpk") == ["b|F32|[4]|Some(18446744073709551615)|16"]


def test_burn_misreads_or_refuses_what_upgrade_is_for(burn, tmp_path):
    q = qcore.quantize(X, "q4s/u32/b32:f16")
    qcore.save(tmp_path / "0.21.bpk", {"q": q}, burn="0.21")
    (line,) = burn(tmp_path / "0.21.bpk", tmp_path / "x.bpk")
    assert "tensor: None, block: None" in line, "it takes block scales for one F32 scale, without a word"
    qcore.save(tmp_path / "0.20.bpk", {"m": X > 0}, burn="0.20")
    assert "Native" in burn(tmp_path / "0.20.bpk", tmp_path / "x.bpk"), "it refuses a bare Bool"
    for burn_version in ("0.21", "0.20"):
        path = tmp_path / f"{burn_version}.bpk"
        with qcore.open(path) as f:
            qcore.save(path, f, overwrite=True)
        (line,) = burn(path, tmp_path / "x.bpk")
    with qcore.open(tmp_path / "0.21.bpk") as f:
        assert f.tensor("q") == q
