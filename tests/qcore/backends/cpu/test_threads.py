"""Threads: how many, and a pool that never hangs and never changes a bit."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcore.backends import cpu
from qcore.backends.cpu import numbers, threads
from qcore.errors import QuantError
from qcore.plan import Plan, make_plan
from qcore.scheme import QuantScheme
from qcore.scheme.codebook import Codebook
from qcore_ext import scales

CPU = cpu.open_backend()


def plan_of(text: str, shape: tuple[int, ...]) -> Plan:
    codebook = Codebook(np.linspace(-1, 1, 16, dtype=np.float32)) if "lookup" in text else None
    return make_plan(QuantScheme.parse(text), shape, codebook=codebook)


def everything(x: np.ndarray, plan: Plan, count: int) -> list[bytes]:
    """The bytes of all that the backend computes."""
    staged = CPU.stage(x, plan, count)
    parts = staged.quantize_minmax()
    assert parts is not None
    peaks = staged.peaks(plan.extents)
    out = np.empty(plan.shape, np.float32)
    CPU.decode(parts.values, parts.scales, parts.global_scale, plan, out, count)
    codes = CPU.unpack(parts.values, plan, count)
    sums = CPU.errors(x, parts, plan, 99.9, count)
    arrays = [
        parts.values, parts.scales, peaks, staged.means(plan.extents), staged.percentiles(plan.extents, 99.0), out,
        staged.search(peaks, parts.global_scale), staged.encode(parts.scales, parts.global_scale), codes,
        CPU.pack(codes, plan, count), *(np.asarray(field) for field in sums),
    ]  # fmt: skip
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


@pytest.mark.parametrize(
    "text",
    [
        "q8s/native/t:f32",
        "q4s/u32/b32:f16",
        "q4f/u32:1/b3x16:f32",
        "e2m1/packed/b16:ue4m3/t:f32",
        "q4f/u32/lookup/b64:f32",
    ],
)
def test_bits_do_not_depend_on_the_number_of_threads(text: str) -> None:
    x = np.random.default_rng(0).standard_normal((521, 773)).astype(np.float32)
    x[100, 100] = 40
    plan = plan_of(text, x.shape)
    alone = everything(x, plan, 1)
    for count in (2, 3, 7):
        assert everything(x, plan, count) == alone
    turned = np.asfortranarray(x)
    assert everything(turned, plan, 3) == alone


def test_non_finite_elements_are_counted_once_whatever_the_threads() -> None:
    x = np.ones((600, 700), np.float32)
    x[5, 6] = np.nan
    x[599, 699] = np.inf
    for count in (1, 2, 3):
        staged = CPU.stage(x, plan_of("q8s/native/b32:f16", x.shape), count)
        assert staged.nonfinite() == (2, 5 * 700 + 6)
        assert staged.quantize_minmax() is None


def test_steps_are_shared_out_where_that_pays() -> None:
    def kernel(name: str, *call: int) -> tuple[str, tuple[int, ...]]:
        return name, call

    assert threads.run(kernel, ("k",), 100, threads.ALONE - 1, 3) == ("k", (0, 100))
    assert threads.run(kernel, ("k",), 1, 1 << 24, 3) == ("k", (0, 1))
    assert threads.run(kernel, ("k",), 100, 1 << 24, 3) == ("k", (0, 100, 1, 3))
    steps = threads.ALONE // threads.RANGE
    assert threads.run(kernel, ("k",), 1000, threads.ALONE, 2) == ("k", (0, 1000, -(-1000 // steps), 2))


def test_a_kernel_runs_every_task_once_whatever_the_steps() -> None:
    peaks = np.random.default_rng(4).random(1 << 16).astype(np.float32)
    scale = numbers.of_plan(plan_of("q8s/native/b32:f16", (32,))).scale
    wanted = np.zeros(peaks.size, np.uint16)
    scales.solve(peaks, 1.0, wanted, scale, 0, peaks.size)
    for step, count in ((1, 2), (7, 3), (1000, 64), (1 << 20, 4), (0, 4)):
        found = np.zeros(peaks.size, np.uint16)
        scales.solve(peaks, 1.0, found, scale, 5, peaks.size - 3, step, count)
        assert (found[5:-3] == wanted[5:-3]).all()
        assert not found[:5].any()
        assert not found[-3:].any()


def test_callers_in_many_threads_share_the_pool() -> None:
    x = np.random.default_rng(1).standard_normal((300, 1024)).astype(np.float32)
    plan = plan_of("q4s/u32/b32:f16", x.shape)
    wanted = CPU.stage(x, plan, 1).quantize_minmax()
    assert wanted is not None
    found: list[bool] = []

    def work() -> None:
        for _ in range(20):
            parts = CPU.stage(x, plan, 3).quantize_minmax()
            found.append(parts is not None and parts.values.tobytes() == wanted.values.tobytes())

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 120
    assert all(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_works_on_one_thread_and_never_hangs() -> None:
    x = np.random.default_rng(2).standard_normal((600, 1024)).astype(np.float32)
    plan = plan_of("q8s/native/b32:f16", x.shape)
    parts = CPU.stage(x, plan, 4).quantize_minmax()
    assert parts is not None
    for _ in range(5):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            again = CPU.stage(x, plan, None).quantize_minmax()
            shared = CPU.stage(x, plan, 3).quantize_minmax()
            same = again is not None and shared is not None
            same = same and again.values.tobytes() == shared.values.tobytes() == parts.values.tobytes()
            os._exit(0 if same and threads.resolve(None) == 1 else 3)
        assert os.waitpid(child, 0)[1] == 0
    assert threads.resolve(None) >= 1


def test_threads_come_from_the_call_then_the_setting_then_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QCORE_NUM_THREADS", "5")
    assert threads.resolve(None) == 5
    with threads.set_threads(3):
        assert threads.resolve(None) == 3
        assert threads.resolve(2) == 2
    assert threads.resolve(None) == 5
    for nonsense in ("0", "many", ""):
        monkeypatch.setenv("QCORE_NUM_THREADS", nonsense)
        assert 1 <= threads.resolve(None) <= (os.cpu_count() or 1)
    threads.set_threads(2)
    assert threads.resolve(None) == 2
    threads.set_threads(None)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "2"])
def test_a_count_that_is_none_is_refused(count: Any) -> None:
    with pytest.raises(QuantError) as refused:
        threads.resolve(count)
    assert refused.value.code == "argument-type"
    with pytest.raises(QuantError):
        threads.set_threads(count)


def test_the_affinity_of_the_process_bounds_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("no affinity here")
    monkeypatch.delenv("QCORE_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert threads.resolve(None) == 1


def test_quotas_of_both_versions_of_control_groups_are_read(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "cpu.max").write_text("150000 100000\n")
    (inner / "cpu.max").write_text("max 100000\n")
    own = tmp_path / "own"
    own.write_text("0::/a/b\n")
    assert list(threads._limits(tmp_path, own)) == [(150000.0, 100000.0)]
    first = tmp_path / "cpu"
    first.mkdir()
    (first / "cpu.cfs_quota_us").write_text("50000")
    (first / "cpu.cfs_period_us").write_text("100000")
    own.write_text("4:cpu,cpuacct:/x\n2:memory:/x\n")
    assert (50000.0, 100000.0) in list(threads._limits(tmp_path, own))
    assert list(threads._limits(tmp_path, tmp_path / "absent")) == []


def test_a_kernel_lets_other_threads_run() -> None:
    x = np.random.default_rng(3).standard_normal((4096, 2048)).astype(np.float32)
    plan = plan_of("q4f/u32/lookup/b64:f32", x.shape)
    staged = CPU.stage(x, plan, 1)
    done = threading.Event()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        worker = threading.Thread(target=lambda: (staged.quantize_minmax(), done.set()))
        worker.start()
        turns = 0
        while not done.is_set():
            turns += 1
        worker.join()
    finally:
        sys.setswitchinterval(before)
    assert turns > 1000
