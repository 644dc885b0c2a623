"""Every way a driver fails becomes one documented error; under auto, one logged line and the processor's bytes."""

import logging
import warnings

import numpy as np
import pyopencl as cl
import pytest

import qcore
from qcore import errors
from qcore.backends import auto, loader
from qcore.backends.opencl import failures, open_engine, program, stream
from qcore.plan import make_plan

X = np.random.default_rng(0).normal(size=(40, 96)).astype(np.float32)
SCHEME = "q4s/u32/b32:f16"
WANTED = qcore.quantize(X, SCHEME).to_data()


def failing(status, kind=cl.LogicError):
    def call(*arguments, **options):
        raise kind(f"clSomething failed: {status}")

    return call


def broken_build(patch, session):
    patch.setattr(cl.Program, "build", failing("BUILD_PROGRAM_FAILURE", cl.RuntimeError))


def broken_source(patch, session):
    patch.setattr(program, "source", lambda name: "__kernel void maxima(unknown *x) {}")


def no_compiler(patch, session):
    patch.setattr(cl.Program, "build", failing("COMPILER_NOT_AVAILABLE", cl.RuntimeError))


def poisoned_cache(patch, session):
    patch.setattr(cl, "Kernel", failing("INVALID_KERNEL_NAME"))


def no_room_for_a_buffer(patch, session):
    patch.setattr(cl, "Buffer", failing("MEM_OBJECT_ALLOCATION_FAILURE", cl.MemoryError))


def too_large_a_buffer(patch, session):
    patch.setattr(cl, "Buffer", failing("INVALID_BUFFER_SIZE"))


def no_room_for_the_host(patch, session):
    patch.setattr(cl, "Buffer", failing("OUT_OF_HOST_MEMORY", cl.MemoryError))


def no_room_at_launch(patch, session):
    patch.setattr(cl.Kernel, "__call__", failing("OUT_OF_RESOURCES", cl.RuntimeError))


def no_room_at_the_end(patch, session):
    patch.setattr(stream.Stream, "_drain", failing("MEM_OBJECT_ALLOCATION_FAILURE", cl.MemoryError))


def wrong_group(patch, session):
    patch.setattr(cl.Kernel, "__call__", failing("INVALID_WORK_GROUP_SIZE"))


def wrong_alignment(patch, session):
    patch.setattr(cl, "Buffer", failing("MISALIGNED_SUB_BUFFER_OFFSET", cl.RuntimeError))


def lost_at_launch(patch, session):
    patch.setattr(cl.Kernel, "__call__", failing("DEVICE_NOT_AVAILABLE", cl.RuntimeError))


def lost_at_the_end(patch, session):
    patch.setattr(stream.Stream, "_drain", failing("INVALID_COMMAND_QUEUE"))


def no_queue(patch, session):
    patch.setattr(cl, "CommandQueue", failing("INVALID_CONTEXT"))


def forked(patch, session):
    patch.setattr(session, "_pid", -1)


MODES = {
    broken_build: "opencl-build-failed",
    broken_source: "opencl-build-failed",
    no_compiler: "opencl-build-failed",
    poisoned_cache: "opencl-cache-broken",
    no_room_for_a_buffer: "opencl-out-of-memory",
    too_large_a_buffer: "opencl-out-of-memory",
    no_room_for_the_host: "opencl-out-of-memory",
    no_room_at_launch: "opencl-out-of-memory",
    no_room_at_the_end: "opencl-out-of-memory",
    wrong_group: "opencl-call-failed",
    wrong_alignment: "opencl-call-failed",
    lost_at_launch: "opencl-device-lost",
    lost_at_the_end: "opencl-device-lost",
    no_queue: "opencl-device-lost",
    forked: "forked-engine",
}


@pytest.fixture
def fresh():
    """An engine that has built nothing yet."""
    return open_engine()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
