import struct
from contextlib import suppress

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore import errors

PLAIN = [
    "bool",
    *(f"{k}{b}" for k in ("int", "uint") for b in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def npy(path, header, data=b"", version=(1, 0), length=None):
    text = header if isinstance(header, bytes) else header.encode()
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text) if length is None else length)
    path.write_bytes(b"\x93NUMPY" + bytes(version) + size + text + data)
    return path


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_what_numpy_saves_is_read_equal(tmp_path, dtype, order, layout):
    x = np.arange(24).reshape(2, 3, 4).astype(np.dtype(dtype).newbyteorder(order), order=layout)
    np.save(tmp_path / "x.npy", x)
    with qcore.open(tmp_path / "x.npy") as f:
        assert f.names() == ("x",)
        assert f.info("x").dtype == dtype
        got = f.tensor("x")
    assert got.dtype == np.dtype(dtype)
    assert np.array_equal(got, x)
    assert got.flags.writeable


@pytest.mark.parametrize("dtype", PLAIN)
def test_what_is_saved_are_the_bytes_of_numpy(tmp_path, dtype):
    for shape in ((), (1,), (2, 3), (0, 4)):
        x = np.ones(shape, dtype)
        qcore.save(tmp_path / "ours.npy", {"x": x}, overwrite=True)
        np.save(tmp_path / "theirs.npy", x)
        assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_header_is_read(tmp_path, version):
    path = npy(tmp_path / "x.npy", GOOD + " " * 10 + "\n", bytes(24), version)
    with qcore.open(path) as f:
        assert f.info("x").shape == (2, 3)


