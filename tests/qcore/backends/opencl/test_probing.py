"""The probe: every way a driver can be missing, broken or fatal becomes one word with a remedy."""

import json
import os
import subprocess
import sys

import pytest

from qcore import errors
from qcore.backends.opencl import diagnosis, opening, probe, probing


@pytest.fixture
def asked_afresh(monkeypatch):
    """A process that has not probed yet."""
    probing.verdict.cache_clear()
    opening.shared_engine.cache_clear()
    yield monkeypatch
    probing.verdict.cache_clear()
    opening.shared_engine.cache_clear()


def doctor(**environment):
    """What a fresh process sees under another environment."""
    code = "from qcore.backends.opencl import diagnosis; d = diagnosis(); print(d.state, len(d.devices), *d.builds)"
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settings
    ).stdout


@pytest.mark.parametrize(
    ("code", "answer", "drivers", "state"),
    [
        (0, '{"failure": "no-package", "text": "no module"}', [], "no-package"),
        (0, '{"failure": "no-loader", "text": "libOpenCL.so.1"}', [], "no-loader"),
        (0, '{"failure": "no-platform", "text": "PLATFORM_NOT_FOUND_KHR"}', [], "no-icd"),
        (0, '{"failure": "no-platform", "text": "PLATFORM_NOT_FOUND_KHR"}', ["a.icd"], "icd-fails"),
        (0, '{"platforms": [], "devices": []}', ["a.icd"], "icd-fails"),
        (0, '{"platforms": ["P"], "devices": []}', [], "no-device"),
        (0, 'a driver talks\n{"platforms": ["P"], "devices": []}', [], "no-device"),
        (-11, "", [], "driver-crash"),
        (-6, "half an ans", [], "driver-crash"),
        (1, "", [], "driver-crash"),
    ],
)
def test_how_a_probe_ended_is_told_apart(code, answer, drivers, state, monkeypatch):
    monkeypatch.setattr(probing, "registered_drivers", lambda: drivers)
    found = probing.read(code, answer, "")
    assert found.state == state
    assert found.meaning
    assert found.advice
    assert not found.usable


def test_a_driver_that_kills_the_probe_leaves_this_process_alive(asked_afresh):
    real = subprocess.run

    def dying(command, **settings):
        crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
        return real([command[0], "-c", crash], **settings)

    asked_afresh.setattr(probing.subprocess, "run", dying)
    assert diagnosis().state == "driver-crash"
    assert "SIGSEGV" in diagnosis().text
    with pytest.raises(errors.DeviceError, match="ended the process") as caught:
        opening.open_engine()
    assert caught.value.code == "device-unavailable"


def test_a_driver_that_hangs_is_left(asked_afresh):
    def hanging(command, **settings):
        raise subprocess.TimeoutExpired(command, settings["timeout"])

    asked_afresh.setattr(probing.subprocess, "run", hanging)
    assert diagnosis().state == "driver-hangs"


def test_switched_off_means_no_probe_at_all(asked_afresh):
    asked_afresh.setenv("QCORE_OPENCL", "0")
    asked_afresh.setattr(probing.subprocess, "run", None)
    assert diagnosis().state == "off"
    with pytest.raises(errors.DeviceError, match="QCORE_OPENCL"):
        opening.open_engine()


def test_without_pyopencl_there_is_an_answer_and_a_remedy(asked_afresh):
    asked_afresh.setitem(sys.modules, "pyopencl", None)
    asked_afresh.setattr(probing.util, "find_spec", lambda name: None)
    assert diagnosis().state == "no-package"
    with pytest.raises(errors.DeviceError, match="pip install pyopencl"):
        opening.open_engine()
    assert probe.look(build=False)["failure"] == "no-package"


def test_a_loader_without_a_driver_and_a_driver_that_does_not_load_differ(tmp_path):
    lost = tmp_path / "lost.icd"
    assert doctor(OCL_ICD_VENDORS=str(lost)).split() == ["no-icd", "0"]
    lost.write_text("/nowhere/libnothing.so\n")
    assert doctor(OCL_ICD_VENDORS=str(lost)).split() == ["icd-fails", "0"]


def test_the_probe_writes_what_it_found_and_tries_a_kernel_when_asked():
    command = [sys.executable, "-m", "qcore.backends.opencl.probe", "--build"]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    found = json.loads(done.stdout)
    assert found["devices"]
    assert all(device["build"] == "" for device in found["devices"])
    assert probing.read(0, done.stdout, "").usable


def test_a_device_that_is_not_there_is_refused_by_name():
    with pytest.raises(errors.DeviceError, match="no such thing") as caught:
        opening.find("opencl:no such thing")
    assert caught.value.solutions