def test_each_mode_is_one_documented_error(mode, fresh, monkeypatch):
    mode(monkeypatch, fresh.session)
    plan = make_plan(qcore.QuantScheme.parse(SCHEME), X.shape)
    stage = fresh.stage
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(errors.DeviceError) as caught:
            stage(X, plan).quantize_minmax()
    assert caught.value.code == MODES[mode]
    assert caught.value.cause
    assert caught.value.solutions


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
def test_each_mode_falls_back_to_the_processor_under_auto(mode, fresh, monkeypatch, caplog):
    real = loader.engine
    monkeypatch.setattr(auto, "LARGE", 1)
    monkeypatch.setattr(auto, "gpu_is_here", lambda: True)
    for place in ("qcore.ops.staircase.loader.engine", "qcore.tensor.qtensor.loader.engine"):
        monkeypatch.setattr(place, lambda name: fresh if name == "opencl" else real(name))
    mode(monkeypatch, fresh.session)
    with caplog.at_level(logging.WARNING, "qcore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q = qcore.quantize(X, SCHEME, backend="auto")
    assert q.backend == "cpu"
    assert q.to_data() == WANTED
    assert [record.name for record in caplog.records] == ["qcore.backends.auto"]
    assert "cpu instead of opencl" in caplog.text


def test_auto_takes_the_device_where_it_gains_and_the_processor_where_not(fresh, monkeypatch, caplog):
    monkeypatch.setattr(auto, "gpu_is_here", lambda: True)
    assert qcore.quantize(X, SCHEME, backend="auto").backend == "cpu"
    monkeypatch.setattr(auto, "LARGE", X.size)
    q = qcore.quantize(X, SCHEME, backend="Auto")
    assert q.backend == "opencl"
    assert q.to_data() == WANTED
    assert q.dequantize(backend="auto").tobytes() == qcore.from_data(WANTED).dequantize().tobytes()
    scales = qcore.compute_qparams(X, SCHEME, backend="auto").scales
    np.testing.assert_array_equal(scales, q.scales)
    monkeypatch.setattr(auto, "gpu_is_here", lambda: False)
    assert qcore.quantize(X, SCHEME, backend="auto").backend == "cpu"
    assert not caplog.records


def test_auto_takes_what_only_the_processor_takes_and_raises_what_nobody_takes(monkeypatch):
    monkeypatch.setattr(auto, "gpu_is_here", lambda: True)
    monkeypatch.setattr(auto, "LARGE", 1)
    assert qcore.quantize(X, "q4s/native", backend="auto").backend == "cpu"
    with pytest.raises(errors.NonFiniteError):
        qcore.quantize(np.float32([1, np.nan]), "q8s", backend="auto")


def test_auto_asks_for_a_gpu_and_pocl_is_none():
    auto._gpu_was_found.cache_clear()
    assert not auto.gpu_is_here()


def test_a_status_that_is_not_known_is_named_in_the_error():
    failure = failures.as_device_error(RuntimeError("clX failed: INVALID_EVENT"), "opencl:0:0", "wait")
    assert (failure.code, failure.params["status"]) == ("opencl-call-failed", "INVALID_EVENT")
    assert failures.status_of(RuntimeError("")) == "RuntimeError"


def test_nothing_is_launched_or_allocated_for_nothing(engine, monkeypatch):
    monkeypatch.setattr(cl, "Buffer", failing("INVALID_BUFFER_SIZE"))
    for shape in ((0,), (3, 0), (0, 7)):
        q = qcore.quantize(np.zeros(shape, np.float32), "q8s/native/t:f32", backend="opencl")
        assert q.dequantize().shape == shape
        assert q.codes.shape == shape
    stream.Stream(engine.session).launch("solve", (), "scales", 0)


def test_a_buffer_beyond_the_cap_is_refused_before_it_is_made(engine):
    with pytest.raises(errors.DeviceError, match="the device allows"):
        stream.Stream(engine.session).scratch(engine.session.facts.max_alloc + 1)


def test_group_sizes_divide_and_kernels_pass_over_what_is_too_many(engine):
    for n in (1, 63, 64, 65, 127, 129):
        plan = make_plan(qcore.QuantScheme.parse("q8s/native/b1:f32"), (n,))
        parts = engine.stage(np.ones(n, np.float32), plan).quantize_minmax()
        assert parts.values.tolist() == [127] * n
