import json

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy as reference
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore.formats.digests import NO_DIGEST
from qcore.formats.dtypes import BY_CODE, BY_NAME, numpy_dtype

# what the reference library writes from NumPy
WRITTEN_BY_BOTH = [name for name, row in BY_NAME.items() if row.bits >= 8]


def codes(row, count, seed=0):
    """Every kind of bits, whatever they mean; for BOOL only truth values."""
    rng = np.random.default_rng(seed)
    if row.name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if row.bits < 8:
        return rng.integers(0, 1 << row.bits, count).astype(np.uint8).view(numpy_dtype(row.name))
    return rng.integers(0, 256, count * row.bits // 8).astype(np.uint8).view(numpy_dtype(row.name))


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_twenty_two_dtypes_are_known():
    assert len(BY_CODE) == 22


@pytest.mark.parametrize("name", BY_NAME)
def test_every_dtype_comes_back_bit_for_bit(tmp_path, name):
    x = codes(BY_NAME[name], 24).reshape(2, 3, 4)
    path = tmp_path / "x.safetensors"
    qcore.save(path, {"x": x, "empty": x[:0]})
    with qcore.open(path) as f:
        assert f.info("x").dtype == name
        assert same(f.tensor("x"), x)
        assert same(f.tensor("empty"), x[:0])


@pytest.mark.parametrize("name", WRITTEN_BY_BOTH)
def test_the_bytes_are_those_of_the_reference_writer(tmp_path, name):
    arrays = {
        'b/\n\u00e9"': codes(BY_NAME[name], 6).reshape(2, 3),
        "a": codes(BY_NAME[name], 1),
        "z": np.arange(3),
    }
    path = tmp_path / "x.safetensors"
    for metadata in (None, {"k": "v\u00e9\n"}):
        qcore.save(path, arrays, metadata, overwrite=True)
        assert path.read_bytes() == reference.save(arrays, metadata)


def test_the_reference_reader_opens_what_is_written(tmp_path):
    path = tmp_path / "x.safetensors"
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    q = qcore.quantize(x, "int4-b32")
    qcore.save(path, {"x": x, "q": q, "half": x.astype(np.float16)}, {"k": "v"}, provenance=True)
    found = reference.load_file(path)
    assert same(found["x"], x)
    assert same(found["q"], q.values)
    assert same(found["q.scale"], q.scales)


def test_four_bit_floats_are_stored_two_to_a_byte_the_first_one_low(tmp_path):
    path = tmp_path / "x.safetensors"
    qcore.save(path, {"x": np.array([1, 2, 3, 4], np.uint8).view(ml_dtypes.float4_e2m1fn)})
    assert path.read_bytes()[-2:] == b"\x21\x43"
    with qcore.open(path) as f:
        assert f.info("x").shape == (4,)


def test_half_a_byte_cannot_be_written(tmp_path, refused):
    x = np.zeros(3, ml_dtypes.float4_e2m1fn)
    refused(qcore.save, tmp_path / "x.safetensors", {"x": x}, code="file-cannot-hold")
    assert not list(tmp_path.iterdir())


def test_a_bool_that_is_neither_is_refused_with_its_byte(safetensors, refused):
    header = {"x": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}}
    path = safetensors(header, b"\0\1\2")
    with qcore.open(path) as f:
        error = refused(f.tensor, "x", code="file-malformed")
    assert error.params["offset"] == path.stat().st_size - 1


@pytest.mark.parametrize("layout", ["transposed", "reversed", "broadcast", "swapped", "sliced"])
def test_any_layout_is_written_as_its_contiguous_copy(tmp_path, layout):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    given_ = {
        "transposed": x.T,
        "reversed": x[::-1, ::-1],
        "broadcast": np.broadcast_to(x[0], (3, 4)),
        "swapped": x.astype(">f4"),
        "sliced": x[:, ::2],
    }[layout]
    before = given_.copy()
    path = tmp_path / "x.safetensors"
    qcore.save(path, {"x": given_})
    with qcore.open(path) as f:
        assert same(f.tensor("x"), np.ascontiguousarray(given_).astype(np.float32))
    assert np.array_equal(before, given_)


