"""Build the kernels: every .pyx once per instruction-set level, from its own C file, with that level's flags.

Switches in the environment: QCORE_BUILD_LEVELS (``v2,v3,v4`` or ``base``; for quick builds), QCORE_BUILD_JOBS,
QCORE_SANITIZE=1 (one extra-careful level ``asan``), QCORE_CYTHON_DEBUG=1 (no optimisation, Cython's own checks on).
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup

ROOT = Path(__file__).parent.resolve()
os.chdir(ROOT)

SANITIZE = os.environ.get("QCORE_SANITIZE") == "1"
DEBUG = os.environ.get("QCORE_CYTHON_DEBUG") == "1"
JOBS = int(os.environ.get("QCORE_BUILD_JOBS") or os.cpu_count() or 1)

# One order of operations, everywhere: nothing is contracted, nothing re-associated. Traps and errno are not looked at.
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-std=c11"]
LEVEL_FLAGS = {
    "v2": ["-march=x86-64-v2"],
    "v3": ["-march=x86-64-v3"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=256"],
    "base": [],
    # float-divide-by-zero too: a zero scale is never divided by
    "asan": [
        "-O1", "-g", "-fno-omit-frame-pointer",
        "-fsanitize=address,undefined,float-cast-overflow,float-divide-by-zero", "-fno-sanitize-recover=all",
    ],
}  # fmt: skip
CLANG_CL = sys.platform == "win32"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}
KERNELS = sorted(path.stem for path in Path("qcore_ext").glob("*.pyx"))
UNLEVELLED = ("cpu", "pool")


def levels() -> list[str]:
    if SANITIZE:
        return ["asan"]
    if named := os.environ.get("QCORE_BUILD_LEVELS"):
        return named.split(",")
    return ["v2", "v3", "v4"] if platform.machine().lower() in ("x86_64", "amd64") else ["base"]


def compile_flags(level: str) -> list[str]:
    flags = [*FLAGS, *LEVEL_FLAGS[level], *(["-O0", "-g"] if DEBUG else [])]
    return [f"/clang:{flag}" for flag in flags] if CLANG_CL else flags


def extensions(package: str, names: list[str], level: str) -> list[Extension]:
    """Cythonize into the level's own folder, then describe the C files afresh: flags must not leak between levels."""
    translated = cythonize(
        [Extension(f"{package}.{name}", [f"qcore_ext/{name}.pyx"]) for name in names],
        build_dir=f"build/cython/{level}",
        compiler_directives=DIRECTIVES,
        nthreads=JOBS if JOBS > 1 else 0,
        annotate=DEBUG,
        quiet=True,
    )
    link = [flag for flag in LEVEL_FLAGS[level] if flag.startswith("-fsanitize")]
    link += [] if CLANG_CL else ["-pthread"]
    return [
        Extension(
            module.name,
            module.sources,
            include_dirs=["qcore_ext/include", numpy.get_include()],
            define_macros=[
                ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                *([("QC_DEBUG", "1")] if DEBUG else []),
            ],
            extra_compile_args=compile_flags(level),
            extra_link_args=link,
            depends=[str(path) for path in Path("qcore_ext/include").glob("*.h")],
        )
        for module in translated
    ]


def level_package(level: str) -> str:
    folder = Path("qcore_ext") / f"_{level}"
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text(
        f'"""Kernels of level {level}; chosen by qcore_ext."""\n', encoding="utf-8"
    )
    return f"qcore_ext._{level}"


def modules() -> list[Extension]:
    leveled = [name for name in KERNELS if name not in UNLEVELLED]
    found = extensions("qcore_ext", list(UNLEVELLED), "base")
    for level in levels():
        found += extensions(level_package(level), leveled, level)
    return found


def package_map() -> tuple[list[str], dict[str, str]]:
    """Import packages, and the folders of those whose name is not their path: gui/ is imported as qcore_inspector."""
    packages = find_packages(include=["qcore", "qcore.*"])
    # The headers are data, but lie in a folder that counts as a package; without them no wheel could be built from a
    # source archive.
    packages += ["qcore_ext", "qcore_ext.include", *(f"qcore_ext._{level}" for level in levels())]
    folders = {}
    if (ROOT / "gui" / "__init__.py").exists():
        inner = find_packages("gui")
        packages += ["qcore_inspector", *(f"qcore_inspector.{name}" for name in inner)]
        folders["qcore_inspector"] = "gui"
    return packages, folders


if __name__ == "__main__":
    ext_modules = modules()  # first: it makes the folders of the levels
    packages, folders = package_map()
    setup(
        ext_modules=ext_modules,
        packages=packages,
        package_dir=folders,
        options={"build_ext": {"parallel": JOBS}},
    )
