"""What every test shares."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Drivers keep what they build. A cache of its own keeps every run, and every process of a run, to what it built itself.
if "POCL_CACHE_DIR" not in os.environ:
    os.environ["POCL_CACHE_DIR"] = tempfile.mkdtemp(prefix="qcore-pocl-")
    atexit.register(shutil.rmtree, os.environ["POCL_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("PYOPENCL_NO_CACHE", "1")

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