@pytest.mark.parametrize(
    ("x", "what"),
    [
        (np.array([object()]), "object"),
        (np.array(["a"]), "<U1"),
        (np.zeros(2, "M8[s]"), "datetime64"),
        (np.zeros(2, np.longdouble), "float128"),
        (np.zeros(2, [("a", "f4")]), "a"),
        (np.zeros(2, complex), "complex128"),
    ],
)
def test_what_the_format_has_no_name_for_is_refused(tmp_path, refused, x, what):
    error = refused(qcore.save, tmp_path / "x.safetensors", {"x": x}, code="file-cannot-hold")
    assert what in str(error)
    assert error.tensor == "x"


def test_the_same_tensors_give_the_same_bytes_whatever_their_order(tmp_path):
    x = np.arange(64, dtype=np.float32).reshape(2, 32)
    tensors = {"b": x, "a": qcore.quantize(x, "nf4"), "c": x.astype(np.int8)}
    metadata = {str(i): "v" for i in range(20)}
    one, two = tmp_path / "1.safetensors", tmp_path / "2.safetensors"
    qcore.save(one, tensors, metadata, provenance=True)
    qcore.save(two, dict(reversed(tensors.items())), dict(reversed(metadata.items())), provenance=True)
    assert one.read_bytes() == two.read_bytes()


def test_a_digest_is_recorded_for_each_stored_array(tmp_path):
    path = tmp_path / "x.safetensors"
    q = qcore.quantize(np.ones((2, 32), np.float32), "nvfp4")
    qcore.save(path, {"q": q, "x": np.zeros(0)}, provenance={"command": "test"})
    with qcore.open(path) as f:
        assert set(f.stored.digests) == {"q", "q.scale", "q.global_scale", "x"}
        assert all(len(text) == 41 and text != NO_DIGEST for text in f.stored.digests.values())
        assert json.loads(f.stored.metadata["qcore.provenance"]) == {
            "command": "test",
            "qcore": qcore.__version__,
        }
        assert f.metadata == {"format": "pt"}


def test_a_bare_save_adds_nothing_to_plain_arrays(tmp_path):
    path = tmp_path / "x.safetensors"
    qcore.save(path, {"x": np.zeros(2)})
    assert b"__metadata__" not in path.read_bytes()


@pytest.mark.parametrize("name", ["__metadata__", "\ud800", "n" * 4097, "q.scale"])
def test_a_name_that_readers_would_refuse_is_refused_by_the_writer(tmp_path, refused, name):
    q = qcore.quantize(np.ones((2, 32), np.float32), "int4-b32")
    refused(qcore.save, tmp_path / "x.safetensors", {"q": q, name: np.zeros(2)})
    assert not list(tmp_path.iterdir())


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).filter(
    lambda name: name != "__metadata__"
)
SHAPES = st.lists(st.integers(0, 4), max_size=8).map(tuple)


@given(
    st.dictionaries(NAMES, st.tuples(st.sampled_from(WRITTEN_BY_BOTH), SHAPES), max_size=6),
    st.dictionaries(NAMES, NAMES, max_size=3),
)
def test_whatever_is_written_is_read_back_equal(tmp_path_factory, tensors, metadata):
    metadata = {key: text for key, text in metadata.items() if not key.startswith("qcore.")}
    arrays = {
        name: codes(BY_NAME[dtype], int(np.prod(shape))).reshape(shape)
        for name, (dtype, shape) in tensors.items()
    }
    path = tmp_path_factory.mktemp("round") / "x.safetensors"
    qcore.save(path, arrays, metadata)
    with qcore.open(path) as f:
        assert set(f.names()) == arrays.keys()
        assert f.metadata == metadata
        assert all(same(f.tensor(name), arrays[name]) for name in arrays)
