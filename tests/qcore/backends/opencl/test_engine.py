"""One engine: tiles under a cap, threads, processes, forks, caches, times, and the form a GPU runs."""

import multiprocessing
import os
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import qcore
from qcore import errors
from qcore.backends import loader
from qcore.backends.opencl import open_engine
from qcore.backends.opencl.tiles import tiles
from qcore.calibration.scale_rounding import encode_scales
from qcore.plan import make_plan

SCHEMES = (
    "q8f/native/t:f32",
    "q8s/u32/b5:f16",
    "q8s/native/b3x5:f32",
    "q4s/u32/b32:f16",
    "q4f/u32:1/b4x8:bf16",
    "q2s/u32:1/t:f32",
    "e2m1/packed/b16:ue4m3/t:f32",
    "e2m1/packed:1/b2x3:ue8m0",
    "e4m3/native/b32:ue8m0",
    "e5m2/u32/b8:ue4m3",
)
DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def weights(shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * np.exp2(rng.integers(-4, 5, shape))).astype(dtype)


def parts_on(engine, x, text, codebook=None, **options):
    plan = make_plan(qcore.QuantScheme.parse(text), x.shape, codebook=codebook, **options)
    parts = engine.stage(x, plan, None).quantize_minmax()
    floats = np.empty(x.shape, np.float32)
    engine.decode(parts.values, parts.scales, parts.global_scale, plan, floats, None)
    codes = engine.unpack(parts.values, plan)
    level = None if parts.global_scale is None else parts.global_scale.tobytes()
    answer = parts.values.tobytes(), parts.scales.tobytes(), level, floats.tobytes(), codes.tobytes()
    assert engine.pack(codes, plan).tobytes() == answer[0]
    again = engine.stage(x, plan, None).encode(parts.scales, parts.global_scale)
    assert again.tobytes() == answer[0]
    return answer


@pytest.mark.parametrize("text", SCHEMES)
def test_tiles_under_a_small_cap_change_no_byte(engine, text):
    kept = engine.session.max_alloc
    x = weights((3, 24, 50))
    wanted = parts_on(loader.engine("cpu"), x, text)
    try:
        for cap in (100, 256, 1000, 4096, 20000):
            engine.session.max_alloc = cap
            assert parts_on(engine, x, text) == wanted, cap
    finally:
        engine.session.max_alloc = kept


@pytest.mark.parametrize("text", SCHEMES)
@pytest.mark.parametrize("most", [1, 7, 60, 500, 10**6])
def test_tiles_cover_every_element_once_and_keep_blocks_and_words_whole(text, most):
    plan = make_plan(qcore.QuantScheme.parse(text), (3, 24, 50))
    seen = np.zeros(plan.shape, int)
    words = np.zeros(plan.storage_shape, int)
    for tile in tiles(plan, plan.extents, most):
        seen[tile.where] += 1
        words[tile.storage] += 1
        for cut, extent, dim in zip(tile.where, plan.extents, tile.shape, strict=True):
            inside_one_block = cut.start // extent == (cut.stop - 1) // extent
            assert cut.start % extent == 0 or inside_one_block
            assert cut.stop - cut.start == dim
    assert (seen == 1).all()
    assert (words == 1).all()


