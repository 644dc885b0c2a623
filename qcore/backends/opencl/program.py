"""Programs: kernel sources from package data, concatenated, and built once for a set of definitions."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from qcore.backends.opencl.facts import DeviceFacts
from qcore.backends.opencl.failures import documented

_LOG: Final = logging.getLogger(__name__)

SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "measure": ("floats", "lines", "elements", "maxima", "measure"),
    "solve": ("floats", "scales", "solve"),
    "quantize": ("floats", "lines", "elements", "maxima", "codec", "scales", "quantize"),
    "encode": ("floats", "lines", "elements", "codec", "scales", "encode"),
    "decode": ("floats", "lines", "elements", "codec", "scales", "decode"),
    "packing": ("floats", "lines", "elements", "packing"),
}
"""The files of every program, in the order they are read."""

CORRECT_DIVISION: Final = "-cl-fp32-correctly-rounded-divide-sqrt"

INEXACT: Final = (
    "-cl-fast-relaxed-math",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-mad-enable",
    "-cl-denorms-are-zero",
    "-cl-no-signed-zeros",
)
"""Options that break equality with the processor: never given here, and reported where the environment gives them."""

Definitions = tuple[tuple[str, int | None], ...]


@cache
def source(name: str) -> str:
    """The text of a program.

    Examples
    --------
    >>> source("solve").count("#pragma OPENCL FP_CONTRACT OFF")
    3
    """
    folder = resources.files(__package__) / "kernels"
    return "\n".join((folder / f"{part}.cl").read_text(encoding="utf-8") for part in SOURCES[name])


def options(facts: DeviceFacts, definitions: Definitions, corrected: bool) -> list[str]:
    """Words for the compiler: the language, exact division where the device offers it, and the definitions."""
    words = ["-cl-std=CL1.2"]
    if corrected:
        words += ["-D", "CORRECTED_DIVISION"]
    elif facts.divides_right:
        words.append(CORRECT_DIVISION)
    for word, value in definitions:
        words += ["-D", word if value is None else f"{word}={value}"]
    return words


def build(context: Any, facts: DeviceFacts, text: str, words: list[str]) -> Any:
    """Compile a program; what the compiler says goes to the log."""
    import warnings

    import pyopencl as cl

    report_inexact_options(os.environ)
    with documented(facts.spelled, "build"), warnings.catch_warnings():
        # What a compiler remarks on is no warning of ours: PYOPENCL_COMPILER_OUTPUT=1 shows it, and the log has it.
        if not os.environ.get("PYOPENCL_COMPILER_OUTPUT"):
            warnings.simplefilter("ignore", cl.CompilerWarning)
        built = cl.Program(context, text).build(options=words)
    _LOG.debug("built for %s with %s", facts.spelled, " ".join(words))
    return built


@cache
def _report_once(found: tuple[str, ...]) -> None:
    _LOG.warning("PYOPENCL_BUILD_OPTIONS has %s: results may differ from those of the processor", ", ".join(found))


def report_inexact_options(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Log, once, the options of the environment that break exactness; return them."""
    given = environment.get("PYOPENCL_BUILD_OPTIONS", "").split()
    found = tuple(option for option in INEXACT if option in given)
    if found:
        _report_once(found)
    return found
