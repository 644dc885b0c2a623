"""Claims of a file cost nothing and wrap nowhere; what changes under a reader is an error, and names are only data."""

import itertools
import math
import os
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
import source
from made_files import READERS, made

import qcore
from qcore import errors

pytestmark = pytest.mark.reliability

DIMS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)


@pytest.mark.parametrize("suffix", READERS)
def test_no_pair_and_no_triple_of_dimensions_wraps(tmp_path, suffix):
    """What opens has as many elements as integers without a width say."""
    path = tmp_path / f"w.{suffix}"
    opened = 0
    for dims in (*itertools.product(DIMS, repeat=2), *itertools.product(DIMS, repeat=3)):
        wrapped = 4 * math.prod(dims) % 2**64
        for nbytes in {0, 4, wrapped}:
            data = bytes(nbytes) if nbytes <= 4 else b""
            path.write_bytes(made(suffix, dims, nbytes, data=data))
            try:
                with qcore.open(path) as f:
                    (name,) = f.names()
                    info = f.info(name)
                    assert (info.shape, info.size) == (dims, math.prod(dims))
                    assert f.tensor(name).nbytes == 4 * math.prod(dims) == info.nbytes
                    opened += 1
            except errors.QuantError:
                continue
    assert opened


CHILD = """
import resource, sys
from pathlib import Path
import numpy as np, qcore
import ml_dtypes, zipfile, pickletools
from qcore import errors
folder = Path(sys.argv[1])
for path in sorted(folder.glob("good.*")):
    with qcore.open(path) as f:
        [f.tensor(name) for name in f.names()]
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
refused = 0
for path in sorted(folder.glob("claim*")):
    try:
        with qcore.open(path) as f:
            for name in f.names():
                f.tensor(name)
    except errors.QuantError:
        refused += 1
print(refused)
"""


def _claims():
    """Files of a few bytes, each of which says that something in it is enormous."""
    numbers = [2**31, 2**32 - 1, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 10**12, 2**31 + 7, 2**48]
    for number in numbers:
        word = number % 2**64
        for suffix in READERS:
            for shape in ((number,), (number, 2), (2, number), (1, number), (number, number)):
                yield suffix, made(suffix, shape, 4 * number)
                yield suffix, made(suffix, shape, 4)
        yield "safetensors", struct.pack("<Q", word) + b"{}"
        yield "gguf", b"GGUF" + struct.pack("<IQQ", 3, word, 0)
        yield "gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, word)
        for kind in (8, 9):  # a string, an array
            key = struct.pack("<Q", 1) + b"k" + struct.pack("<I", kind)
            key += struct.pack("<Q", word) if kind == 8 else struct.pack("<IQ", 4, word)
            yield "gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key
        yield "gguf", b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, word)
        yield "bpk", b"NRUB" + struct.pack("<HI", 1, word % 2**32)
        for major in (2, 3, 4, 5):
            claim = bytes([major << 5 | 27]) + struct.pack(">Q", word)
            yield "bpk", b"NRUB" + struct.pack("<HI", 1, len(claim)) + claim
            inside = b"\xa1\x67tensors" + claim
            yield "bpk", b"NRUB" + struct.pack("<HI", 1, len(inside)) + inside
        yield "npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", word % 2**32) + b"{}"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on the address space, and /proc")
def test_a_claim_of_anything_costs_no_memory(tmp_path):
    for suffix in READERS:
        (tmp_path / f"good.{suffix}").write_bytes(made(suffix, (2, 2), 16, data=bytes(16)))
    claims = list(_claims())
    assert len(claims) >= 400
    for number, (suffix, data) in enumerate(claims):
        (tmp_path / f"claim{number:05d}.{suffix}").write_bytes(data)
    result = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(source.ROOT), "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    assert int(result.stdout) == len(claims)


@pytest.mark.parametrize("change", ["truncated", "appended", "replaced"])
def test_a_file_that_changes_after_it_was_opened_is_an_error_or_what_it_was(tmp_path, change):
    rng = np.random.default_rng(11)
    for trial in range(200):
        suffix = ("safetensors", "bpk", "gguf", "npy", "npz")[trial % 5]
        path = tmp_path / f"w.{suffix}"
        path.unlink(missing_ok=True)
        qcore.save(path, {"w": X})
        with qcore.open(path) as f:
            (name,) = f.names()
            if change == "truncated":
                os.truncate(path, int(rng.integers(0, path.stat().st_size)))
            elif change == "appended":
                with path.open("ab") as file:
                    file.write(b"x" * int(rng.integers(1, 100)))
            else:
                other = path.with_name("other")
                other.write_bytes(rng.bytes(int(rng.integers(1, 5000))))
                other.replace(path)
            if change == "replaced":  # the open file is still the old one
                assert np.array_equal(f.tensor(name), X)
            else:
                with pytest.raises(errors.FormatError) as caught:
                    f.tensor(name)
                assert caught.value.code == "file-changed"


