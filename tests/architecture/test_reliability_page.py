"""The page of guarantees names tests that exist."""

import ast
import re

import source

PAGE = source.ROOT / "docs" / "reliability.md"


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 20
    for path, name in named:
        tree = ast.parse((source.ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)
