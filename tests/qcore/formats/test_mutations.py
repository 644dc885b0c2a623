"""Whatever bytes a file has, reading it ends in tensors or in a documented error; a digest finds every flipped bit."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore import errors
from qcore.formats.digests import digest

X = np.random.default_rng(0).normal(size=(4, 32)).astype(np.float32)


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """One good file of each format, as bytes."""
    folder = tmp_path_factory.mktemp("valid")
    tensors = {"w": qcore.quantize(X, "nvfp4"), "l": qcore.quantize(X, "nf4"), "b": X[0], "m": X > 0}
    for suffix in ("safetensors", "npz", "bpk"):
        qcore.save(folder / f"x.{suffix}", tensors, {"k": "v"}, provenance=True)
    qcore.save(folder / "x.npy", {"x": X})
    np.savez_compressed(folder / "y.npz", a=X, b=X[0])
    return [(path.suffix, path.read_bytes()) for path in sorted(folder.iterdir())]


def read_all(path):
    with qcore.open(path) as f:
        for name in f.names():
            f.info(name)
            f.tensor(name)


CUTS = st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12))


@given(st.integers(0, 4), st.lists(CUTS, min_size=1, max_size=3))
def test_a_mutated_file_ends_in_tensors_or_a_documented_error(tmp_path_factory, valid, which, cuts):
    suffix, data = valid[which]
    for place, removed, added in cuts:
        at = int(place * len(data))
        data = data[:at] + added + data[at + removed :]
    path = tmp_path_factory.mktemp("mutated") / f"x{suffix}"
    path.write_bytes(data)
    with suppress(errors.QuantError):
        read_all(path)


@given(st.sampled_from([".safetensors", ".npz", ".npy", ".bpk", ".dat"]), st.binary(max_size=300))
def test_any_bytes_end_in_tensors_or_a_documented_error(tmp_path_factory, suffix, data):
    path = tmp_path_factory.mktemp("any") / f"x{suffix}"
    path.write_bytes(data)
    with suppress(errors.QuantError):
        read_all(path)


def test_every_flipped_bit_of_the_data_is_found_by_its_digest(tmp_path):
    path = tmp_path / "x.safetensors"
    qcore.save(path, {"w": qcore.quantize(X, "int4-b32")}, provenance=True)
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    for bit in range(8 * start, 8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with qcore.open(path) as f:
            assert any(digest(f.stored.raw(name)) != text for name, text in f.stored.digests.items())


@pytest.mark.parametrize("text", ["[]", "{}", '"x"', "1e5", '"\u0101"', "[[]]"])
def test_opening_takes_memory_in_proportion_to_the_header(tmp_path, refused, text):
    """A header full of small values is the dearest thing a general parser can be fed; it is not even walked."""
    count = (1 << 23) // (len(text.encode()) + 1)
    header = f'{{"a":{{"x":[{",".join([text] * count)}]}}}}'.encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    tracemalloc.start()
    error = refused(qcore.open, path, code="file-malformed")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 16 * len(header) + (64 << 20)
    assert "under unknown keys" in str(error)
