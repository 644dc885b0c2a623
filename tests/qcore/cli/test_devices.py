"""``qcore devices`` and what ``qcore doctor`` says of OpenCL: a sentence and a remedy for all that is missing."""

import dataclasses

import pytest

from qcore.backends import opencl
from qcore.backends.opencl import probing


@pytest.fixture
def pretend(monkeypatch):
    """Let the probe have found something else."""

    def found(verdict):
        monkeypatch.setattr(opencl, "diagnosis", lambda build=True: verdict)

    return found


def test_devices_are_listed_with_what_their_numbers_are_worth(run, document):
    code, out, _ = run("devices")
    assert code == 0
    assert "* opencl:" in out
    assert "bit-exact" in out
    listed = document("devices")
    assert listed["state"] == "ready"
    assert listed["chosen"] in {device["backend"] for device in listed["devices"]}
    assert all(device["bit_exact"] and not device["fault"] for device in listed["devices"])


def test_a_device_that_is_named_and_not_there_is_noted(run, monkeypatch):
    monkeypatch.setenv("QCORE_DEVICE", "opencl:no such device")
    code, out, complaint = run("devices")
    assert code == 0
    assert "* opencl" not in out
    assert "no such device is not available" in complaint


@pytest.mark.parametrize("state", sorted(set(probing._MEANINGS) - {"ready"}))
def test_what_is_missing_is_said_with_a_remedy_and_without_a_traceback(state, run, document, pretend):
    verdict = probing.Verdict(state, text="CL_SOMETHING")
    pretend(verdict)
    code, out, complaint = run("devices")
    assert code == 6
    assert verdict.meaning in out
    assert verdict.advice
    assert all(advice in out for advice in verdict.advice)
    assert "Traceback" not in out + complaint
    assert document("devices", code=6)["state"] == state
    code, out, _ = run("doctor")
    assert code == 0  # a machine without OpenCL is in order
    assert verdict.meaning in out
    assert all(advice in out for advice in verdict.advice)


def test_a_device_whose_kernels_do_not_build_is_called_broken(run, pretend):
    found = opencl.diagnosis()
    pretend(dataclasses.replace(found, builds=("error: unknown type name",) * len(found.devices)))
    code, out, _ = run("devices")
    assert code == 0
    assert "broken" in out
    assert "unknown type name" in out
    _, out, _ = run("doctor")
    assert "kernels do not build: error: unknown type name" in out
    assert "qcore explain opencl-build-failed" in out


def test_a_device_that_flushes_denormals_is_called_tolerant_and_why(run, pretend):
    found = opencl.diagnosis()
    flushing = tuple(dataclasses.replace(facts, denormals=False) for facts in found.devices)
    pretend(dataclasses.replace(found, devices=flushing))
    _, out, _ = run("devices")
    assert "tolerant" in out
    assert "flushes float32 denormals to zero" in out


def test_the_demo_puts_opencl_beside_the_processor_and_compares_the_bytes(run, document):
    code, out, _ = run("demo", "minilm_l0_query")
    assert code == 0
    assert "opencl ms" in out
    assert "the stored bytes and the decoded floats are equal in all" in out
    assert all(row["equal_bytes"] for row in document("demo", "minilm_l0_query")["rows"])


def test_the_demo_runs_on_the_processor_alone_where_there_is_no_device(run, pretend):
    pretend(probing.Verdict("no-package"))
    code, out, _ = run("demo", "minilm_l0_query")
    assert code == 0
    assert "opencl" not in out
