import io
import json
import struct
import zipfile

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore import errors
from qcore.formats.dtypes import BY_NAME, numpy_dtype


def npz(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def npy(x):
    buffer = io.BytesIO()
    np.save(buffer, x)
    return buffer.getvalue()


X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_saves_is_read_equal(tmp_path, save):
    arrays = {"a": X, "b/c.npy": X.T, "\u00e9": np.array(3), "big": X.astype(">f8"), "none": X[:0]}
    save(tmp_path / "x.npz", **arrays)
    with qcore.open(tmp_path / "x.npz") as f:
        assert set(f.names()) == arrays.keys()
        for name, x in arrays.items():
            assert np.array_equal(f.tensor(name), x)
            assert f.info(name).shape == x.shape
            assert b"".join(f.stored.raw(name)) == npy(x)[-x.nbytes or len(npy(x)) :]


def test_numpy_reads_what_is_saved(tmp_path):
    q = qcore.quantize(X, "nvfp4")
    qcore.save(tmp_path / "x.npz", {"x": X, "q": q, "h": X.astype(ml_dtypes.bfloat16)}, {"k": "v"})
    with np.load(tmp_path / "x.npz", allow_pickle=False) as found:
        assert np.array_equal(found["x"], X)
        assert np.array_equal(found["q"], q.values)
        assert found["h"].dtype == np.uint16
        record = json.loads(found["__qcore__"])
    assert record["dtypes"] == {"h": "bfloat16", "q.scale": "float8_e4m3fn"}
    assert record["schemes"]["q"]["shape"] == [3, 4]
    assert record["metadata"] == {"k": "v"}


@pytest.mark.parametrize("name", [*BY_NAME, "complex128"])
def test_every_dtype_comes_back_bit_for_bit(tmp_path, name):
    dtype = numpy_dtype(name)
    row = BY_NAME.get(name)
    top = 2 if name == "bool" else 1 << (row.bits if row and row.bits < 8 else 8)
    x = (
        np.random.default_rng(0)
        .integers(0, top, 24 * dtype.itemsize)
        .astype(np.uint8)
        .view(dtype)
        .reshape(2, 3, 4)
    )
    qcore.save(tmp_path / "x.npz", {"x": x})
    with qcore.open(tmp_path / "x.npz") as f:
        got = f.tensor("x")
    assert got.dtype == dtype
    assert got.tobytes() == x.tobytes()


def test_nothing_is_added_to_plain_arrays_and_no_clock_is_asked(tmp_path):
    qcore.save(tmp_path / "x.npz", {"b": X, "a": X})
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert archive.namelist() == ["a.npy", "b.npy"]
        assert {row.date_time for row in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.testzip() is None


def test_lost_dtypes_are_asked_for_and_taken_by_name(tmp_path, refused):
    np.savez(tmp_path / "x.npz", half=X.astype(ml_dtypes.bfloat16), plain=X)
    refused(qcore.open, tmp_path / "x.npz", code="npy-lost-dtype")
    for dtype in ("bf16", {"half": "bfloat16"}):
        with qcore.open(tmp_path / "x.npz", dtype=dtype) as f:
            assert f.info("half").dtype == "bfloat16"
            assert f.info("plain").dtype == "float32"


def test_object_arrays_are_refused_as_pickles(tmp_path, refused):
    np.savez(tmp_path / "x.npz", x=np.array([object()], dtype=object))
    refused(qcore.open, tmp_path / "x.npz", code="file-pickle-refused")


def flipped(path, at, value):
    data = bytearray(path.read_bytes())
    data[at] = value
    path.write_bytes(data)
    return path


def directory(path, offset, fmt, value):
    """Change a field of the first row of the directory."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + offset
    struct.pack_into(fmt, data, at, value)
    path.write_bytes(data)
    return path


def _good(tmp_path):
    return npz(tmp_path / "x.npz", [("a.npy", npy(X)), ("b.npy", npy(X))])


BROKEN = {
    "no directory": (lambda p: p.write_bytes(p.read_bytes()[:100]), "a zip archive"),
    "encrypted": (lambda p: directory(p, 8, "<H", 1), "encrypted"),
    "an unknown compression": (lambda p: directory(p, 10, "<H", 12), "the compression is 12"),
    "a stored length that differs": (lambda p: directory(p, 24, "<I", 5), "the length is 5"),
    "a member beyond the file": (lambda p: directory(p, 20, "<I", 1 << 20), "the range of the data"),
    "a place beyond the file": (lambda p: directory(p, 42, "<I", 1 << 30), "the place"),
    "a place inside another": (lambda p: directory(p, 42, "<I", 3), "the mark of a member"),
    "the same name twice": (lambda p: npz(p, [("a.npy", npy(X)), ("a.npy", npy(X))]), "a second time"),
    "a member that is no array": (lambda p: npz(p, [("a.txt", b"hello")]), "arrays, NAME.npy"),
    "an array that is none": (lambda p: npz(p, [("a.npy", b"hello, world")]), "the first bytes"),
    "a long name": (lambda p: npz(p, [("n" * 5000 + ".npy", npy(X))]), "limit name"),
    "trailing bytes in an array": (lambda p: npz(p, [("a.npy", npy(X) + b"x")]), "the end of the array"),
    "a record that is no JSON": (lambda p: npz(p, [("__qcore__", b"{")]), "a JSON object"),
    "a record that is a list": (lambda p: npz(p, [("__qcore__", b"[]")]), "a JSON object"),
    "a record that is no UTF-8": (lambda p: npz(p, [("__qcore__", b"\xff")]), "UTF-8"),
    "a record with a key twice": (lambda p: npz(p, [("__qcore__", b'{"a":1,"a":1}')]), "each key once"),
    "a record with NaN": (lambda p: npz(p, [("__qcore__", b'{"a":NaN}')]), "a finite number"),
    "a record nested deep": (
        lambda p: npz(p, [("__qcore__", b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}")]),
        "a JSON object",
    ),
    "a record of the wrong kind": (lambda p: npz(p, [("__qcore__", b'{"schemes":[]}')]), "an object"),
    "a dtype that is no text": (lambda p: npz(p, [("__qcore__", b'{"dtypes":{"a":1}}')]), "a text"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")  # the test writes one on purpose
@pytest.mark.parametrize("rule", BROKEN)
def test_an_archive_that_breaks_a_rule_is_refused(tmp_path, refused, rule):
    path = _good(tmp_path)
    change, words = BROKEN[rule]
    change(path)
    error = refused(qcore.open, path, code="file-malformed")
    assert words in str(error)
    assert str(path) in str(error)


def test_members_that_share_bytes_are_refused(tmp_path, refused):
    path = _good(tmp_path)
    data = path.read_bytes()
    first, second = data.index(b"PK\x01\x02"), data.rindex(b"PK\x01\x02")
    moved = bytearray(data)
    moved[second + 42 : second + 46] = data[first + 42 : first + 46]
    path.write_bytes(moved)
    assert "overlaps" in str(refused(qcore.open, path, code="file-malformed"))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, refused):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.zeros(1 << 20, np.uint8))
    error = refused(qcore.open, path, limits={"npz-expanded": 1 << 19}, code="file-limit")
    assert "npz-expanded" in str(error)
    directory(path, 24, "<I", 0xFFFFFFF0)  # a length that deflate cannot reach
    assert "times" in str(refused(qcore.open, path, code="file-malformed"))


def test_a_record_beyond_its_limit_is_refused(tmp_path, refused):
    path = npz(tmp_path / "x.npz", [("__qcore__", b'{"metadata":{"k":"v"}}')])
    error = refused(qcore.open, path, limits={"npz-record": 21}, code="file-limit")
    assert "npz-record" in str(error)
    qcore.open(path, limits={"npz-record": 22}).close()


def test_a_claim_that_the_data_does_not_keep_is_refused(tmp_path, refused):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.random.default_rng(0).integers(0, 255, 1 << 21).astype(np.uint8))
    directory(path, 24, "<I", (1 << 21) + 129)
    with pytest.raises(errors.FormatError):
        qcore.open(path)
    np.savez_compressed(path, a=np.zeros(1 << 21, np.uint8))
    directory(path, 24, "<I", 1 << 20)
    with pytest.raises(errors.FormatError):
        qcore.open(path)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_flipped_bit_is_found_when_the_array_is_read(tmp_path, refused, compressed):
    path = npz(
        tmp_path / "x.npz", [("a.npy", npy(X))], zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    )
    data = path.read_bytes()
    start, end = 30 + len("a.npy") + (0 if compressed else 128), data.index(b"PK\x01\x02")
    for at in range(start, end):
        flipped(path, at, data[at] ^ 1)
        try:
            with qcore.open(path) as f:
                refused(f.tensor, "a")
        except errors.QuantError:
            pass  # in the packed header of the array
        path.write_bytes(data)


@pytest.mark.parametrize("name", ["__qcore__", "a\0b", "\ud800", "n" * 4097])
def test_a_name_that_archives_cannot_hold_is_refused(tmp_path, refused, name):
    with pytest.raises(errors.FormatError):
        qcore.save(tmp_path / "x.npz", {name: X})
    assert not list(tmp_path.iterdir())


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(
    st.dictionaries(
        NAMES.filter(lambda name: name != "__qcore__"), st.lists(st.integers(0, 4), max_size=8), max_size=6
    )
)
def test_whatever_is_written_is_read_back_equal(tmp_path_factory, shapes):
    path = tmp_path_factory.mktemp("round") / "x.npz"
    arrays = {name: np.arange(int(np.prod(shape))).reshape(shape) for name, shape in shapes.items()}
    qcore.save(path, arrays)
    with qcore.open(path) as f:
        assert set(f.names()) == arrays.keys()
        assert all(np.array_equal(f.tensor(name), arrays[name]) for name in arrays)
