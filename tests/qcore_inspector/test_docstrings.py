"""The examples in the inspector's own docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

GUI = Path(__file__).resolve().parents[2] / "gui"
MODULES = sorted(
    ".".join(path.relative_to(GUI).with_suffix("").parts)
    for path in GUI.rglob("*.py")
    if path.stem not in ("__init__", "__main__") and "widgets" not in path.parts
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    module = importlib.import_module(f"qcore_inspector.{name}")
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert not failed
