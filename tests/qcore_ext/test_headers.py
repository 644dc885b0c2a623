"""The C headers compile, without a warning, for machines that are not here, with and without the vector tricks."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import source

INCLUDE = source.ROOT / "qcore_ext" / "include"
HEADERS = sorted(path.name for path in INCLUDE.glob("*.h"))
FLAGS = [
    "-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror",
]  # fmt: skip
TARGETS = ("aarch64-macos", "x86_64-windows-gnu", "aarch64-linux-gnu", "x86_64-linux-gnu")


def every_function(folder: Path) -> Path:
    """A C file that takes the address of each function of the headers: nothing is left out because nobody calls it."""
    names = []
    for header in HEADERS:
        text = (INCLUDE / header).read_text(encoding="utf-8")
        names += re.findall(r"^(?:static inline|QC_INLINE) [\w ]+?\*?(qc_\w+)\(", text, re.MULTILINE)
    assert len(names) > 30
    lines = [f'#include "{header}"' for header in HEADERS]
    lines += ["const void *every_function[] = {", *(f"    (const void *)&{name}," for name in names), "};"]
    path = folder / "every_function.c"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("plain", [False, True], ids=["tricks", "plain"])
@pytest.mark.parametrize("target", TARGETS)
def test_clang_compiles_the_headers_for_other_machines(tmp_path: Path, target: str, plain: bool) -> None:
    assert importlib.util.find_spec("ziglang"), "the extra `dev` brings a Clang for other machines: ziglang"
    command = [
        sys.executable, "-m", "ziglang", "cc", "-target", target, *FLAGS, *(["-DQC_PLAIN"] if plain else []),
        "-I", str(INCLUDE), "-c", str(every_function(tmp_path)), "-o", str(tmp_path / "out.o"),
    ]  # fmt: skip
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    done = subprocess.run(command, env={**os.environ, **cache}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.parametrize("plain", [False, True], ids=["tricks", "plain"])
@pytest.mark.parametrize("arch", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_gcc_compiles_the_headers_without_a_warning(tmp_path: Path, arch: str, plain: bool) -> None:
    command = [
        "gcc", *FLAGS, f"-march={arch}", *(["-DQC_PLAIN"] if plain else []), "-I", str(INCLUDE), "-c",
        str(every_function(tmp_path)), "-o", str(tmp_path / "out.o"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