BROKEN = {
    "a version of the future": (GOOD, bytes(24), (4, 0), "4.0"),
    "an open brace": (GOOD[:-1], bytes(24), (1, 0), "the header is"),
    "a call": ("{'descr': str(1), 'fortran_order': False, 'shape': (2, 3)}", bytes(24), (1, 0), "str(1)"),
    "a key twice": (GOOD.replace("{", "{'descr': '<f4', "), bytes(24), (1, 0), "'descr' a second time"),
    "a key missing": ("{'descr': '<f4', 'shape': (2, 3)}", bytes(24), (1, 0), "the keys descr, shape"),
    "a key too many": (GOOD.replace("{", "{'x': '<f4', "), bytes(24), (1, 0), "the keys x"),
    "a structured dtype": (GOOD.replace("'<f4'", "[('a', '<f4')]"), bytes(24), (1, 0), "a structured dtype"),
    "a number for a truth value": (GOOD.replace("False", "0"), bytes(24), (1, 0), "'fortran_order': 0"),
    "a list for a shape": (GOOD.replace("(2, 3)", "[2, 3]"), bytes(24), (1, 0), "'shape': [2, 3]"),
    "a number for a shape": (GOOD.replace("(2, 3)", "(6)"), bytes(24), (1, 0), "a tuple"),
    "a negative dimension": (
        GOOD.replace("(2, 3)", "(-2, -3)"),
        bytes(24),
        (1, 0),
        "a tuple of whole numbers",
    ),
    "a float in the shape": (
        GOOD.replace("(2, 3)", "(2.0, 3)"),
        bytes(24),
        (1, 0),
        "a tuple of whole numbers",
    ),
    "True in the shape": (GOOD.replace("(2, 3)", "(6, True)"), bytes(24), (1, 0), "a tuple of whole numbers"),
    "nine dimensions": (GOOD.replace("(2, 3)", "(1,1,1,1,1,1,1,1,1)"), bytes(4), (1, 0), "rank"),
    "a product beyond 2^63": (
        GOOD.replace("(2, 3)", "(4294967296, 4294967296)"),
        b"",
        (1, 0),
        "number of elements",
    ),
    "bytes beyond 2^63": (GOOD.replace("(2, 3)", f"({1 << 61},)"), b"", (1, 0), "number of elements"),
    "a list for an object": (f"[{GOOD[1:-1]}]", bytes(24), (1, 0), "allowed is {'descr': ..., 'fortran_order'"),
    "a text for a truth value": (GOOD.replace("False", "'F'"), bytes(24), (1, 0), "fortran_order = 'F'"),
    "a tuple for a dtype": (GOOD.replace("'<f4'", "(1,)"), bytes(24), (1, 0), "descr = (1,)"),
    "texts": (GOOD.replace("<f4", "<U4"), bytes(96), (1, 0), "'<U4'"),
    "dates": (GOOD.replace("<f4", "<M8[s]"), bytes(48), (1, 0), "'<M8[s]'"),
    "long doubles": (GOOD.replace("<f4", "<f16"), bytes(96), (1, 0), "'<f16'"),
    "native order": (GOOD.replace("<f4", "=f4"), bytes(24), (1, 0), "'=f4'"),
    "trailing bytes": (GOOD, bytes(25), (1, 0), "the end of the array"),
    "not UTF-8": (GOOD.encode() + b"\xff", bytes(24), (3, 0), "UTF-8"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_file_that_breaks_a_rule_is_refused(tmp_path, refused, rule):
    header, data, version, words = BROKEN[rule]
    path = npy(tmp_path / "x.npy", header, data, version)
    error = refused(qcore.open, path, code="file-malformed")
    assert words in str(error)
    assert str(path) in str(error)


def test_every_prefix_of_a_good_file_is_refused(tmp_path, refused):
    whole = npy(tmp_path / "x.npy", GOOD, bytes(24)).read_bytes()
    for end in range(len(whole)):
        (tmp_path / "cut.npy").write_bytes(whole[:end])
        refused(qcore.open, tmp_path / "cut.npy", code="file-truncated")


def test_a_header_of_more_than_64_kib_is_beyond_a_limit(tmp_path, refused):
    path = npy(tmp_path / "x.npy", GOOD, version=(2, 0), length=(1 << 16) + 1)
    assert isinstance(refused(qcore.open, path, code="file-limit"), errors.LimitError)


def test_object_arrays_are_refused_as_pickles(tmp_path, refused):
    np.save(tmp_path / "x.npy", np.array([object()], dtype=object), allow_pickle=True)
    refused(qcore.open, tmp_path / "x.npy", code="file-pickle-refused")
    refused(qcore.open, npy(tmp_path / "y.npy", GOOD.replace("<f4", "|O")), code="file-pickle-refused")


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float8_e8m0fnu", "float4_e2m1fn"]
)
def test_a_lost_dtype_is_asked_for_and_taken(tmp_path, refused, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.arange(16).astype(np.uint8 if dtype.itemsize == 1 else np.uint16).view(dtype)
    np.save(tmp_path / "x.npy", x)
    error = refused(qcore.open, tmp_path / "x.npy", code="npy-lost-dtype")
    assert "dtype=" in " ".join(error.solutions)
    for spelled in (name, dtype):
        with qcore.open(tmp_path / "x.npy", dtype=spelled) as f:
            got = f.tensor("x")
            assert got.dtype == dtype
            assert got.tobytes() == x.tobytes()


def test_a_dtype_of_another_width_is_refused(tmp_path, refused):
    np.save(tmp_path / "x.npy", np.zeros(4, ml_dtypes.bfloat16))
    refused(qcore.open, tmp_path / "x.npy", dtype="fp8", code="option-value")
    refused(qcore.open, tmp_path / "x.npy", dtype="bf17", code="unknown-name")


@pytest.mark.parametrize("make", ["quantized", "bfloat16", "float8", "several", "none", "metadata"])
def test_what_a_bare_npy_cannot_hold_is_refused_naming_the_formats_that_can(tmp_path, refused, make):
    x = np.ones((2, 32), np.float32)
    tensors = {
        "quantized": {"q": qcore.quantize(x, "int8")},
        "bfloat16": {"x": x.astype(ml_dtypes.bfloat16)},
        "float8": {"x": x.astype(ml_dtypes.float8_e5m2)},
        "several": {"x": x, "y": x},
        "none": {},
        "metadata": {"x": x},
    }[make]
    metadata = {"k": "v"} if make == "metadata" else None
    error = refused(qcore.save, tmp_path / "x.npy", tensors, metadata, code="file-cannot-hold")
    assert isinstance(error, errors.UnsupportedSchemeError)
    assert ".npz or .safetensors" in error.solutions[0]
    assert not list(tmp_path.iterdir())


def test_a_bool_that_is_neither_is_refused(tmp_path, refused):
    path = npy(tmp_path / "x.npy", GOOD.replace("<f4", "|b1"), b"\0\1\0\1\7\1")
    with qcore.open(path) as f:
        refused(f.tensor, "x", code="file-malformed")


@given(st.binary(max_size=200))
def test_any_header_ends_in_a_reader_or_a_documented_error(tmp_path_factory, text):
    path = npy(tmp_path_factory.mktemp("any") / "x.npy", text)
    with suppress(errors.QuantError):
        qcore.open(path).close()