def test_a_cap_of_64_mib_is_met_by_tiles():
    engine = open_engine(max_alloc=64 << 20)
    x = np.full((40, 1 << 19), 0.5, np.float32)  # 80 MiB
    x[-1, -1] = -1.0
    plan = make_plan(qcore.QuantScheme.parse("q8s/native/t:f32"), x.shape)
    assert len(tiles(plan, plan.extents, engine.session.max_alloc // 4)) == 2
    parts = engine.stage(x, plan).quantize_minmax()
    assert parts.values[0, 0] == 64
    assert parts.values[-1, -1] == -127


@pytest.mark.parametrize("text", SCHEMES)
def test_the_form_a_gpu_runs_gives_the_same_bytes(gpu_form, text):
    for shape in ((3, 24, 50), (4, 96), (1000,)):
        if text.split("/")[1].endswith(":1") and len(shape) == 1:
            continue
        if "x" in text and len(shape) == 1:
            continue
        x = weights(shape, seed=len(shape))
        assert parts_on(gpu_form, x, text) == parts_on(loader.engine("cpu"), x, text)


def test_the_form_a_gpu_runs_looks_tables_up(gpu_form):
    x = weights((9, 64))
    book = qcore.Codebook.named("nf4")
    wanted = parts_on(loader.engine("cpu"), x, "q4f/u32/lookup/b64:f32", book)
    assert parts_on(gpu_form, x, "q4f/u32/lookup/b64:f32", book) == wanted


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_float_type_goes_in_and_comes_out(dtype):
    x = weights((7, 33), dtype)
    q, wanted = (qcore.quantize(x, "q8s/native/b8:f16", backend=b) for b in ("opencl", "cpu"))
    assert q.to_data() == wanted.to_data()
    for out in DTYPES:
        assert q.dequantize(out).tobytes() == wanted.dequantize(out).tobytes()
        strided = np.zeros((14, 66), out)[::2, ::2]
        q.dequantize(out=strided, dtype=None)
        np.testing.assert_array_equal(strided, wanted.dequantize(out))


def test_threads_share_an_engine_and_each_gets_its_own_arguments(engine):
    x = [weights((64, 64), seed=n) for n in range(8)]
    wanted = [parts_on(loader.engine("cpu"), one, "q4s/u32/b32:f16") for one in x]
    wrong = []

    def work(n):
        answers = [parts_on(engine, x[n], "q4s/u32/b32:f16") for _ in range(12)]
        wrong.extend(answer for answer in answers if answer != wanted[n])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def _in_a_child(answers, backend):
    try:
        q = qcore.quantize(np.float32([1, -2]), "q8s/native/t:f32", backend=backend)
        answers.put(("done", q.codes.tolist()))
    except errors.QuantError as failure:
        answers.put((failure.code, str(failure)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("backend", ["opencl", "opencl:0:0", "cpu", "auto"])
def test_a_forked_child_answers_at_once(backend):
    qcore.quantize(np.float32([1, -2]), "q8s/native/t:f32", backend="opencl")
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_a_child, args=(answers, backend))
    child.start()
    code, text = answers.get(timeout=20)
    child.join(timeout=20)
    assert child.exitcode == 0
    if backend.startswith("opencl"):
        assert code == "forked-engine"
        assert f"pid {os.getpid()}" in text
    else:
        assert (code, text) == ("done", [64, -127])


FRESH = """
import numpy as np, qcore
q = qcore.quantize(np.float32([1, -2, 3, 4] * 8), "q4s/u32/b32:f16", backend="opencl")
assert q.to_data() == qcore.quantize(np.float32([1, -2, 3, 4] * 8), "q4s/u32/b32:f16").to_data()
print("right")
"""


def start(**environment):
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", FRESH], env=settings, **pipes)


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.reliability)])
def test_processes_that_build_at_once_over_a_cold_cache_all_work(count, tmp_path):
    started = [start(POCL_CACHE_DIR=str(tmp_path)) for _ in range(count)]
    for process in started:
        out, complaint = process.communicate(timeout=120)
        assert out.strip() == "right", complaint


def test_a_cache_that_cannot_be_written_is_an_answer_and_no_crash(tmp_path):
    (tmp_path / "file").write_text("where a folder should be")
    process = start(
        POCL_CACHE_DIR=str(tmp_path / "file" / "cache"), HOME="/nonexistent", XDG_CACHE_HOME="/nonexistent"
    )
    out, complaint = process.communicate(timeout=120)
    assert out.strip() == "right" or "DeviceError" in complaint, complaint
    assert process.returncode in (0, 1)


def test_times_of_kernels_and_copies_are_told_apart():
    engine = open_engine(profile=True)
    x = weights((64, 512))
    parts_on(engine, x, "q8s/native/b32:f16")
    spent = engine.session.spent()
    assert {one.name for one in spent if one.kind == "kernel"} >= {
        "quantize_runs",
        "encode_runs",
        "decode_runs",
    }
    assert {one.kind for one in spent} == {"kernel", "copy"}
    assert all(one.seconds >= 0 for one in spent)
    assert engine.session.spent() == []


def test_scales_given_as_numbers_are_stored_first(engine):
    x = weights((4, 32))
    plan = make_plan(qcore.QuantScheme.parse("q8s/native/b8:f16"), x.shape)
    parts = engine.stage(x, plan).quantize_minmax()
    numbers = parts.scales.astype(np.float32)
    assert encode_scales(numbers, plan.scale.dtype).tobytes() == parts.scales.tobytes()
    assert engine.stage(x, plan).encode(numbers, None).tobytes() == parts.values.tobytes()
