"""What is written is the same every time, opens elsewhere, and shows every change of a bit."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qcore
from qcore import errors
from qcore.formats.digests import digest_like

pytestmark = pytest.mark.reliability

X = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)
WRITTEN = ("safetensors", "npz", "npy", "bpk", "gguf")
DTYPES = ("float32", "float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool")
SCHEMES = ("int8", "int4-b32", "nvfp4", "mxfp4", "nf4", "q8_0", "q4_0", "q2f/u32:1/b2x4:bf16", "e5m2/native")


def _findings(path):
    """Whether a look at every digest finds a change."""
    try:
        with qcore.open(path) as f:
            entries = f.stored.entries.keys()
            recorded = f.stored.digests
            if recorded.keys() != entries:
                return True
            return any(digest_like(text, f.stored.raw(name)) != text for name, text in recorded.items())
    except errors.QuantError:
        return True


def test_every_flipped_bit_of_a_file_of_four_kilobytes_is_found(tmp_path):
    path = tmp_path / "x.safetensors"
    qcore.save(path, {"w": qcore.quantize(X, "int8-b32"), "b": X[:, :42], "c": X[:5]}, provenance=True)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    assert 8 * len(whole) >= 32_768
    texts = {at for at in range(start) if _in_a_text(whole, at)}
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        found = _findings(path)
        assert found or bit // 8 in texts, bit


def _in_a_text(whole, at):
    """Whether a byte of the header is of what no tensor's data depends on: how the file was made, spaces at the end."""
    header = whole[8 : 8 + int.from_bytes(whole[:8], "little")]
    place = at - 8
    how = header.index(b'"qcore.provenance"'), header.index(b"}", header.index(b'"qcore.version"'))
    beside = header.index(b'"format"'), header.index(b'"qcore.digest.')
    return any(first <= place <= last for first, last in (how, beside)) or place >= len(header.rstrip())


def test_random_flips_of_a_large_file_are_found(tmp_path):
    rng = np.random.default_rng(4)
    tensors = {f"t{n}": rng.integers(0, 2**31, (512, 1024), dtype=np.int32) for n in range(100)}
    path = tmp_path / "x.safetensors"
    qcore.save(path, tensors, provenance=True)
    assert path.stat().st_size > 200 << 20
    with qcore.open(path) as f:
        places = {name: f.position(name) for name in f.names()}
    with path.open("r+b") as file:
        for _ in range(2000):
            name = f"t{rng.integers(100)}"
            at, bit = places[name] + int(rng.integers(2 << 20)), int(rng.integers(8))
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << bit]))
            file.flush()
            with qcore.open(path) as f:
                recorded = f.stored.digests[name]
                assert digest_like(recorded, f.stored.raw(name)) != recorded
            file.seek(at)
            file.write(bytes([byte]))
    assert not _findings(path)


WRITE = """
import json, sys, numpy as np, qcore, hashlib, os
folder, order = sys.argv[1], sys.argv[2]
rng = np.random.default_rng(1)
x = rng.normal(size=(64, 256)).astype(np.float32)
tensors = {"w": qcore.quantize(x, "int4-b32"), "n": qcore.quantize(x, "q8_0"), "b": x[0], "i": x.astype(np.int32)}
names = sorted(tensors, reverse=order == "reversed")
tensors = {name: tensors[name] for name in names}
told = {"k": "v", "a": "b"} if order == "reversed" else {"a": "b", "k": "v"}
found = {}
for suffix in ("safetensors", "npz", "bpk", "gguf", "npy"):
    path = f"{folder}/x.{suffix}"
    if suffix == "npy":
        qcore.save(path, {"b": x}, overwrite=True)
    else:
        qcore.save(path, tensors, told, provenance=True, overwrite=True)
    found[suffix] = hashlib.sha256(open(path, "rb").read()).hexdigest()
qcore.save(f"{folder}/model", {"a.weight": tensors["w"]}, overwrite=True)
found["checkpoint"] = hashlib.sha256(open(f"{folder}/model/model.safetensors", "rb").read()).hexdigest()
print(json.dumps(found))
"""


