"""A file larger than the memory that converting it may take goes through in pieces, from and to every format."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import source

import qcore

pytestmark = [
    pytest.mark.reliability,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and files with holes"),
]

CHILD = """
import sys, qcore
from pathlib import Path
with qcore.open(sys.argv[1]) as f:
    qcore.save(sys.argv[2], f, layout="keep", provenance=True)
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
"""


def _sparse(path, tensors):
    """A safetensors file whose data are holes, but for the last elements of each tensor."""
    head, at = {}, 0
    for name, shape in tensors.items():
        nbytes = 4 * int(np.prod(shape))
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + nbytes]}
        at += nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at)
        for about in head.values():
            file.seek(8 + len(text) + about["data_offsets"][1] - 4)
            file.write(np.float32(7).tobytes())


def _peak(source_path, target):
    env = {**os.environ, "PYTHONPATH": str(source.ROOT), "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", CHILD, source_path, target]
    result = subprocess.run(words, capture_output=True, text=True, env=env, timeout=600, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return int(result.stdout) / 1024


def test_a_file_of_six_gigabytes_is_converted_within_half_a_gigabyte(tmp_path):
    _sparse(tmp_path / "x.safetensors", {"big.weight": [1 << 15, 1 << 15], "small.weight": [1 << 14, 1 << 15]})
    assert _peak(tmp_path / "x.safetensors", tmp_path / "y.bpk") <= 512
    with qcore.open(tmp_path / "y.bpk") as f:
        offset = f.position("big.weight")
        if offset is not None:
            assert f.source.read(offset + (4 << 30) - 4, 4) == np.float32(7).tobytes()
        assert f.info("big.weight").nbytes == 4 << 30


def test_every_format_gives_and_takes_in_pieces(tmp_path):
    """Once around: each step reads what the step before wrote."""
    _sparse(tmp_path / "0.safetensors", {"a.weight": [1 << 14, 1 << 14]})
    path = tmp_path / "0.safetensors"
    for number, suffix in enumerate(("npz", "gguf", "bpk", "safetensors"), 1):
        target = tmp_path / f"{number}.{suffix}"
        assert _peak(path, target) <= 512, (path.suffix, suffix)
        path.unlink()
        path = target
    with qcore.open(path) as f:
        last = f.source.read(f.position("a.weight") + (1 << 30) - 8, 8)
        assert np.frombuffer(last, np.float32).tolist() == [0, 7]
