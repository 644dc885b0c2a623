"""Division in whole numbers equals IEEE division; conversions equal NumPy's; on the device, densely."""

from pathlib import Path

import numpy as np
import pytest

from qcore.backends.opencl import program

QUOTIENTS = (Path(__file__).parent / "kernels" / "quotients.cl").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def divide(engine):
    import pyopencl as cl

    session = engine.session
    floats = (Path(program.__file__).parent / "kernels" / "floats.cl").read_text(encoding="utf-8")
    built = cl.Program(session.context, f"{floats}\n{QUOTIENTS}").build(options=["-cl-std=CL1.2"])
    kernel, queue, flags = cl.Kernel(built, "quotients"), session.queue(), cl.mem_flags

    def call(x, s):
        found = np.empty_like(x)
        read = flags.READ_ONLY | flags.COPY_HOST_PTR
        sources = [cl.Buffer(session.context, read, hostbuf=np.ascontiguousarray(a)) for a in (x, s)]
        to = cl.Buffer(session.context, flags.WRITE_ONLY, found.nbytes)
        kernel(queue, (-(-x.size // 64) * 64,), (64,), *sources, to, np.uint64(x.size))
        cl.enqueue_copy(queue, found, to)
        return found

    return call


def agree(found, x, s):
    with np.errstate(all="ignore"):
        wanted = x / s
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(found.view(np.uint32)[~nan], wanted.view(np.uint32)[~nan])


def test_any_two_bit_patterns_divide_as_ieee_says(divide):
    rng = np.random.default_rng(0)
    for _ in range(4):
        x, s = (rng.integers(0, 1 << 32, 1 << 20, np.uint32).view(np.float32) for _ in range(2))
        agree(divide(x, s), x, s)


def test_quotients_at_every_edge_of_the_exponent_divide_as_ieee_says(divide):
    exponents = np.arange(256, dtype=np.uint32) << 23
    mantissas = np.array([0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF], np.uint32)
    numbers = np.unique(np.concatenate([(exponents[:, None] | mantissas).reshape(-1)])).view(np.float32)
    signed = np.concatenate([numbers, -numbers])
    some = signed[np.random.default_rng(1).permutation(signed.size)[:512]]
    x, s = (grid.reshape(-1) for grid in np.meshgrid(signed, some))
    agree(divide(x, s), x, s)


def test_quotients_that_lie_next_to_a_tie_round_as_ieee_says(divide):
    # x = (q + a half of its last place) * s, rounded: the nearest there is to a tie, and its two neighbours
    rng = np.random.default_rng(2)
    q = rng.integers(1 << 23, 1 << 24, 1 << 19).astype(np.float64)
    s = rng.integers(1 << 23, 1 << 24, 1 << 19).astype(np.float64)
    scale = np.exp2(rng.integers(-140, 20, q.size).astype(np.float64))
    with np.errstate(over="ignore", under="ignore"):
        x = ((q + 0.5) * s * scale).astype(np.float32)
    s = s.astype(np.float32)
    for given in (x, np.nextafter(x, np.float32(0)), np.nextafter(x, np.float32(np.inf))):
        agree(divide(given, s), given, s)
    # results below the smallest normal number, where less of the quotient is kept
    tiny = (q * np.exp2(rng.integers(-172, -148, q.size).astype(np.float64))).astype(np.float32)
    large = np.exp2(rng.integers(0, 24, q.size)).astype(np.float32) * s / np.float32(1 << 23)
    agree(divide(tiny, large), tiny, large)


def test_a_wrong_division_would_be_noticed():
    x, s = np.float32([1, 2, 3]), np.float32([3, 7, 11])
    with pytest.raises(AssertionError):
        agree(np.nextafter(x / s, np.float32(1)), x, s)
