"""Every level that is built and that this processor can run gives the bits of the level in use, scheme by scheme.

The level in use is the one that the rest of the suite holds to the written rules.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import level_digests
import pytest
import source

import qcore_ext

OTHERS = [level for level in qcore_ext.available_levels() if level not in (qcore_ext.level(), "asan")]
SCRIPT = source.ROOT / "tests" / "support" / "level_digests.py"


@pytest.fixture(scope="module")
def in_use() -> dict[str, str]:
    return level_digests.digests()


@pytest.mark.parametrize("level", OTHERS)
def test_a_level_gives_the_bits_of_the_one_in_use(level: str, in_use: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, "QCORE_CPU_LEVEL": level},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {name for name in in_use if found[name] != in_use[name]} == set()


def test_there_is_something_in_the_digests(in_use: dict[str, str]) -> None:
    assert len(set(in_use.values())) > 20
