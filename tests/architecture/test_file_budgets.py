"""Small rooms: a file that outgrows its budget holds two things."""

import pytest
import source

BUDGETS = [
    ("qcore", ".py", 300),
    ("qcore_ext", ".pyx", 120),
    ("qcore_ext", ".pxd", 300),
    ("tests", ".py", 400),
]


@pytest.mark.parametrize(("folder", "suffix", "budget"), BUDGETS)
def test_files_keep_to_their_budget_of_lines(folder, suffix, budget):
    grown = {
        source.named(path): lines
        for path in source.files(folder, suffix)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > budget
    }
    assert not grown, f"more than {budget} lines: {grown}"


def test_nothing_is_left_to_be_done_later():
    words = tuple("".join(parts) for parts in (("TO", "DO"), ("FIX", "ME"), ("X", "XX:")))
    left = [
        f"{source.named(path)}:{number}"
        for folder in ("qcore", "qcore_ext", "tests", "benchmarks", "tools", "docs")
        for path in source.files(folder, ".py", ".pyx", ".pxd", ".h", ".sh", ".md")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if any(word in line for word in words)
    ]
    assert not left
