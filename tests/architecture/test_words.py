"""Names and words: tests read as sentences, documents say what is so now."""

import ast
import re
import subprocess
import sys

import pytest
import source

from qcore.errors import render
from qcore.formats.table import FORMATS


def test_the_names_of_tests_are_sentences():
    short = [
        f"{source.named(path)}:{node.lineno} {node.name}"
        for path, node in source.nodes("tests", ast.FunctionDef)
        if node.name.startswith("test_") and node.name.count("_") < 3
    ]
    assert not short, "a test's name says what holds"


def test_no_folder_of_tests_is_a_package():
    assert not list((source.ROOT / "tests").rglob("__init__.py"))


def test_the_page_of_errors_is_current():
    written = (source.ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert written == render.page(), "run `make errors-doc`"


def test_the_numbers_of_the_readme_are_measured():
    command = [sys.executable, "tools/readme_numbers.py", "--check"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=source.ROOT, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def _documents():
    at_the_root = [source.ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return at_the_root + source.files("docs", ".md")


@pytest.mark.parametrize("path", _documents(), ids=source.named)
def test_the_links_of_a_document_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), f"{source.named(path)} links to {target}"


@pytest.mark.parametrize("path", _documents(), ids=source.named)
def test_the_make_targets_that_a_document_names_exist(path):
    targets = set(
        re.findall(r"^([a-z0-9-]+):", (source.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = set(re.findall(r"`make ([a-z0-9-]+)", path.read_text(encoding="utf-8")))
    assert named <= targets


def test_shell_scripts_are_well_formed():
    for path in [source.ROOT / ".ci" / "run", *source.files("tools", ".sh")]:
        result = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def test_every_file_format_is_fuzzed():
    listed = subprocess.run(
        [sys.executable, "tools/fuzz.py", "--list"],
        capture_output=True,
        text=True,
        cwd=source.ROOT,
        check=True,
    )
    suffixes = {row.suffixes[0][1:] for row in FORMATS}
    assert suffixes <= set(listed.stdout.split())
