"""A device to test on: PoCL runs anywhere."""

import pytest

from qcore.backends.opencl import open_engine


@pytest.fixture(scope="session")
def engine():
    """An engine of its own, as the backend opens it."""
    return open_engine()


@pytest.fixture(scope="session")
def gpu_form():
    """The device run as a GPU is: items share runs, tables lie close by, memory apart, division in whole numbers."""
    found = open_engine(lanes=8, run=64, corrected=True)
    found.session.shares_memory = False
    return found
