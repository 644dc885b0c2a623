"""A burnpack that is rewritten in place survives whatever ends the work, and verify sees every flipped bit."""

import random
import signal
import subprocess
import sys
import time

import bpk
import numpy as np
import pytest
import source

import qcore
from qcore import errors
from qcore.formats.content import Deferred
from qcore.formats.protocol import TensorInfo

pytestmark = pytest.mark.reliability

# Rewrites a file between two forms for ever; somebody will end it.
TURNS = """
import sys, qcore
print("ready", flush=True)
while True:
    for burn in ("0.20", "0.22"):
        with qcore.open(sys.argv[1]) as f:
            qcore.save(sys.argv[1], f, burn=burn, overwrite=True)
"""
X = np.random.default_rng(0).standard_normal((300, 1024), dtype=np.float32)


def test_a_kill_while_a_file_is_rewritten_in_place_leaves_one_that_opens(tmp_path):
    path = tmp_path / "x.bpk"
    q = qcore.quantize(X, "q4s/u32/b32:f16")
    qcore.save(path, {"q": q, "x": X, "t": X > 0})
    moments = random.Random(2)
    for _ in range(30):
        child = subprocess.Popen([sys.executable, "-c", TURNS, path], stdout=subprocess.PIPE, cwd=source.ROOT)
        child.stdout.readline()
        time.sleep(moments.uniform(0, 0.1))
        child.kill()
        assert child.wait() == -signal.SIGKILL
        child.stdout.close()
        with qcore.open(path) as f:
            assert f.tensor("q") == q
            assert (f.tensor("x") == X).all()
    with qcore.open(path) as f:
        qcore.save(path, f, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.bpk"]


def test_a_tensor_that_fails_to_come_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.bpk"
    qcore.save(path, {"x": X})
    before = path.read_bytes()
    info = TensorInfo("late", (4,), "float32", None, 16, ("late",))

    def fails():
        raise ZeroDivisionError

    for load in (fails, lambda: np.zeros(3, np.float32), lambda: np.zeros(5, np.float32)):
        with pytest.raises((ZeroDivisionError, errors.QuantError)):
            qcore.save(path, {"early": X, "late": Deferred(info, load)}, overwrite=True)
        assert path.read_bytes() == before
        assert len(list(tmp_path.iterdir())) == 1


def test_verify_sees_every_flipped_bit_of_a_small_file(tmp_path):
    from qcore.cli.app import main

    path = tmp_path / "x.bpk"
    q = qcore.quantize(X[:4, :16], "q8s/native/b8:f16")
    qcore.save(path, {"q": q, "x": X[:2, :3]}, provenance=True)
    whole = path.read_bytes()
    with qcore.open(path) as f:
        header = f.stored.header
        covered = {
            header.start + at for tensor in header.tensors.values() for at in range(tensor.begin, tensor.end)
        }
    for at in sorted(covered):
        for bit in range(8):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            path.write_bytes(changed)
            assert main(["verify", str(path), "-q"]) == 5, (at, bit)
    for at in range(header.start):  # the header: an error of the structure, or a digest or name that no longer fits
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        path.write_bytes(changed)
        try:
            with qcore.open(path) as f:
                for name in f.names():
                    f.tensor(name)
        except errors.QuantError:
            continue


def test_a_file_larger_than_the_memory_allowed_is_written_again(tmp_path):
    path = tmp_path / "big.bpk"
    size = 1 << 30
    with open(path, "wb") as file:
        file.write(bpk.file({"tensors": {"big": bpk.tensor("F32", (size // 4,), 0, size)}}))
        file.truncate(file.tell() + size)
    child = (
        "import resource, sys, qcore\n"
        "from qcore.formats.content import Deferred\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "with qcore.open(sys.argv[1]) as f:\n"
        "    qcore.save(sys.argv[2], f, {'k': 'v'})\n"
        "    qcore.save(sys.argv[3], {'a': Deferred.of(f, 'big')})\n"
        "    qcore.save(sys.argv[4], f, provenance=True)\n"
        "with qcore.open(sys.argv[4]) as f:\n"
        "    qcore.save(sys.argv[2], f, layout='keep', overwrite=True)\n"
        # not ru_maxrss: that keeps what the process it was forked from had
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    words = [sys.executable, "-c", child, path, tmp_path / "told.bpk", tmp_path / "new.bpk", tmp_path / "x.safetensors"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=source.ROOT, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 512 << 10
    assert (tmp_path / "new.bpk").stat().st_size > size
