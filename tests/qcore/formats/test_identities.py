"""Identities and scalars of Burn's files survive a way through other formats."""

import bpk
import numpy as np
import pytest

import qcore

X = np.arange(256, dtype=np.float32).reshape(4, 64)
SCALARS = {"epoch": {"Int": -3}, "seed": {"UInt": 2**64 - 1}, "rate": {"Float": 0.1}, "done": {"Bool": True}}


@pytest.fixture
def burnpack(tmp_path):
    """A file with identities, scalars and a text, by hand."""
    root = {
        "tensors": {
            "b": bpk.tensor("F32", (4,), 0, 16, param_id=2**64 - 1),
            "w": bpk.tensor("F32", (2, 2), 256, 272, param_id=1730029982897944783),
            "x": bpk.tensor("F32", (1,), 512, 516),
        },
        "metadata": {"k": "v"},
        "scalars": SCALARS,
    }
    path = tmp_path / "m.bpk"
    path.write_bytes(bpk.file(root, X.tobytes()[:516]))
    return path


def ids(path):
    with qcore.open(path) as f:
        return {name: f.info(name).extra.get("param_id") for name in f.names()}


@pytest.mark.parametrize("way", [("safetensors",), ("npz",), ("gguf",), ("safetensors", "npz", "gguf", "safetensors")])
def test_they_come_back_from_any_way(tmp_path, burnpack, way):
    before, path = ids(burnpack), burnpack
    for number, suffix in enumerate((*way, "bpk")):
        with qcore.open(path) as f:
            out = tmp_path / f"{number}.{suffix}"
            qcore.save(out, f, layout="keep")
            assert not [key for key in f.metadata if key.startswith("qcore.")]
        path = out
        assert ids(path) == before
    with qcore.open(burnpack) as f, qcore.open(path) as g:
        assert g.stored.scalars == f.stored.scalars
        assert g.metadata["k"] == "v"
        assert all(np.array_equal(f.tensor(name), g.tensor(name)) for name in f.names())


def test_nothing_is_written_where_there_is_nothing_to_carry(tmp_path):
    qcore.save(tmp_path / "x.safetensors", {"x": X})
    with qcore.open(tmp_path / "x.safetensors") as f:
        assert dict(f.stored.metadata) == {}


IDS, HELD = "qcore.param_ids", "qcore.scalars"
BROKEN = {
    "no object": ({IDS: "[]"}, "a JSON object"),
    "a number": ({IDS: '{"x":7}'}, "an identity is '7'"),
    "a number too wide": ({IDS: '{"x":"18446744073709551616"}'}, "64 bits"),
    "a number of many digits": ({IDS: '{"x":"%s"}' % ("1" * 5000)}, "64 bits"),
    "a sign": ({IDS: '{"x":"-1"}'}, "64 bits"),
    "a name twice": ({IDS: '{"x":"1","x":"2"}'}, "each key once"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_identities_that_are_none_are_refused(tmp_path, refused, rule):
    texts, words = BROKEN[rule]
    qcore.save(tmp_path / "x.safetensors", {"x": X}, texts)
    assert words in str(refused(qcore.open, tmp_path / "x.safetensors", code="file-malformed"))


def test_identities_are_held_to_a_limit(tmp_path, refused):
    qcore.save(tmp_path / "x.safetensors", {"x": X}, {IDS: '{"x":"1"}'})
    path = tmp_path / "x.safetensors"
    assert "config-json" in str(refused(qcore.open, path, limits={"config-json": 8}, code="file-limit"))
    qcore.open(path, limits={"config-json": 9}).close()


def test_an_identity_of_a_tensor_that_is_gone_says_nothing(tmp_path):
    qcore.save(tmp_path / "x.safetensors", {"x": X}, {IDS: '{"y":"1","x":"2"}'})
    assert ids(tmp_path / "x.safetensors") == {"x": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [("zz", "hexadecimal"), ("ff", "scalars"), (bpk.cbor(SCALARS).hex() + "00", "nothing after"), ("8101", "scalars")],
)
def test_scalars_that_are_none_are_refused_when_a_burnpack_is_written(tmp_path, refused, text, words):
    qcore.save(tmp_path / "x.safetensors", {"x": X}, {HELD: text})
    with qcore.open(tmp_path / "x.safetensors") as f:
        error = refused(qcore.save, tmp_path / "x.bpk", f, layout="keep")
    assert words in str(error)
    assert not (tmp_path / "x.bpk").exists()
