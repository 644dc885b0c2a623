"""Digests name how they were made; what earlier versions recorded is still verified."""

import hashlib
import zlib

import numpy as np
import xxhash

import qcore
from qcore.formats.digests import NO_DIGEST, digest, digest_like, running

DATA = np.random.default_rng(5).bytes(70_000)
PIECES = [DATA[:1], DATA[1:50_000], b"", DATA[50_000:]]


def test_what_is_recorded_is_the_library_s_digest_and_names_itself():
    assert digest(PIECES) == "xxh3-128:" + xxhash.xxh3_128_hexdigest(DATA)
    assert len(digest([])) == len(NO_DIGEST)
    taken = running()
    taken.update(DATA)
    assert taken.text() == digest(PIECES)


def test_a_digest_is_taken_as_the_recorded_one_was():
    old = hashlib.blake2b(DATA, digest_size=16).hexdigest()
    for recorded in (old, f"blake2b-128:{old}", digest(PIECES), f"crc32:{zlib.crc32(DATA):08x}"):
        assert digest_like(recorded, PIECES) == recorded
        assert digest_like(recorded, [DATA[:-1]]) != recorded


def test_a_digest_of_an_unknown_kind_is_a_finding_not_a_pass(tmp_path, refused):
    error = refused(digest_like, "md5:00", PIECES, code="unknown-name")
    assert "xxh3-128" in str(error)


def test_a_file_with_the_digests_of_an_earlier_version_verifies(tmp_path):
    x = np.arange(8, dtype=np.float32)
    texts = {"qcore.digest.x": hashlib.blake2b(x.tobytes(), digest_size=16).hexdigest()}
    qcore.save(tmp_path / "x.safetensors", {"x": x}, texts)
    with qcore.open(tmp_path / "x.safetensors") as f:
        recorded = f.stored.digests["x"]
        assert digest_like(recorded, f.stored.raw("x")) == recorded
