import json
import os
import subprocess
import sys

import numpy as np
import pytest

import qcore
from qcore.cli.app import main

X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the program in this process, in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def document(run):
    """Run a command with --json that must succeed with a code, and return its document."""

    def call(*words, code=0):
        got, out, err = run(*words, "--json")
        assert got == code, err
        return json.loads(out)

    return call


@pytest.fixture
def program():
    """Start the program as a process of its own."""

    def call(*words, **options):
        command = [sys.executable, "-m", "qcore", *map(str, words)]
        settings = {"capture_output": True, "text": True, "timeout": 120, "check": False, **options}
        settings["env"] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **options.get("env", {})}
        return subprocess.run(command, **settings)

    return call


@pytest.fixture
def model(tmp_path):
    """A small model: two weights, a bias, integers."""
    path = tmp_path / "m.safetensors"
    tensors = {"enc.weight": X, "enc.bias": X[0], "half": X.astype(np.float16), "ids": np.arange(9)}
    qcore.save(path, tensors, {"format": "pt"})
    return path


@pytest.fixture
def small(tmp_path):
    """The same model, quantized."""
    path = tmp_path / "q.safetensors"
    qcore.save(
        path, {"w": qcore.quantize(X, "nvfp4"), "l": qcore.quantize(X, "nf4"), "b": X[0]}, provenance=True
    )
    return path
