"""Which device a call means: its argument, the environment, the best there is."""

import dataclasses

import pytest

from qcore import errors
from qcore.backends.opencl import choice
from qcore.backends.opencl.facts import CPU, GPU, OTHER, DeviceFacts

BASE = DeviceFacts(
    0, 0, "Portable Computing Language", "pthread-CPU", "GenuineIntel", "", "", CPU, 8, 1 << 34, 1 << 32, 1, 64, True,
    True, True, True, False, True,
)  # fmt: skip


def device(**other):
    return dataclasses.replace(BASE, **other)


CARD = device(
    platform=1, platform_name="NVIDIA CUDA", name="H100 PCIe", vendor="NVIDIA", kind=GPU, unified=False
)
SECOND = dataclasses.replace(CARD, device=1, name="A2", compute_units=4)
BUILT_IN = device(
    platform=2, platform_name="Intel(R) OpenCL Graphics", name="Iris Xe", kind=GPU, compute_units=96
)
FPGA = device(platform=3, platform_name="Board", name="Stratix", kind=OTHER)
ALL = (BASE, CARD, SECOND, BUILT_IN, FPGA)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("", CARD),
        ("0", BASE),
        ("1", CARD),
        ("1:1", SECOND),
        ("nvidia", CARD),
        ("a2", SECOND),
        ("intel(r) opencl", BUILT_IN),
        ("nvidia:1", SECOND),
        ("1:a2", SECOND),
        ("pthread", BASE),
        ("0:0", BASE),
    ],
)
def test_a_device_is_named_by_indices_or_by_words_of_its_name(asked, wanted):
    assert choice.pick(ALL, asked) is wanted


def test_gpus_come_first_then_other_accelerators_then_processors():
    order = []
    left = list(ALL)
    while left:
        order.append(choice.pick(left, ""))
        left.remove(order[-1])
    assert order == [CARD, SECOND, BUILT_IN, FPGA, BASE]


@pytest.mark.parametrize("asked", ["4", "1:2", "amd", "nvidia:7", "0:nvidia"])
def test_what_is_not_there_is_refused_with_what_is(asked):
    with pytest.raises(errors.DeviceError, match="H100") as caught:
        choice.pick(ALL, asked)
    assert caught.value.code == "device-unavailable"


@pytest.mark.parametrize(
    ("spelled", "environment", "wanted"),
    [
        ("opencl", {}, ""),
        ("opencl:1:0", {"QCORE_DEVICE": "opencl:2", "PYOPENCL_CTX": "0"}, "1:0"),
        ("opencl", {"QCORE_DEVICE": "opencl:2", "PYOPENCL_CTX": "0"}, "2"),
        ("", {"QCORE_DEVICE": "nvidia", "PYOPENCL_CTX": "0"}, "nvidia"),
        ("opencl", {"PYOPENCL_CTX": "0:1"}, "0:1"),
        ("opencl", {"QCORE_DEVICE": "cpu", "PYOPENCL_CTX": "0:1"}, "0:1"),
        ("0:1", {}, "0:1"),
        ("OpenCL:NVIDIA", {}, "NVIDIA"),
    ],
)
def test_the_argument_comes_before_the_environment(spelled, environment, wanted):
    assert choice.wanted(spelled, environment) == wanted


def test_facts_cross_processes_unchanged():
    assert DeviceFacts.from_dict(CARD.to_dict()) == CARD


@pytest.mark.parametrize("word", ["0", "off", "NO", " false "])
def test_qcore_opencl_switches_it_off(word):
    assert choice.switched_off({"QCORE_OPENCL": word})
    assert not choice.switched_off({"QCORE_OPENCL": "1"})


def test_a_group_is_a_power_of_two_that_the_device_takes():
    assert device(max_group=4096).group == 64
    assert device(max_group=48).group == 32
    assert device(max_group=1).group == 1


def test_a_device_says_why_it_is_exact_or_not():
    assert device().bit_exact
    assert "build option" in device().reason
    assert device(divides_right=False).bit_exact
    assert "whole numbers" in device(divides_right=False).reason
    assert not device(denormals=False).bit_exact
    assert "denormals" in device(denormals=False).reason
