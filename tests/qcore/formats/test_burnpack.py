"""Burnpack: the worked example, a real file, every generation, and what a rewrite keeps."""

from pathlib import Path

import bpk
import numpy as np
import pytest
import source
from any_scheme import refusal
from hypothesis import example, given
from hypothesis import strategies as st

import qcore
from qcore.formats import burnpack_words
from qcore.formats.burnpack_file import write
from qcore.formats.content import Content, Deferred, gather

MNIST = source.ROOT / "tests/data/burn-mnist.bpk"

# three tensors in the order w, n, b: 4-bit words, NVFP4 with its global scale unaligned, floats with an identity
EXAMPLE_HEAD = bytes.fromhex(
    "4e525542010074010000a26774656e736f7273a36162a4656474797065634633"
    "3265736861706581026c646174615f6f66667365747382190200190208687061"
    "72616d5f696407616ea3656474797065a16651466c6f6174a56576616c756564"
    "45324d316573746f7265a16c5061636b65644e617469766500646d6f64656953"
    "796d6d65747269636674656e736f726346333265626c6f636ba26473697a65a2"
    "6773746f72616765851001010101636c656e01656474797065655545344d3365"
    "73686170658201106c646174615f6f6666736574738219010019010d6177a365"
    "6474797065a16651466c6f6174a56576616c7565635134536573746f7265a169"
    "5061636b656455333200646d6f64656953796d6d65747269636674656e736f72"
    "f665626c6f636ba26473697a65a26773746f72616765850801010101636c656e"
    "01656474797065634631366573686170658202086c646174615f6f6666736574"
    "7382000c686d65746164617461a166666f726d6174686275726e7061636b"
)
EXAMPLE = b"".join(
    (
        EXAMPLE_HEAD.ljust(0x200, b"\0"),
        bytes.fromhex("10325476a9cbed0f00380034").ljust(0x100, b"\0"),
        bytes.fromhex("1032547698badcfe7e0000003b").ljust(0x100, b"\0"),
        bytes.fromhex("0000803f000000c0"),
    )
)
X = np.random.default_rng(5).standard_normal((32, 96), dtype=np.float32)
SCHEMES = (
    *("q8f/u32", "q8s/native/t:bf16", "q4s/u32/b32:f16", "q4f/u32:1/b2x16:f32", "q2s/u32/b32:bf16"),
    *("q2f/native", "nvfp4", "mxfp4", "mxfp8", "fp8", "fp8-e5m2", "nf4", "e2m1/packed:1/b16x1:ue4m3"),
)


