"""The C headers compile, without a warning, for machines that are not here, with and without the vector tricks."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import source
from kernels import plan_of

import qcore_ext
from qcore.backends.cpu.numbers import of_plan
from qcore.plan import Plan

INCLUDE = source.ROOT / "qcore_ext" / "include"
HEADERS = sorted(path.name for path in INCLUDE.glob("*.h"))
# _GNU_SOURCE is what Python.h defines before it includes anything.
FLAGS = [
    "-std=c11", "-D_GNU_SOURCE", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-Wall",
    "-Wextra", "-Werror",
]  # fmt: skip
TARGETS = ("aarch64-macos", "x86_64-windows-gnu", "aarch64-linux-gnu", "x86_64-linux-gnu")


def every_function(folder: Path) -> Path:
    """A C file that takes the address of each function of the headers: nothing is left out because nobody calls it."""
    names = []
    for header in HEADERS:
        text = (INCLUDE / header).read_text(encoding="utf-8")
        # What stands under the tricks' own condition is called by what does not.
        tricks = r"^#if defined\((?:__AVX2__|__AVX512F__|QC_VECTOR_\w+)\)[^\n]*\n(?=\S).*?^#endif\n\n"
        text = re.sub(tricks, "", text, flags=re.DOTALL | re.MULTILINE)
        names += re.findall(r"^(?:static inline|QC_INLINE) [\w ]+?\*?(qc_\w+)\(", text, re.MULTILINE)
    assert len(names) > 30
    lines = [f'#include "{header}"' for header in HEADERS]
    lines += ["const void *every_function[] = {", *(f"    (const void *)&{name}," for name in names), "};"]
    path = folder / "every_function.c"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def zig_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache for all targets, away from the user's."""
    folder = str(tmp_path_factory.mktemp("zig"))
    return {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}


@pytest.mark.parametrize("plain", [False, True], ids=["tricks", "plain"])
@pytest.mark.parametrize("target", TARGETS)
def test_clang_compiles_the_headers_for_other_machines(
    tmp_path: Path, zig_cache: dict[str, str], target: str, plain: bool
) -> None:
    assert importlib.util.find_spec("ziglang"), "the extra `dev` brings a Clang for other machines: ziglang"
    command = [
        sys.executable, "-m", "ziglang", "cc", "-target", target, *FLAGS, *(["-DQC_PLAIN"] if plain else []),
        "-I", str(INCLUDE), "-c", str(every_function(tmp_path)), "-o", str(tmp_path / "out.o"),
    ]  # fmt: skip
    done = subprocess.run(command, env={**os.environ, **zig_cache}, capture_output=True, text=True)
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


TWINS = r"""
#include "qc_strips.h"
void values(const qc_codec *k, const uint8_t *fields, int64_t n, float *out) { qc_values(k, fields, n, out); }
void codes(const qc_codec *k, const float *t, int64_t n, uint8_t *out) { qc_codes(k, t, n, out); }
void back(const qc_codec *k, const uint8_t *fields, int64_t n, const float *scales, float *out) {
    for (int64_t block = 8; block <= 64; block += 8)
        for (int64_t bits = k->bits; bits <= 8; bits += 8 - k->bits ? 8 - k->bits : 8, out += n)
            qc_dequantize_packed(k, fields, 8, n, bits, block, 8 % block, scales, out);
}
void forth(const qc_codec *k, const float *x, int64_t n, const float *scales, uint8_t *out) {
    uint32_t maxima[1024];
    qc_ahead here = {(const char *)x, 4};
    for (int64_t block = 2; block <= 64; block *= 2, out += n) {
        memset(maxima, 0, sizeof maxima);
        qc_maxima(x, n, block, 0, 0, maxima);
        qc_quantize(k, x, n, block, 0, scales, maxima, here, out);
    }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.skipif("v3" not in qcore_ext.available_levels(), reason="the tricks need AVX2")
def test_the_plain_twins_give_the_bits_of_the_tricks(tmp_path: Path) -> None:
    (tmp_path / "twins.c").write_text(TWINS, encoding="utf-8")
    tables = [np.linspace(-1, 1, 16) ** 3, np.roll(np.arange(16) - 4.5, 5), np.round(np.linspace(-2, 2, 16))]
    codecs = [plan_of("q4f/u32/lookup/t:f32", (1,), table.astype(np.float32)) for table in tables]
    codecs += [
        plan_of(f"{value}/native/t:f32", (1,)) for value in ("e2m1", "e4m3", "e5m2", "q8s", "q4s", "q2s")
    ]
    fields = np.tile(np.arange(256, dtype=np.uint8), 3)[:-5]
    rng = np.random.default_rng(0)
    t = np.concatenate(
        [rng.standard_normal(1900) * 3, np.arange(-9, 9, 0.25), [np.nan, np.inf, -np.inf, -0.0]]
    )
    found = []
    for march, plain in (
        ("v3", 0),
        ("v3", 1),
        *((("v4", 0),) if "v4" in qcore_ext.available_levels() else ()),
    ):
        made = tmp_path / f"twins-{march}-{plain}.so"
        flags = [*FLAGS, f"-march=x86-64-{march}", "-shared", "-fPIC", *(["-DQC_PLAIN"] if plain else [])]
        subprocess.run(
            ["gcc", *flags, "-I", str(INCLUDE), str(tmp_path / "twins.c"), "-o", str(made)], check=True
        )
        found.append(
            [both_ways(ctypes.CDLL(str(made)), plan, fields, t.astype(np.float32)) for plan in codecs]
        )
    assert all(bits == found[0] for bits in found[1:])


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def both_ways(library: ctypes.CDLL, plan: Plan, fields: np.ndarray, t: np.ndarray) -> tuple[bytes, ...]:
    codec = of_plan(plan).codec
    scales = np.exp2(np.arange(t.size) % 9 - 4).astype(np.float32) * np.float32(1.1)
    scales[5::17] = 0
    values, codes = np.empty(fields.size, np.float32), np.empty(t.size, np.uint8)
    library.values(codec, pointer(fields), ctypes.c_int64(fields.size), pointer(values))
    library.codes(codec, pointer(t), ctypes.c_int64(t.size), pointer(codes))
    few = fields.size // 2 - 5
    numbers = np.zeros((16, few), np.float32)
    library.back(codec, pointer(fields), ctypes.c_int64(few), pointer(scales), pointer(numbers))
    finite = np.where(np.isfinite(t), t, 0).astype(np.float32)
    found = np.empty((6, t.size), np.uint8)
    library.forth(codec, pointer(finite), ctypes.c_int64(t.size), pointer(scales), pointer(found))
    return values.tobytes(), codes.tobytes(), numbers.tobytes(), found.tobytes()
