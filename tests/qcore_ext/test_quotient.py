"""The quotient formed with multiply-adds equals the division wherever a code changes: every case there is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import source

import qcore_ext

# Codes of at most eight bits change at odd multiples, below 256, of a power of two. A quotient that falls on the other
# side of such a place than the true one would have its x within four steps of place times scale. Powers of two change
# nothing, so the scales from 1 to 2 are all scales.
PROGRAM = r"""
#include <stdio.h>
#include "qc_quotient.h"
int main(void) {
    long wrong = 0;
    for (uint32_t mantissa = 0; mantissa < 1u << 23; mantissa++) {
        float scale = qc_float(0x3f800000u | mantissa), inverse = 1.0f / scale, x[128];
        for (int32_t step = -4; step <= 4; step++) {
            for (int32_t i = 0; i < 128; i++) x[i] = qc_float(qc_bits((float)(2 * i + 1) * scale) + (uint32_t)step);
            for (int32_t i = 0; i < 128; i++) wrong += WANTED(qc_quotient(x[i], scale, inverse)) != x[i] / scale;
        }
    }
    printf("%ld\n", wrong);
    return 0;
}
"""


def wrong_quotients(folder: Path, wanted: str) -> int:
    level = next(name for name in qcore_ext.available_levels() if name in ("v3", "v4"))
    (folder / "all.c").write_text(PROGRAM.replace("WANTED", wanted), encoding="utf-8")
    flags = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", f"-march=x86-64-{level}"]
    include = str(source.ROOT / "qcore_ext" / "include")
    subprocess.run(["gcc", *flags, "-I", include, "all.c", "-o", "all"], cwd=folder, check=True)
    return int(subprocess.run([str(folder / "all")], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.skipif("v3" not in qcore_ext.available_levels(), reason="the other levels divide")
def test_every_quotient_beside_a_change_of_code_is_the_true_one(tmp_path: Path) -> None:
    assert wrong_quotients(tmp_path, "") == 0


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.skipif("v3" not in qcore_ext.available_levels(), reason="the other levels divide")
def test_a_quotient_one_step_off_would_be_found(tmp_path: Path) -> None:
    assert wrong_quotients(tmp_path, "0x1.000002p0f *") > 0
