"""Faults that projects doing this job have shipped: the smallest input of each, and what is right."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from matrix import GROUPS, expected_refusal, schemes, table_for

import qcore

BACKENDS = ("cpu", "opencl", "reference")
ROOT = Path(__file__).parents[2]


def quantized(x: Any, text: str, backend: str = "cpu", **options: Any) -> qcore.QTensor:
    if backend == "opencl" and text[:2] in ("q4", "q2", "e2"):  # no byte per value there: the codes are the same
        text = text.replace("/native", "/u32")
    return qcore.quantize(np.asarray(x, np.float32), text, backend=backend, **options)


def under(scale: float, x: Any, text: str, backend: str, **options: Any) -> qcore.QTensor:
    return quantized(x, text, backend, params=qcore.QuantParams(scales=[scale]), **options)


# 1: codes depended on whether the compiler fused a multiply and an add


def test_codes_do_not_depend_on_fused_arithmetic() -> None:
    x = np.random.default_rng(0).normal(size=1 << 18).astype(np.float32)
    for text in ("q8s/native/b32:f32", "q4f/u32/b32:f16", "e4m3/native/b32:f32"):
        wanted = quantized(x, text)
        for backend in ("opencl", "reference"):
            assert quantized(x, text, backend).to_data() == wanted.to_data()
            assert quantized(x, text, backend).dequantize().tobytes() == wanted.dequantize().tobytes()


def test_kernels_are_compiled_without_contraction_or_fast_math() -> None:
    build = (ROOT / "setup.py").read_text()
    assert "-ffp-contract=off" in build
    for source in (build, *(path.read_text() for path in (ROOT / "qcore_ext").rglob("*.h"))):
        code = re.sub(r"(#|//|/\*).*", "", source)
        for banned in ("-Ofast", "-ffast-math", "-march=native", "-funsafe-math", "FP_CONTRACT ON"):
            assert banned not in code


# 2: a float-to-integer cast that C leaves undefined


@pytest.mark.parametrize("backend", [*BACKENDS, "burn-ndarray"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_a_non_finite_element_is_refused_before_any_cast(special: float, backend: str) -> None:
    values = ("q8s",) if backend == "burn-ndarray" else ("q8s", "q8f", "q4s", "q4f", "q2s", "q2f")
    for value in values:
        with pytest.raises(qcore.errors.NonFiniteError) as caught:
            quantized([1, special], f"{value}/native/t:f32", backend)
        assert (caught.value.params["count"], caught.value.params["index"]) == (1, 1)
        q = quantized([1, special], f"{value}/native/t:f32", backend, nonfinite="saturate")
        half, hi, lo = oracle.half_range(value), q.scheme.value.hi, q.scheme.value.lo
        assert q.scales[0] == np.float32(1) / half
        assert q.codes.tolist() == [min(np.ceil(half), hi), {np.inf: hi, -np.inf: lo}.get(special, 0)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_far_beyond_the_range_saturates(backend: str) -> None:
    for value, (_, lo, hi) in oracle.INTEGERS.items():
        q = under(1.0, [300, -300, 3e38, -3e38, 2**31, -(2.0**63)], f"{value}/native/t:f32", backend)
        assert q.codes.tolist() == [hi, lo, hi, lo, hi, lo]
        q = under(1e-45, [300, -300], f"{value}/native/t:f32", backend)
        assert q.codes.tolist() == [hi, lo]


# 4: byte length computed from the flat count


@pytest.mark.parametrize(("text", "shape", "values_nbytes"), [
    ("q4s/u32/t:f32", (3, 3), 12),
    ("q4s/u32/t:f32", (2, 9), 16),
    ("q2s/u32/t:f32", (3, 17), 24),
    ("q4s/u32:1/t:f32", (9, 2), 16),
    ("e2m1/packed/t:f32", (3, 3), 6),
])  # fmt: skip
@pytest.mark.parametrize("backend", BACKENDS)
def test_packed_lengths_count_every_line(
    text: str, shape: tuple[int, ...], values_nbytes: int, backend: str
) -> None:
    q = quantized(-np.ones(shape), text, backend)
    assert q.values.nbytes == values_nbytes
    assert len(q.to_data().bytes) == q.nbytes == values_nbytes + 4
    assert qcore.quantized_data_len(text, shape) == q.nbytes
    used = np.zeros_like(q.values)
    everything = np.full(shape, -1 if q.codes.dtype == np.int8 else 15, q.codes.dtype)
    used |= qcore.pack(everything, q.scheme.value, q.scheme.store)
    assert not (q.values & ~used).any()


# 5: a forked worker hung


def _quantize_in_child(queue: Any) -> None:
    x = np.random.default_rng(1).normal(size=(700, 700)).astype(np.float32)
    queue.put(quantized(x, "q8s/native/b20:f32", threads=2).to_data().bytes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_finishes() -> None:
    x = np.random.default_rng(1).normal(size=(700, 700)).astype(np.float32)
    wanted = quantized(x, "q8s/native/b20:f32", threads=2).to_data().bytes
    for _ in range(3):
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_quantize_in_child, args=(queue,))
        child.start()
        assert queue.get(timeout=20) == wanted
        child.join(20)
        assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_bare_fork_finishes() -> None:
    x = np.random.default_rng(1).normal(size=(700, 700)).astype(np.float32)
    q = quantized(x, "q4s/u32/b20:f16", threads=2)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        again = quantized(x, "q4s/u32/b20:f16", threads=2)
        os._exit(0 if again.to_data() == q.to_data() and again.dequantize().any() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# 6: a scale stored to nearest clipped the peak


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_stored_scale_is_never_below_what_the_block_needs(backend: str) -> None:
    x = np.linspace(-1, 1, 16)
    q = quantized(x, "q8s/native/b16:ue4m3", backend)
    assert q.scales.view(np.uint8).tolist() == [5]
    assert q.codes[-1] == 102
    assert q.dequantize()[-1] == np.float32(102 * 0.009765625)
    for dtype in ("f16", "bf16"):
        stored = float(quantized(x, f"q8s/native/b16:{dtype}", backend).scales[0])
        assert stored >= np.float32(1 / 127)


# 7: two-dimensional blocks treated as flat runs


@pytest.mark.parametrize("backend", [*BACKENDS, "burn-ndarray"])
def test_a_block_is_a_rectangle_not_a_run(backend: str) -> None:
    q = quantized([[1, 2, 100, 200], [3, 4, 300, 400]], "q8s/native/b2x2:f32", backend)
    np.testing.assert_array_equal(q.scales, np.float32([[4, 400]]) / np.float32(127))
    np.testing.assert_allclose(q.dequantize()[0], [1.00787, 2.01575, 100.787, 201.575], rtol=1e-5)


# 11: floor(abs(x) + 0.5) is not rounding


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_largest_float_below_a_half_rounds_to_zero(backend: str) -> None:
    below = np.nextafter(np.float32(0.5), np.float32(0))
    x = [below, -below, 0.5, -0.5, 1.5, 2.5, -2.5, 8388609.0]
    for value in ("q8s", "q8f"):
        away = under(1.0, x, f"{value}/native/t:f32", backend)
        assert away.codes.tolist() == [0, 0, 1, -1, 2, 3, -3, 127]
        even = under(1.0, x, f"{value}/native/t:f32", backend, rounding="half-even")
        assert even.codes.tolist() == [0, 0, 0, 0, 2, 2, -2, 127]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_tie_of_every_integer_type_follows_the_rule(backend: str) -> None:
    for value, (_, lo, hi) in oracle.INTEGERS.items():
        ties = np.arange(lo - 2, hi + 2, dtype=np.float32) + np.float32(0.5)
        x = np.concatenate([ties, np.nextafter(ties, np.float32(1e9)), np.nextafter(ties, np.float32(-1e9))])
        for rounding in ("half-away", "half-even"):
            for scale in (1.0, 0.25, 2.0**-20):
                q = under(scale, x * np.float32(scale), f"{value}/native/t:f32", backend, rounding=rounding)
                np.testing.assert_array_equal(q.codes, oracle.encode_integers(x, value, rounding))


# 12: E2M1 ties went the wrong way


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("store", ["native", "packed", "u32"])
def test_fp4_ties_go_to_the_even_code(store: str, backend: str) -> None:
    ties = np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    even, up, down = [0, 1, 1, 2, 2, 4, 4], [0.5, 1, 1.5, 2, 3, 4, 6], [0, 0.5, 1, 1.5, 2, 3, 4]
    text = f"e2m1/{store}/t:f32"
    for sign in (1, -1):
        for x, wanted in (
            (ties, even),
            (np.nextafter(ties, np.float32(9)), up),
            (np.nextafter(ties, np.float32(0)), down),
        ):
            q = under(1.0, sign * x, text, backend)
            assert (sign * q.dequantize()).tolist() == wanted
            assert (np.signbit(q.dequantize()) == (sign < 0)).all()


# 15: strided input read in memory order


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "text", ["q8s/native/b16:f32", "q4s/u32/b32:f16", "e2m1/packed/b16:ue4m3/t:f32", "nf4", "q8s/native"]
)
def test_strides_are_followed(text: str, backend: str) -> None:
    x = np.random.default_rng(2).normal(size=(64, 128)).astype(np.float32)
    for view in (x[::2], x.T, x[::-1], x[:, ::-1], x[::-2, ::-4], np.broadcast_to(x[:1], x.shape)):
        wanted = qcore.quantize(np.ascontiguousarray(view), text, backend=backend)
        assert qcore.quantize(view, text, backend=backend).to_data() == wanted.to_data()


# 17: overflow to fp8 gave NaN in one place and 448 in another


@pytest.mark.parametrize("backend", BACKENDS)
def test_fp8_saturates_and_never_stores_a_nan(backend: str) -> None:
    x = [448, 464, 465, 1000, -1000, 3e38]
    assert under(1.0, x, "e4m3/native/t:f32", backend).codes.tolist() == [0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x7E]
    x = [57344, 61440, 65536, -1e9]
    assert under(1.0, x, "e5m2/native/t:f32", backend).codes.tolist() == [0x7B, 0x7B, 0x7B, 0xFB]
    q = under(1.0, [np.inf, -np.inf, np.nan], "e4m3/native/t:f32", backend, nonfinite="saturate")
    assert q.codes.tolist() == [0x7E, 0xFE, 0]


# 19: a 32-bit index overflowed (the large tensor itself belongs to `make reliability`)


def test_kernels_index_with_64_bits() -> None:
    narrow = re.compile(r"^\s*(?:cdef\s+)?(?:unsigned\s+)?(?:int|int32_t|uint32_t)\s+(\w+)", re.MULTILINE)
    # words hold codes, bits and small counts; anything that walks elements is Py_ssize_t, ptrdiff_t, size_t or int64_t
    walking = re.compile(
        r"^(i|j|k|n|index|start|stop|offset|offsets?|stride|length|count|total|position|row|col|line)$"
    )
    for path in (ROOT / "qcore_ext").rglob("*.pyx"):
        for name in narrow.findall(path.read_text()):
            assert not walking.match(name), f"{path.name}: {name} is 32 bits wide"


# 21: an all-zero block was 0/0


@pytest.mark.parametrize("backend", BACKENDS)
def test_zeros_give_zero_codes_zero_scales_and_exact_zeros(backend: str) -> None:
    for group in GROUPS:
        for fields, shape in schemes(group):
            if shape not in ((5, 7), (4, 13), (4, 32)) or expected_refusal(
                fields, shape, "quantize", backend
            ):
                continue
            if backend == "opencl" and fields.store == "native" and fields.value[:2] in ("q4", "q2", "e2"):
                continue
            kept = {"codebook": qcore.Codebook(table_for(fields.value))} if fields.lookup else {}
            some = np.zeros(shape, np.float32)
            some[(-1,) * len(shape)] = 3.0
            for x in (np.zeros(shape, np.float32), -np.zeros(shape, np.float32), some):
                q = qcore.quantize(x, fields.text, backend=backend, **kept)
                zero = q.codebook.zero_index if fields.lookup else 0
                assert (q.codes[x == 0] == zero).all() or fields.value in oracle.MINIFLOATS
                assert not q.dequantize()[x == 0].any(), fields.text
                scales = np.asarray(q.scales).astype(np.float32).reshape(-1)
                if not x.any():
                    assert (q.codes == zero).all()
                    assert (scales == (2.0**-127 if fields.scale_dtype == "ue8m0" else 0)).all(), fields.text
                    assert q.global_scale is None or q.global_scale == oracle.SMALLEST_NORMAL_F32


def test_calling_the_library_leaves_the_floating_point_state_alone() -> None:
    script = (
        "import numpy as np; before = np.geterr(); import qcore;"
        "q = qcore.quantize(np.linspace(-1, 1, 4096, dtype=np.float32), 'q4s/u32/b32:f16', threads=2); q.dequantize();"
        "assert np.geterr() == before; tiny = np.float32(1e-40); assert tiny * np.float32(1) == tiny != 0;"
        "assert np.float32(3e-39) / np.float32(4) != 0"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
