"""What every test shares."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The suite runs beside other work on few cores: time says nothing there. Examples are drawn afresh at the
# desk and are the same each time in CI.
settings.register_profile("desk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("desk"), derandomize=True, database=None)
settings.register_profile("long", parent=settings.get_profile("desk"), max_examples=5_000)
settings.load_profile(os.environ.get("QCORE_HYPOTHESIS", "ci" if os.environ.get("CI") else "desk"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the files that tests need."""
    return Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def _float_errors_stay_as_they_were():
    """Nothing that runs in a test may leave NumPy's reaction to float errors changed."""
    before = np.geterr()
    yield
    assert np.geterr() == before