def test_a_file_that_another_process_cuts_while_it_is_read_never_kills_the_reader(tmp_path):
    path = tmp_path / "w.safetensors"
    big = np.random.default_rng(0).normal(size=(1 << 20,)).astype(np.float32)
    cuts = "import os, sys, time\nfor n in range(400):\n os.truncate(sys.argv[1], 4000 + n * 9000)\n time.sleep(0.002)"
    qcore.save(path, {"w": big})
    whole = path.read_bytes()
    outcomes = set()
    with subprocess.Popen([sys.executable, "-c", cuts, path]) as other:
        for _ in range(200):
            try:
                with qcore.open(path) as f:
                    outcomes.add(np.array_equal(f.tensor("w"), big))
            except errors.FormatError as error:
                outcomes.add(error.code)
            path.write_bytes(whole)
        other.wait(60)
    assert False not in outcomes  # never zeros, never half of it


def _repeated(entry):
    text = b"{" + b",".join([entry] * 100_000) + b"}"
    return len(text).to_bytes(8, "little") + text


NAMES = (
    "../up", "../../etc/passwd", "/etc/passwd", "C:\\windows", "\\\\host\\share", ".", "..", "a/../../b",
    "~root", "$HOME", "`id`", "$(id)", "; rm -rf x", "| cat", "&& id", "-o", "--help", "con", "nul.txt",
    "a\x00b", "a\nb", "a\rb", "a\tb", "\x1b[31mred", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\x07bell",
    "\x08\x08\x08", "\u202eevil", "\u2066x\u2069", "\u200b", "\ufeff", "<img src=x onerror=alert(1)>",
    "<b>bold</b>", "&lt;", "<script>1</script>", "</td>", "%s%s%n", "{0}", "{name}", "%00", "' OR 1=1",
    '"quoted"', "\\n", "\\x1b", "\U0001f600", "e\u0301", "\ufb01", "\xdf", "\u0130", "\u540d\u524d",
    "\u0627\u0633\u0645", " leading", "trailing ", "", "a" * 4000, "\xe9" * 2000, "__metadata", "w.scale",
    "\x7f", "\x85", "\u2028line",
)  # fmt: skip


def test_names_are_data_wherever_they_go(tmp_path):
    assert len(NAMES) >= 60
    folder = tmp_path / "inside"
    folder.mkdir()
    path = folder / "n.safetensors"
    qcore.save(path, dict.fromkeys(NAMES, X[:2]))
    before = sorted(tmp_path.rglob("*"))
    env = {**os.environ, "PYTHONPATH": str(source.ROOT)}

    def run(*words):
        command = [sys.executable, "-m", "qcore", *map(str, words)]
        result = subprocess.run(command, capture_output=True, cwd=folder, env=env, timeout=120, check=False)
        for text in (result.stdout.decode(), result.stderr.decode()):
            odd = {char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0}
            odd |= {char for char in text if char in "\u202e\u2066\u2069\u2028\u2029"}
            assert not odd, (words, odd)
        return result.returncode

    for words in (("info", path), ("info", path, "--tree"), ("check", path, "-s", "int8"), ("verify", path)):
        assert run(*words) in (0, 3)
    assert run("inspect", path, "\x1b[31mred") == 0
    for suffix in ("npz", "bpk", "safetensors", "gguf"):
        run("convert", path, "-o", f"out.{suffix}", "--layout", "keep")
    created = {p for p in tmp_path.rglob("*") if p not in before}
    assert {p.parent for p in created} <= {folder}
    assert {p.name for p in created} <= {f"out.{suffix}" for suffix in ("npz", "bpk", "safetensors", "gguf")}
    with qcore.open(folder / "out.safetensors") as f:
        assert set(f.names()) == set(NAMES)


LONG = "n" * (4 << 20)
WORST = {
    "a name of 4 MiB": [
        (suffix, made(suffix, (1,), 4, LONG, bytes(4))) for suffix in ("safetensors", "bpk", "gguf", "pt")
    ],
    "nesting without end": [
        ("safetensors", (200_005).to_bytes(8, "little") + b'{"a":' + b"[" * 200_000),
        ("bpk", b"NRUB\x01\x00" + (100_000).to_bytes(4, "little") + b"\x81" * 100_000),
        ("npy", b"\x93NUMPY\x01\x00\xff\xff" + b"{'descr': " + b"(" * 65_525),
    ],
    "one name a hundred thousand times": [
        ("safetensors", _repeated(b'"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}')),
    ],
}


@pytest.mark.parametrize("what", WORST)
def test_the_worst_case_of_a_reader_takes_no_time(tmp_path, what):
    for suffix, data in WORST[what]:
        path = tmp_path / f"w.{suffix}"
        path.write_bytes(data)
        begun = time.process_time()
        with pytest.raises(errors.QuantError):
            qcore.open(path)
        assert time.process_time() - begun < 10, "a hang: it is done in well under a second"
