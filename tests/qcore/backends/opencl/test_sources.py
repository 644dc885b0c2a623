"""Kernel sources: fixed text, exact arithmetic, nothing a device may lack."""

import re
from pathlib import Path

import pytest

import qcore.backends.opencl
from qcore.backends.opencl import program
from qcore.backends.opencl.facts import DeviceFacts

FOLDER = Path(qcore.backends.opencl.__file__).parent / "kernels"
FILES = sorted(FOLDER.glob("*.cl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_small_and_forbids_contraction(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert text.count("#pragma OPENCL FP_CONTRACT OFF") == 1
    assert text.isascii()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_kernel_needs_an_extension_or_a_vector_wider_than_eight(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"\b(double|half)\d*\b", text)
    assert "cl_khr" not in text
    assert not re.search(r"\b(u?char|u?short|u?int|u?long|float|vload|vstore)16\b", text)
    assert not re.search(
        r"\batomic|\bvload_half|\bvstore_half|\bfma\b|\bmad\b|\bnative_|\bfmax\b|\blog2\b|_sat\b", text
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_indices_have_64_bits(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\bint \w+ = get_global_id", text)
    assert not re.search(r"\buint \w+ = get_global_id", text)


def test_every_file_belongs_to_a_program_and_no_python_file_holds_a_kernel():
    assert {path.stem for path in FILES} == {part for parts in program.SOURCES.values() for part in parts}
    for path in FOLDER.parent.glob("*.py"):
        assert "__kernel" not in path.read_text(encoding="utf-8"), path.name


def test_no_option_that_breaks_exactness_is_ever_given():
    facts = DeviceFacts(
        0, 0, "P", "D", "V", "", "", "gpu", 1, 1, 1, 1, 64, False, True, True, True, False, False
    )
    for corrected in (True, False):
        words = program.options(facts, (("KIND", 0), ("EVEN", None)), corrected)
        assert not set(words) & set(program.INEXACT)
        assert "-cl-std=CL1.2" in words
        assert (program.CORRECT_DIVISION in words) is not corrected
        assert ("CORRECTED_DIVISION" in words) is corrected


def test_options_of_the_environment_that_break_exactness_are_reported_once(caplog):
    program._report_once.cache_clear()
    given = {"PYOPENCL_BUILD_OPTIONS": "-w -cl-fast-relaxed-math"}
    assert program.report_inexact_options({}) == ()
    assert not caplog.records
    for _ in range(2):
        assert program.report_inexact_options(given) == ("-cl-fast-relaxed-math",)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_kernel_uses_the_numbers_it_is_given_and_names_no_format():
    for path in FILES:
        text = path.read_text(encoding="utf-8").lower()
        assert not any(word in text for word in ("e4m3", "e2m1", "nf4", "ue8m0", "448", "57344"))
