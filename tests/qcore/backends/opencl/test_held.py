"""Arrays of a device: quantized where they lie, kept there, the bytes of the host's copy."""

import numpy as np
import pyopencl as cl
import pytest
from pyopencl import array as arrays

import qcore
from qcore import errors

X = np.random.default_rng(3).normal(size=(24, 96)).astype(np.float32)
SCHEMES = (
    "int8",
    "q8s/u32/b32:f16",
    "q4s/u32:1/b8x1:bf16",
    "nvfp4",
    "mxfp4",
    "nf4",
    "q2s/u32/b5:f32",
    "int8-channel",
)


@pytest.fixture(scope="module")
def queue():
    platform = cl.get_platforms()[0]
    return cl.CommandQueue(cl.Context([platform.get_devices()[0]]))


def is_on_the_device(q):
    with pytest.raises(AttributeError):
        object.__getattribute__(q, "_values")
    return True


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_array_gives_the_bytes_of_its_copy_and_stays_where_it_is(queue, scheme):
    q = qcore.quantize(arrays.to_device(queue, X), scheme, backend="opencl")
    wanted = qcore.quantize(X, scheme)
    assert is_on_the_device(q)
    assert (q.shape, q.scheme, q.nbytes, q.backend) == (wanted.shape, wanted.scheme, wanted.nbytes, "opencl")
    assert q.dequantize().tobytes() == wanted.dequantize().tobytes()
    assert is_on_the_device(q)
    held = q._held.to_array(q.shape)
    assert isinstance(held, arrays.Array)
    assert held.get().tobytes() == wanted.dequantize().tobytes()
    assert q._held.arrays()["values"].get().tobytes() == wanted.values.tobytes()
    assert q._held.arrays()["scales"].get().tobytes() == wanted.scales.tobytes()
    assert q.to_data() == wanted.to_data()
    np.testing.assert_array_equal(q.codes, wanted.codes)
    assert q.global_scale == wanted.global_scale
    assert not q.values.flags.writeable
    assert q.to("cpu") == wanted


@pytest.mark.parametrize("calibration", ["absmean", "percentile:99", "mse"])
def test_other_calibrations_are_settled_on_the_host_and_encoded_on_the_device(queue, calibration):
    for scheme in ("q4s/u32/b32:f16", "e2m1/packed/b32:ue8m0"):
        q = qcore.quantize(arrays.to_device(queue, X), scheme, calibration=calibration, backend="opencl")
        assert is_on_the_device(q)
        assert q.to_data() == qcore.quantize(X, scheme, calibration=calibration).to_data()


def test_explicit_scales_are_taken(queue):
    params = qcore.QuantParams([0.25])
    q = qcore.quantize(arrays.to_device(queue, X), "int8", params=params, backend="opencl")
    assert q.to_data() == qcore.quantize(X, "int8", params=params).to_data()


def test_halves_and_doubles_and_parts_of_arrays_are_taken(queue):
    for dtype in (np.float16, np.float64):
        x = X.astype(dtype)
        q = qcore.quantize(arrays.to_device(queue, x), "int8-b32", backend="opencl")
        assert q.to_data() == qcore.quantize(x, "int8-b32").to_data()
    part = arrays.to_device(queue, X)[5:9]
    assert part.offset
    assert (
        qcore.quantize(part, "int8-b32", backend="opencl").to_data()
        == qcore.quantize(X[5:9], "int8-b32").to_data()
    )


def test_the_events_of_an_array_are_waited_for(queue):
    x = arrays.to_device(queue, X) * np.float32(2)
    q = qcore.quantize(x, "int8", backend="opencl")
    assert q.to_data() == qcore.quantize(X * 2, "int8").to_data()


def test_what_is_not_finite_is_refused_or_saturates_as_on_the_host(queue):
    x = X.copy()
    x[2, 3] = np.inf
    held = arrays.to_device(queue, x)
    with pytest.raises(errors.NonFiniteError) as caught:
        qcore.quantize(held, "int8-b32", backend="opencl")
    assert caught.value.params["index"] == 2 * 96 + 3
    q = qcore.quantize(held, "int8-b32", backend="opencl", nonfinite="saturate")
    assert q.to_data() == qcore.quantize(x, "int8-b32", nonfinite="saturate").to_data()


def test_an_array_of_a_device_needs_a_backend_with_devices(queue):
    held = arrays.to_device(queue, X)
    with pytest.raises(errors.DTypeError) as caught:
        qcore.quantize(held, "int8")
    assert caught.value.code == "input-device"
    assert qcore.quantize(held, "int8", backend="auto").to_data() == qcore.quantize(X, "int8").to_data()
    with pytest.raises(errors.DTypeError):
        qcore.quantize(arrays.to_device(queue, np.arange(4, dtype=np.int32)), "int8", backend="opencl")


def test_an_empty_array_of_a_device_has_no_codes(queue):
    q = qcore.quantize(arrays.zeros(queue, (0, 4), np.float32), "int8", backend="opencl")
    assert q.codes.shape == (0, 4)