@pytest.fixture
def bytes_of(tmp_path):
    """Open bytes as a file of that name."""

    def write_file(data, name="x.bpk"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write_file


def test_the_worked_example_decodes_to_its_numbers(bytes_of):
    with qcore.open(bytes_of(EXAMPLE)) as f:
        assert f.format == "burnpack"
        assert f.names() == ("b", "n", "w")
        assert dict(f.metadata) == {"format": "burnpack"}
        assert f.info("b").extra == {"param_id": 7}
        assert f.info("w").extra == {}
        assert str(f.info("n").scheme) == "e2m1/packed/b16:ue4m3/t:f32"
        w = f.tensor("w").dequantize()
        n = f.tensor("n")
        b = f.tensor("b").tolist()
        assert f.notes == ()
    assert w.tolist() == [[i / 2 for i in range(8)], [-1.75, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0]]
    half = [0, 0.4375, 0.875, 1.3125, 1.75, 2.625, 3.5, 5.25]
    assert n.dequantize()[0].tolist() == [*half, *[-v for v in half]]
    assert n.global_scale == np.float32(2**-9)
    assert b == [1.0, -2.0]


def test_the_worked_example_is_written_byte_for_byte(bytes_of, tmp_path):
    with qcore.open(bytes_of(EXAMPLE)) as f, open(tmp_path / "y.bpk", "w+b") as out:
        found = gather({name: Deferred.of(f, name) for name in "wnb"}, "y.bpk", f.metadata, digests=False)
        by_name = {group.info.name: group for group in found.groups}
        write(out, "y.bpk", Content(tuple(by_name[name] for name in "wnb"), found.metadata))
    assert (tmp_path / "y.bpk").read_bytes() == EXAMPLE


@pytest.mark.parametrize("data", [EXAMPLE, MNIST.read_bytes()], ids=["example", "Burn's own"])
def test_a_file_in_the_newest_form_comes_back_byte_for_byte(bytes_of, tmp_path, data):
    with qcore.open(bytes_of(data)) as f:
        qcore.save(tmp_path / "again.bpk", f)
    assert (tmp_path / "again.bpk").read_bytes() == data


def test_a_file_that_burn_wrote_keeps_identities_and_the_order_of_its_data(tmp_path):
    with qcore.open(MNIST) as f:
        assert len(f) == 18
        assert f.info("fc1.weight").shape == (1600, 128)
        assert f.info("fc1.weight").extra["param_id"] == 1730029982897944783
        qcore.save(tmp_path / "told.bpk", f, {"who": "me"}, provenance=True)
        with qcore.open(tmp_path / "told.bpk") as g:
            assert dict(g.metadata) == {"who": "me"}
            assert g.stored.metadata["qcore.burn"] == "0.22"
            assert g.stored.header.keys["tensors"] == f.stored.header.keys["tensors"]
            assert all((g.tensor(name) == f.tensor(name)).all() for name in f.names())


def test_a_rewrite_with_texts_keeps_what_is_not_known_here(bytes_of, tmp_path):
    spelled = bpk.scheme(block=((1, 8), "F16"), tensor=None)
    root = {
        "tensors": {"q": bpk.tensor(spelled, (1, 8), 256, 266, future=[1, {"a": 1.5}]),
                    "a": bpk.tensor({"Bool": "U32"}, (1,), 0, 4)},
        "later": {"deep": [b"\1", -3, None, True]},
        "scalars": {"epoch": {"UInt": 3}, "rate": {"Float": bpk.Raw(b"\xf9\x3c\x00")}},
    }  # fmt: skip
    data = bpk.file(root, b"\1\0\0\0".ljust(256, b"\0") + bytes(8) + b"\0\x3c")
    with qcore.open(bytes_of(data)) as f:
        qcore.save(tmp_path / "same.bpk", f)
        qcore.save(tmp_path / "told.bpk", f, {"k": "v"})
    assert (tmp_path / "same.bpk").read_bytes() == data
    told = {"tensors": root["tensors"], "metadata": {"k": "v"}, "later": root["later"], "scalars": root["scalars"]}
    assert (tmp_path / "told.bpk").read_bytes() == bpk.file(told, data[-266:])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_store_comes_back_as_it_was(tmp_path, scheme):
    q = qcore.quantize(X, scheme, backend="reference")
    qcore.save(tmp_path / "q.bpk", {"q": q, "q.scale": X})
    with qcore.open(tmp_path / "q.bpk") as f:
        assert f.tensor("q") == q
        assert (f.tensor("q.scale") == X).all()
        assert f.info("q").nbytes == q.nbytes + (0 if q.codebook is None else q.codebook.table.nbytes)
        assert f.info("q").codebook == (None if q.codebook is None else q.codebook.name)


SHAPES = ((), (5,), (0, 4), (6, 7), (3, 96), (2, 3, 33))


@pytest.mark.parametrize("scheme", [*qcore.PRESETS, "q8s/native/b16:f16", "e5m2/u32/t:f16", "q2f/u32/b3:ue8m0"])
def test_every_preset_comes_back_in_every_shape_though_regions_are_not_aligned(tmp_path, scheme):
    for shape in SHAPES:
        x = X.reshape(-1)[: int(np.prod(shape))].reshape(shape)
        try:
            q = qcore.quantize(x, scheme, backend="reference")
        except qcore.errors.QuantError:
            continue
        qcore.save(tmp_path / "q.bpk", {"q": q}, overwrite=True)
        with qcore.open(tmp_path / "q.bpk") as f:
            assert f.tensor("q") == q


names = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.dictionaries(names, st.sampled_from(["float32", "bool", "uint16", "nvfp4", "nf4"]), max_size=4))
@example({"": "bool", "a\0\n\x1b[31m": "float32", "../up": "nvfp4"})
def test_whatever_is_written_opens_equal(tmp_path_factory, kinds):
    path = tmp_path_factory.mktemp("any") / "x.bpk"
    tensors = {
        name: qcore.quantize(X[:2], kind, backend="reference") if kind in qcore.PRESETS else (X[:2] > 0).astype(kind)
        for name, kind in kinds.items()
    }
    error = refusal(qcore.save, path, tensors)
    if error is not None:  # a tensor has the name of another one's table
        assert error.code == "file-name-refused"
        return
    with qcore.open(path) as f:
        assert set(f.names()) == tensors.keys()
        for name, tensor in tensors.items():
            got = f.tensor(name)
            assert got == tensor if isinstance(tensor, qcore.QTensor) else (got == tensor).all()