def test_the_same_tensors_give_the_same_bytes_in_every_setting(tmp_path):
    """Six formats, 24 settings, one hash each."""
    seen = {}
    settings_ = [
        (seed, order, threads, zone, mask)
        for seed, threads in (("0", "1"), ("77", "2"), ("random", "3"))
        for order in ("sorted", "reversed")
        for zone, mask in (("UTC", 0o22), ("Asia/Tokyo", 0o77), ("America/Lima", 0o22), ("UTC+9", 0o2))
    ]
    assert len(settings_) == 24
    for number, (seed, order, threads, zone, mask) in enumerate(settings_):
        folder = tmp_path / str(number)
        folder.mkdir()
        env = {
            **os.environ, "PYTHONHASHSEED": seed, "QCORE_NUM_THREADS": threads, "TZ": zone,
            "LC_ALL": "C.UTF-8" if number % 2 else "C", "PYTHONPATH": str(source.ROOT),
        }  # fmt: skip
        result = subprocess.run(
            [sys.executable, "-c", WRITE, folder, order], capture_output=True, text=True, env=env, check=False,
            umask=mask, timeout=120,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr[-2000:]
        for suffix, digest in json.loads(result.stdout).items():
            seen.setdefault(suffix, set()).add(digest)
    assert {suffix: len(hashes) for suffix, hashes in seen.items()} == dict.fromkeys((*WRITTEN, "checkpoint"), 1)


NAMES = st.text(st.characters(codec="utf-8"), max_size=70)
KINDS = st.tuples(st.sampled_from([*DTYPES, *SCHEMES]), st.lists(st.integers(0, 5), max_size=5))


def _tensor(kind, shape):
    if kind in DTYPES:
        return (np.arange(int(np.prod(shape)), dtype=np.float64) % 100).reshape(shape).astype(kind)
    return qcore.quantize(np.resize(X, (*shape[:2], 64)), kind)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_a_writer_accepts_its_reader_opens_equal(tmp_path_factory, suffix):
    path = tmp_path_factory.mktemp("round") / f"x.{suffix}"
    sizes = {"max_size": 1, "min_size": 1} if suffix == "npy" else {"max_size": 3}
    accepted = []

    @settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(NAMES, KINDS, **sizes), st.booleans())
    def holds(kinds, told):
        tensors = {}
        for name, (kind, shape) in kinds.items():
            try:
                tensors[name] = _tensor(kind, tuple(shape))
            except errors.QuantError:
                return
        try:
            qcore.save(path, tensors, overwrite=True, provenance=told)
        except errors.QuantError:
            return
        accepted.append(len(tensors))
        with qcore.open(path) as f:
            assert len(f) == len(tensors)
            for name, value in tensors.items():
                got = f.tensor("x" if suffix == "npy" else name)
                if isinstance(value, qcore.QTensor):
                    assert got == value
                else:
                    assert (got.dtype, got.shape, got.tobytes()) == (value.dtype, value.shape, value.tobytes())
        assert suffix == "npy" or not told or not _findings(path)

    holds()
    assert len(accepted) > 200


@pytest.mark.parametrize("seed", range(150))
def test_the_official_readers_see_equal_values(tmp_path, seed):
    rng = np.random.default_rng(seed)
    tensors = {}
    for number in range(rng.integers(1, 6)):
        shape = tuple(rng.integers(0, 5, rng.integers(0, 4)))
        tensors[f"t{number}"] = (rng.normal(size=shape) * 50).astype(str(rng.choice(DTYPES[:9])))
    q = qcore.quantize(rng.normal(size=(4, 64)).astype(np.float32), str(rng.choice(SCHEMES)))
    qcore.save(tmp_path / "x.safetensors", {**tensors, "q": q}, provenance=bool(seed % 2))
    qcore.save(tmp_path / "x.npz", {**tensors, "q": q}, provenance=bool(seed % 2))
    first = next(iter(tensors))
    qcore.save(tmp_path / "x.npy", {first: tensors[first]})
    with safetensors.safe_open(tmp_path / "x.safetensors", "np") as theirs:
        assert set(theirs.keys()) >= set(tensors)
        for name, value in tensors.items():
            assert np.array_equal(theirs.get_tensor(name), value)
        if q.values.dtype.name in ("int8", "uint8", "uint32"):
            assert np.array_equal(theirs.get_tensor("q"), q.values)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as theirs:
        for name, value in tensors.items():
            assert (theirs[name].dtype, theirs[name].tobytes()) == (value.dtype, value.tobytes())
        assert np.array_equal(theirs["q"], q.values)
    assert np.array_equal(np.load(tmp_path / "x.npy"), tensors[first])


def test_the_reference_writers_are_read_with_equal_values(tmp_path):
    """The other way round, for every dtype that the reference writers know."""
    arrays = {name: np.resize(X, (3, 5)).astype(name) for name in DTYPES}
    safetensors.numpy.save_file(arrays, tmp_path / "x.safetensors")
    np.savez(tmp_path / "x.npz", **arrays)
    for name in ("x.safetensors", "x.npz"):
        with qcore.open(tmp_path / name) as f:
            assert all(np.array_equal(f.tensor(key), value) for key, value in arrays.items())
