"""Whatever bytes arrive, a reader ends in a valid object or in a documented error."""

import os
import subprocess
import sys

import pytest
import source

pytestmark = pytest.mark.reliability

RUNS = int(os.environ.get("QCORE_FUZZ_RUNS", "500000"))
SLOWER = {"checkpoint": 5, "torch-pickle": 4}  # one run writes what it opens: so many times fewer of them


def _targets():
    listed = subprocess.run(
        [sys.executable, "tools/fuzz.py", "--list"],
        capture_output=True,
        text=True,
        cwd=source.ROOT,
        check=True,
    )
    return listed.stdout.split()


@pytest.mark.parametrize("target", _targets())
def test_hostile_input_ends_in_an_object_or_a_documented_error(target, tmp_path):
    runs = RUNS // SLOWER.get(target, 1)
    command = [
        sys.executable,
        "tools/fuzz.py",
        target,
        f"-runs={runs}",
        "-seed=1",
        "-timeout=10",  # seconds for one input: a hang
        "-rss_limit_mb=2048",
        f"-artifact_prefix={tmp_path}/",
        "-print_final_stats=1",
    ]
    env = {**os.environ, "TMPDIR": str(tmp_path)}  # libFuzzer ends without tidying up
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=source.ROOT, env=env, timeout=1800, check=False
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-6000:]
    assert f"stat::number_of_executed_units: {runs}" in result.stderr