def test_a_table_lies_beside_its_tensor_and_the_metadata_says_so(tmp_path):
    table = np.linspace(-1, 1, 16, dtype=np.float32)
    q = qcore.quantize(X, "q4f/u32/lookup/b32:f16", codebook=table, backend="reference")
    qcore.save(tmp_path / "q.bpk", {"q": q})
    with qcore.open(tmp_path / "q.bpk") as f:
        assert f.names() == ("q",)
        assert f.info("q").parts == ("q", "q.lookup_table")
        assert f.stored.metadata == {"qcore.lookup.q": ""}
        assert f.tensor("q") == q


def test_a_plain_save_writes_no_texts_and_one_with_provenance_digests_and_rules(tmp_path):
    q = qcore.quantize(X, "int4-b32", backend="reference", calibration="mse")
    qcore.save(tmp_path / "a.bpk", {"q": q})
    qcore.save(tmp_path / "b.bpk", {"q": q}, provenance=True)
    with qcore.open(tmp_path / "a.bpk") as f:
        assert f.stored.metadata == {}
    with qcore.open(tmp_path / "b.bpk") as f:
        assert set(f.stored.metadata) == {"qcore.burn", "qcore.digest.q", "qcore.provenance", "qcore.rules.q"}
        assert f.info("q").rules == q.rules
        assert f.tensor("q").rules == q.rules


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64",
                                   "uint32", "uint16", "uint8", "bool"])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (0, 3), (3,), (2, 3)])
def test_plain_types_come_back_in_every_shape(tmp_path, dtype, shape):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    qcore.save(tmp_path / "x.bpk", {"x": x})
    with qcore.open(tmp_path / "x.bpk") as f:
        assert f.tensor("x").dtype == x.dtype
        assert f.tensor("x").shape == shape
        assert (f.tensor("x") == x).all()


def test_types_that_are_read_as_others_say_so(bytes_of, tmp_path):
    root = {
        "tensors": {
            "flex": bpk.tensor("Flex32", (1,), 0, 4),
            "mask": bpk.tensor({"Bool": "U32"}, (2,), 256, 264),
            "byte": bpk.tensor({"Bool": "U8"}, (2,), 512, 514),
        }
    }
    data = b"\0\0\x80\x3f".ljust(256, b"\0") + b"\0\0\0\0\xff\xff\xff\xff".ljust(256, b"\0") + b"\2\0"
    with qcore.open(bytes_of(bpk.file(root, data))) as f:
        assert [f.info(name).origin for name in f.names()] == ["Flex32", "Bool(U32)", "Bool(U8)"]
        assert f.tensor("flex").tolist() == [1.0]
        assert f.tensor("mask").tolist() == [False, True]
        assert f.tensor("byte").tolist() == [True, False]
        qcore.save(tmp_path / "y.bpk", {name: f.tensor(name) for name in f.names()})
    with qcore.open(tmp_path / "y.bpk") as f:
        assert f.tensor("mask").tolist() == [False, True]
        assert f.info("mask").origin == ""


