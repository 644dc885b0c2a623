"""Scalar roundings over the whole range of float32; `make sweep32` takes every pattern."""

import subprocess
import sys

import pytest
import source

pytestmark = pytest.mark.reliability

SWEEP = [sys.executable, "tools/sweep32.py"]


def _sweeps():
    return subprocess.run(
        [*SWEEP, "--list"], capture_output=True, text=True, cwd=source.ROOT, check=True
    ).stdout.splitlines()


@pytest.mark.parametrize("name", _sweeps())
def test_all_edges_and_a_comb_of_float32_round_as_the_tables_say(name):
    # every 64th pattern through the formats; integers change at few places, all of them among the edges
    stride = "1024" if name.startswith("q") else "64"
    command = [*SWEEP, "--stride", stride, "--only", name]
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=source.ROOT, timeout=900, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
