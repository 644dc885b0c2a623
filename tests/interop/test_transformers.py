"""Checkpoints written here are loaded by transformers and compressed-tensors with the weights we decode.

``QCORE_TRANSFORMERS_PYTHON`` names an interpreter that has torch, transformers and compressed-tensors: they are no
packages of this project.
"""

import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

import qcore
from qcore.cli.app import main

PYTHON = os.environ.get("QCORE_TRANSFORMERS_PYTHON", "")
pytestmark = [
    pytest.mark.reliability,
    pytest.mark.skipif(not PYTHON, reason="QCORE_TRANSFORMERS_PYTHON names no interpreter"),
]

MAKE = """
import sys, torch
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
sizes = dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
LlamaForCausalLM(LlamaConfig(vocab_size=320, max_position_embeddings=64, **sizes)).save_pretrained(sys.argv[1])
"""
LOAD = """
import sys, numpy, torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=getattr(torch, sys.argv[3]))
model(torch.arange(12)[None])
weights = {n: t.float().numpy() for n, t in model.state_dict().items() if n.endswith("proj.weight")}
numpy.savez(sys.argv[2], **weights)
"""


def _run(program, *words):
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [PYTHON, "-c", program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "llama"
    _run(MAKE, path)
    return path


@pytest.mark.parametrize(
    ("scheme", "dtype"),
    [
        *((scheme, "float32") for scheme in ("int4-b32", "int8", "int8-b32", "int8-channel", "fp8", "fp8-channel")),
        *((scheme, "bfloat16") for scheme in ("nvfp4", "mxfp4", "mxfp8")),
    ],
)
def test_transformers_loads_the_weights_that_we_decode(model, tmp_path, scheme, dtype):
    out = tmp_path / scheme
    kept = ("*lm_head*", "*embed*", "*norm*")
    words = [word for glob in kept for word in ("--exclude", glob)]
    assert main(["quantize", str(model), "-o", str(out), "-s", scheme, "-q", *words]) == 0
    _run(LOAD, out, tmp_path / "theirs.npz", dtype)
    theirs = np.load(tmp_path / "theirs.npz")
    with qcore.open(out) as f:
        quantized = [name for name in f.names() if f.info(name).scheme is not None]
        assert set(quantized) == set(theirs.files)
        for name in quantized:
            ours = f.tensor(name).dequantize()
            if dtype == "bfloat16":
                ours = ours.astype(ml_dtypes.bfloat16).astype(np.float32)
            assert np.array_equal(ours, theirs[name]), name