@pytest.mark.parametrize("what", ["complex64", "float8_e4m3fn", "float4_e2m1fn"])
def test_a_type_that_burn_has_no_word_for_is_refused(tmp_path, refused, what):
    x = np.zeros(4, qcore.formats.dtypes.numpy_dtype(what) if what != "complex64" else what)
    error = refused(qcore.save, tmp_path / "x.bpk", {"x": x}, code="file-cannot-hold")
    assert what in str(error)
    assert not (tmp_path / "x.bpk").exists()


# ---- generations ----

OLD = {"value": "Q8S", "param": "F16", "store": "Native", "level": "Tensor", "mode": "Symmetric"}
# what each generation writes for a tensor of one block of 8, and what it means
SPELLED = {
    "0.20": ({**OLD, "store": {"PackedU32": 0}, "level": {"Block": bpk.size(1, 8)}}, "q8s/u32/b8:f16", 10),
    "0.21": ({**OLD}, "q8s/native/t:f16", 10),
    "0.22-pre.2": ({**OLD, "level": {"BlockTensor": {"block": bpk.size(8), "global": "F32"}}},
                   "q8s/native/b8:f16/t:f32", 14),
    "0.22": (bpk.scheme(tensor=None, block=((8,), "F16"))["QFloat"], "q8s/native/b8:f16", 10),
}  # fmt: skip


@pytest.mark.parametrize("burn", SPELLED)
def test_a_scheme_is_read_as_each_generation_spells_it_and_upgraded(bytes_of, tmp_path, burn):
    said, means, length = SPELLED[burn]
    data = bytes(range(8)) + b"\0\x38" + b"\0\0\x80\x3f"[: length - 10]
    root = {"tensors": {"q": bpk.tensor({"QFloat": said}, (1, 8), 0, length, param_id=2**64 - 1)}}
    with qcore.open(bytes_of(bpk.file(root, data))) as f:
        assert str(f.info("q").scheme) == means
        assert f.tensor("q").dequantize()[0].tolist() == [i / 2 for i in range(8)]
        assert f.stored.header.is_newest is (burn == "0.22")
        assert bool(f.notes) is (burn != "0.22")
        qcore.save(tmp_path / "new.bpk", f)
        before = f.tensor("q")
    with qcore.open(tmp_path / "new.bpk") as f:
        assert f.stored.header.is_newest
        assert f.tensor("q") == before
        assert f.info("q").extra == {"param_id": 2**64 - 1}


@pytest.mark.parametrize("burn", burnpack_words.GENERATIONS)
def test_each_generation_is_written_and_read_back(tmp_path, burn):
    tensors = {"b": np.array([True, False]), "x": X[:3, :5], "z": np.arange(3, dtype=np.int8)}
    if burn != "0.19":
        tensors["q"] = qcore.quantize(X, "q4s/u32/b32:f16", backend="reference")
    if burn in ("0.22-pre.2", "0.22"):
        tensors["n"] = qcore.quantize(X, "nvfp4", backend="reference")
    qcore.save(tmp_path / "x.bpk", tensors, burn=burn)
    with qcore.open(tmp_path / "x.bpk") as f:
        assert set(f.names()) == tensors.keys()
        for name, tensor in tensors.items():
            assert f.tensor(name) == tensor if isinstance(tensor, qcore.QTensor) else (f.tensor(name) == tensor).all()
        assert f.stored.header.legacy is (burn == "0.19")
        qcore.save(tmp_path / "y.bpk", f)
    with qcore.open(tmp_path / "y.bpk") as f:
        assert f.stored.header.is_newest
        assert "version" not in f.metadata


@pytest.mark.parametrize(("burn", "scheme"), [("0.19", "q8s/native"), ("0.20", "nvfp4"), ("0.21", "nf4")])
def test_what_an_older_burn_cannot_say_is_refused(tmp_path, refused, burn, scheme):
    q = qcore.quantize(X, scheme, backend="reference")
    error = refused(qcore.save, tmp_path / "x.bpk", {"q": q}, burn=burn, code="file-cannot-hold")
    assert error.tensor == "q"
    assert f"Burn {burn}" in str(error)


