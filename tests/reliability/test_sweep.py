"""Scalar roundings over the whole range of float32; `make sweep32` takes every pattern."""

import subprocess
import sys

import pytest
import source

pytestmark = pytest.mark.reliability


def test_every_64th_float32_and_all_edges_round_as_the_tables_say():
    command = [sys.executable, "tools/sweep32.py", "--stride", "64"]
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=source.ROOT, timeout=1800, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
