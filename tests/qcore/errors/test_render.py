"""One wording in every form, and the page of all errors."""

import json
from pathlib import Path

import pytest

from qcore import errors
from qcore.errors import render

PAGE = Path(__file__).parents[3] / "docs" / "errors.md"


def test_the_page_in_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == render.page(), "make errors-doc writes it"


@pytest.mark.parametrize("code", errors.CATALOG)
def test_a_row_is_shown_whole_in_every_form(code):
    row = errors.CATALOG[code]
    for text in (render.to_text(row), render.to_markdown(row)):
        for part in (row.code, row.message, row.cause, row.when, *row.solutions, row.family.__name__):
            assert part in text
    facts = json.loads(json.dumps(render.to_dict(row)))
    assert facts["solutions"] == list(row.solutions)
    assert facts["variants"] == dict(row.variants)


def test_an_error_that_happened_shows_its_message_and_its_tensor():
    error = errors.build("table-length", bits=4, expected=16, got=15, tensor="a.weight")
    assert render.to_text(error).startswith(f"error[table-length]: a.weight: {error}\n")
    assert "a.weight" in render.to_markdown(error)
    facts = render.to_dict(error)
    assert (facts["message"], facts["tensor"]) == (str(error), "a.weight")
    assert facts["params"] == {"bits": 4, "expected": 16, "got": 15}


def test_the_builtin_of_a_class_below_a_class_is_found():
    assert render.to_dict(errors.CATALOG["file-limit"])["builtin"] == "ValueError"
    assert render.to_dict(errors.CATALOG["cancelled"])["builtin"] == "CancelledError"