def test_the_words_of_a_version_are_held(tmp_path, refused):
    refused(qcore.save, tmp_path / "x.bpk", {"x": X}, burn="0.18", code="unknown-name")
    refused(qcore.save, tmp_path / "x.npz", {"x": X}, burn="0.21", code="option-value")
    refused(qcore.open, MNIST, burn="0.18", code="unknown-name")
    with qcore.open(MNIST, burn="head") as f:
        assert len(f) == 18


LEGACY = {"tensors": {"a": bpk.tensor("U8", (3,), 0, 3), "b": bpk.tensor("Bool", (2,), 3, 5)}}


def test_the_oldest_form_is_known_by_its_length(bytes_of):
    with qcore.open(bytes_of(bpk.file(LEGACY, b"\1\2\3\1\0", aligned=False))) as f:
        assert f.tensor("a").tolist() == [1, 2, 3]
        assert f.tensor("b").tolist() == [True, False]
        assert "0.19" in f.notes[0]


def test_the_oldest_form_that_its_length_does_not_tell_is_named_in_the_error(bytes_of, refused):
    root = {"tensors": {"a": bpk.tensor("U8", (3,), 0, 3)}}
    path = bytes_of(bpk.file(root, b"\1\2\3", aligned=False))
    error = refused(qcore.open, path, code="file-truncated")
    assert 'burn="0.19"' in str(error)
    with qcore.open(path, burn="0.19") as f:
        assert f.tensor("a").tolist() == [1, 2, 3]
    cut = bytes_of(bpk.file(root, b"\1\2", aligned=False), "cut.bpk")
    error = refused(qcore.open, cut, burn="0.19", code="file-truncated")
    assert "its data" in str(error)
    root["metadata"] = {"version": "0.19.1"}
    with qcore.open(bytes_of(bpk.file(root, b"\1\2\3", aligned=False))) as f:
        assert f.tensor("a").tolist() == [1, 2, 3]


def test_a_file_without_tensors_opens_padded_or_not(bytes_of):
    for data in (bpk.file({"tensors": {}}), bpk.file({"tensors": {}}, aligned=False)):
        with qcore.open(bytes_of(data)) as f:
            assert f.names() == ()


def test_ragged_bytes_in_words_are_read_padded_or_not(bytes_of):
    dtype = bpk.scheme(store={"PackedU32": 0})
    flat = bytes([1, 2, 3, 4, 5, 6]) + b"\0\0\x80\x3f"
    padded = bytes([1, 2, 3, 0, 4, 5, 6, 0]) + b"\0\0\x80\x3f"
    for data in (flat, padded):
        root = {"tensors": {"q": bpk.tensor(dtype, (2, 3), 0, len(data))}}
        with qcore.open(bytes_of(bpk.file(root, data))) as f:
            assert f.tensor("q").dequantize().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_the_same_tensors_give_the_same_bytes_in_any_order(tmp_path):
    tensors = {"b": X, "a": qcore.quantize(X, "nvfp4", backend="reference")}
    qcore.save(tmp_path / "1.bpk", tensors, {"y": "1", "x": "2"}, provenance=True)
    qcore.save(tmp_path / "2.bpk", dict(reversed(tensors.items())), {"x": "2", "y": "1"}, provenance=True)
    assert (tmp_path / "1.bpk").read_bytes() == (tmp_path / "2.bpk").read_bytes()


def test_the_source_may_be_the_destination(tmp_path):
    path = Path(tmp_path / "x.bpk")
    qcore.save(path, {"x": X}, burn="0.20")
    (tmp_path / "link.bpk").symlink_to(path)
    with qcore.open(path) as f:
        qcore.save(tmp_path / "link.bpk", f, {"k": "v"}, overwrite=True)
    with qcore.open(path) as f:
        assert (f.tensor("x") == X).all()
        assert dict(f.metadata) == {"k": "v"}
