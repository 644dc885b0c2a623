"""The inspector as it is imported when installed, from this folder's own source."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

GUI = Path(__file__).resolve().parents[2] / "gui"


def _import():
    spec = importlib.util.spec_from_file_location(
        "qcore_inspector", GUI / "__init__.py", submodule_search_locations=[str(GUI)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["qcore_inspector"] = module
    spec.loader.exec_module(module)


if "qcore_inspector" not in sys.modules:
    _import()


@pytest.fixture
def made():
    """A store whose jobs run at once."""
    from qcore_inspector.source import Session
    from qcore_inspector.store import InlineRunner, Store

    session = Session()
    store = Store(InlineRunner(session))
    yield store
    session.close()


@pytest.fixture
def shown(made):
    """Function: show an array and return the store."""
    from qcore_inspector import intents

    def show(array, name="x"):
        made.dispatch(intents.ShowArray(np.asarray(array) if not hasattr(array, "scheme") else array, name))
        return made

    return show
