"""Each rule of burnpack has a file that breaks it and nothing else, mutated from one that is fine."""

import copy
import itertools
import struct

import bpk
import numpy as np
import pytest

import qcore
from qcore import errors
from qcore.formats.content import Deferred
from qcore.formats.protocol import TensorInfo

Q4 = bpk.scheme("Q4S", {"PackedU32": 0}, tensor=None, block=((8,), "F16"))
GOOD = {
    "tensors": {
        "f": bpk.tensor("F32", (2, 2), 0, 16),
        "q": bpk.tensor(Q4, (2, 8), 256, 268, param_id=5),
        "u": bpk.tensor("U8", (3,), 512, 515),
    },
    "metadata": {"k": "v"},
    "scalars": {"n": {"Int": -1}},
}
DATA = bytes(515)


def changed(*path, to=None, drop=False):
    """The good metadata with one place changed, or gone."""
    root = copy.deepcopy(GOOD)
    place = root
    for key in path[:-1]:
        place = place[key]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return root


def scheme(**fields):
    """A change of the scheme of q."""
    said = copy.deepcopy(Q4["QFloat"])
    said.update(fields)
    return changed("tensors", "q", "dtype", to={"QFloat": said})


def block(**fields):
    return scheme(block={"size": {**bpk.size(8), **fields}, "dtype": "F16"})


@pytest.fixture
def opened(tmp_path):
    def open_bytes(data, **options):
        path = tmp_path / "x.bpk"
        path.write_bytes(data)
        with qcore.open(path, **options) as f:
            return {name: f.tensor(name) for name in f.names()}

    return open_bytes


def test_the_unchanged_file_opens(opened):
    assert set(opened(bpk.file(GOOD, DATA))) == {"f", "q", "u"}
    assert set(opened(bpk.file(GOOD, DATA, version=0))) == {"f", "q", "u"}


GOOD_FILE = bpk.file(GOOD, DATA)
METADATA = bpk.cbor(GOOD)
TRUNCATED, LIMIT = "file-truncated", "file-limit"
DTYPE, SHAPE, SPAN = (("tensors", "q", key) for key in ("dtype", "shape", "data_offsets"))
TOO_MANY = "x.bpk, in its header: the number of elements or bytes of a tensor is 9223372036854775"
HUGE = {"tensors": {"q": bpk.tensor(bpk.scheme(), ((1 << 63) - 1,), 0, 12)}}
DEEP = bpk.Raw(b"\x81" * 200 + b"\0")
BROKEN = {
    # rule: (bytes, words that the message holds[, code])
    "empty": (b"", "the header", None),
    "header cut off": (GOOD_FILE[:9], "needs 10", TRUNCATED),
    "magic": (bpk.file(GOOD, DATA, magic=b"NRUC"), "the mark of the format"),
    "version": (bpk.file(GOOD, DATA, version=2), "the version is 2"),
    "metadata size beyond the file": (bpk.file(GOOD, b"", size=90_000), "the metadata needs", TRUNCATED),
    "metadata size beyond the limit": (bpk.file(GOOD, b"", size=(100 << 20) + 1), "104857601", LIMIT),
    "data cut off": (GOOD_FILE[:-1], "its data", TRUNCATED),
    "no tensors": (changed("tensors", drop=True), "'tensors'"),
    "tensors no map": (changed("tensors", to=[1]), "a list, allowed is a map of tensors"),
    "root no map": (bpk.Raw(b"\x80"), "a map, the metadata"),
    "texts no texts": (changed("metadata", "k", to=1), "allowed is a text"),
    "scalar no variant": (changed("scalars", "n", to=1), "a scalar"),
    "scalar of two": (changed("scalars", "n", to={"Int": 1, "UInt": 1}), "a scalar"),
    "scalar unknown": (changed("scalars", "n", to={"Word": 1}), "'Word'"),
    "scalar float an int": (changed("scalars", "n", to={"Float": 1}), "the int 1"),
    "scalar int a float": (changed("scalars", "n", to={"Int": 1.0}), "the float 1.0"),
    "scalar bool an int": (changed("scalars", "n", to={"Bool": 1}), "the int 1"),
    "scalar too large": (changed("scalars", "n", to={"Int": 1 << 63}), "what Int holds"),
    "scalar too small": (changed("scalars", "n", to={"Int": -(1 << 63) - 1}), "what Int holds"),
    "scalar below zero": (changed("scalars", "n", to={"UInt": -1}), "what UInt holds"),
    "scalar a text": (changed("scalars", "n", to={"Int": "1"}), "a number, true, false or null"),
    "descriptor no map": (changed("tensors", "f", to=[]), "the tensor's descriptor"),
    "no dtype": (changed("tensors", "f", "dtype", drop=True), "no dtype"),
    "no shape": (changed("tensors", "f", "shape", drop=True), "no shape"),
    "no offsets": (changed("tensors", "f", "data_offsets", drop=True), "no data_offsets"),
    "dtype unknown": (changed("tensors", "f", "dtype", to="F8"), "'F8'"),
    "dtype a number": (changed("tensors", "f", "dtype", to=3), "a dtype"),
    "dtype of two": (changed("tensors", "f", "dtype", to={"Bool": "U8", "QFloat": 1}), "a dtype"),
    "dtype unknown variant": (changed("tensors", "f", "dtype", to={"Int": "U8"}), "'Int'"),
    "dtype indefinite": (changed("tensors", "f", "dtype", to=bpk.Raw(b"\xbf\x64Bool\x66Native\xff")), "indefinite"),
    "bool store": (changed("tensors", "f", "dtype", to={"Bool": "U64"}), "Native, U8 or U32"),
    "shape no list": (changed("tensors", "f", "shape", to=4), "a list of dimensions"),
    "shape negative": (changed("tensors", "f", "shape", to=[-1]), "a whole number"),
    "shape a float": (changed("tensors", "f", "shape", to=[2.0, 2]), "a whole number"),
    "shape a bool": (changed("tensors", "f", "shape", to=[True]), "a whole number"),
    "rank": (changed("tensors", "f", "shape", to=[1] * 9), "at most 8"),
    "elements": (changed("tensors", "f", "shape", to=[1 << 32, 1 << 31]), TOO_MANY + "808"),
    "bytes": (changed("tensors", "f", "shape", to=[1 << 32, 1 << 29]), TOO_MANY + "808"),
    "bytes of a quantized tensor": (HUGE, TOO_MANY + "811"),
    "one offset": (changed("tensors", "f", "data_offsets", to=[0]), "the number of data_offsets"),
    "three offsets": (changed("tensors", "f", "data_offsets", to=[0, 16, 16]), "at most 2"),
    "offset text": (changed("tensors", "f", "data_offsets", to=["0", 16]), "a whole number"),
    "end before start": (changed("tensors", "f", "data_offsets", to=[16, 0]), "16 to 0"),
    "range too short": (changed("tensors", "f", "data_offsets", to=[0, 15]), "16 bytes for F32 [2, 2]"),
    "range too long": (changed("tensors", "f", "data_offsets", to=[0, 17]), "16 bytes for F32 [2, 2]"),
    "range beyond the file": (changed("tensors", "u", "data_offsets", to=[513, 516]), "its data", TRUNCATED),
    "range far beyond": (changed("tensors", "u", "data_offsets", to=[(1 << 64) - 4, (1 << 64) - 1]), "the range"),
    "overlap": (changed("tensors", "u", "data_offsets", to=[15, 18]), "overlaps 'f'"),
    "quantized too short": (changed(*SPAN, to=[256, 267]), "12 bytes for q4s"),
    "quantized too long": (changed(*SPAN, to=[256, 269]), "12 bytes for q4s"),
    "quantized shape": (changed(*SHAPE, to=[2, 9]), "24 bytes for q4s"),
    "param_id text": (changed("tensors", "q", "param_id", to="5"), "a whole number"),
    "param_id negative": (changed("tensors", "q", "param_id", to=-5), "a whole number"),
    "scheme no map": (changed(*DTYPE, to={"QFloat": "Q8S"}), "the scheme"),
    "scheme value": (scheme(value="Q3S"), "Q3S"),
    "scheme store": (scheme(store="U16"), "a store is"),
    "scheme mode": (scheme(mode="Asymmetric"), "mode is one of"),
    "scheme key missing": (scheme(store=None), "a store is"),
    "scheme key unknown": (scheme(zero_point=1), "zero_point"),
    "scheme of two forms": (scheme(level="Tensor", param="F32"), "an older one"),
    "scheme too large": (scheme(more=list(range(40))), "more values"),
    "scheme bytes": (scheme(value=b"Q8S"), "bytes"),
    "scale dtype": (scheme(tensor="F64"), "F64"),
    "extent 0": (block(storage=[0, 1, 1, 1, 1]), "extent"),
    "extent 256": (block(storage=[256, 1, 1, 1, 1]), "a number of one byte"),
    "storage of four": (block(storage=[8, 1, 1, 1]), "a list of 5"),
    "len 6": (block(len=6), "larger than the cap"),
    "len text": (block(len="1"), "the len"),
    "block rank": (block(storage=[2, 2, 8, 1, 1], len=3), "the scheme"),
    "packing axis": (scheme(store={"PackedU32": 2}), "the scheme"),
    "packing axis far": (scheme(store={"PackedU32": 1 << 40}), "dimension from 0"),
    "packed pairs of integers": (scheme(store={"PackedNative": 0}), "the scheme"),
    "lookup of a small float": (scheme(value="E4M3", store="Native", mode="Lookup"), "the scheme"),
    "global no f32": (scheme(tensor="F16"), "the scheme"),
    "duplicate tensor": (bpk.Pairs([("tensors", bpk.Pairs([("f", GOOD["tensors"]["f"])] * 2))]), "'f' a second time"),
    "duplicate root key": (bpk.Pairs([("tensors", {}), ("tensors", {})]), "'tensors' a second time"),
    "duplicate field": (changed("tensors", "f", to=bpk.Pairs([("dtype", "U8")] * 2)), "'dtype' a second time"),
    "duplicate text": (changed("metadata", to=bpk.Pairs([("k", "v")] * 2)), "'k' a second time"),
    "key no text": (bpk.Raw(b"\xa1\x01\x02"), "a key that is a text"),
    "name too long": (changed("tensors", "n" * 4097, to=bpk.tensor("U8", (0,), 0, 0)), "4097"),
    "no utf-8": (changed("tensors", bpk.Raw(b"\x61\xff"), to=bpk.tensor("U8", (0,), 0, 0)), "no UTF-8"),
    "tag": (changed("metadata", "k", to=bpk.Raw(b"\xc0\x61v")), "a tag, allowed is a text"),
    "tag skipped": (changed("more", to=bpk.Raw(b"\xd8\x23\x61v")), "without tags"),
    "undefined": (changed("more", to=bpk.Raw(b"\xf7")), "without tags"),
    "simple value": (changed("more", to=bpk.Raw(b"\xf8\xff")), "without tags"),
    "reserved length": (changed("more", to=bpk.Raw(b"\x7c")), "the byte 0x7c"),
    "lonely break": (changed("more", to=bpk.Raw(b"\xff")), "the byte 0xff"),
    "depth": (changed("more", to=DEEP), "is 129, the limit is 128 levels", LIMIT),
    "text longer than the metadata": (changed("more", to=bpk.Raw(b"\x7b" + b"\xff" * 8)), "metadata", TRUNCATED),
    "list longer than the metadata": (changed("more", to=bpk.Raw(b"\x9b" + b"\xff" * 8)), "metadata", TRUNCATED),
    "map longer than the metadata": (changed("more", to=bpk.Raw(b"\xbb" + b"\xff" * 8)), "metadata", TRUNCATED),
    "number cut off": (bpk.Raw(METADATA[:-1] + b"\x1b"), "metadata", TRUNCATED),
    "pieces of another kind": (changed("more", to=bpk.Raw(b"\x7f\x41v\xff")), "among the pieces"),
    "pieces without end": (changed("more", to=bpk.Raw(b"\x7f\x61v")), "metadata", TRUNCATED),
    "lookup table missing": ({"tensors": {"l": bpk.tensor(bpk.scheme("Q2S", mode="Lookup"), (4,), 0, 8)},
                              "metadata": {"qcore.lookup.l": "t"}}, "'l.lookup_table'", "file-tensor-missing"),
    "lookup table of another kind": ({"tensors": {"l": bpk.tensor(bpk.scheme("Q2S", mode="Lookup"), (4,), 0, 8),
                                                  "l.lookup_table": bpk.tensor("F32", (3,), 256, 268)},
                                      "metadata": {"qcore.lookup.l": "t"}}, "allowed is F32 [4]"),
    "rules no object": (changed("metadata", "qcore.rules.q", to="[1]"), "a JSON object"),
    "rules nested": (changed("metadata", "qcore.rules.q", to='{"a": {}}'), "words and numbers"),
    "rules too long": (changed("metadata", "qcore.rules.q", to="x" * 1048577), "1048577", LIMIT),
    "Bool of 2": ({"tensors": {"b": bpk.tensor({"Bool": "Native"}, (1,), 0, 1)}}, "a Bool is 2"),
}  # fmt: skip


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_named(opened, rule):
    content, words, *code = BROKEN[rule]
    data = b"\2" if rule == "Bool of 2" else DATA
    whole = content if isinstance(content, bytes) and not isinstance(content, bpk.Raw) else bpk.file(content, data)
    with pytest.raises(errors.QuantError) as caught:
        opened(whole)
    error = caught.value
    assert words in str(error)
    assert "x.bpk" in str(error)
    if rule != "empty":
        assert error.code == (code[0] if code else "file-malformed")


def test_what_burn_ignores_opens(opened):
    more = bpk.Raw(b"\xbf\x61a\x9f\x01\xff\x61b\x7f\x61v\xff\x61c\x5f\x41v\xff\xff")
    root = changed("more", to=more)
    root["tensors"]["f"]["private"] = more
    root["tensors"]["f"]["param_id"] = None
    indefinite = bpk.Raw(b"\xbf" + bpk.cbor(root)[1:] + b"\xff")
    for metadata in (root, indefinite):
        assert set(opened(bpk.file(metadata, DATA))) == {"f", "q", "u"}
    after = bpk.file(GOOD, metadata=bpk.cbor(GOOD) + b"garbage after the item", data=DATA)
    assert set(opened(after)) == {"f", "q", "u"}


def test_what_is_unusual_is_noted(tmp_path):
    path = tmp_path / "x.bpk"
    path.write_bytes(bpk.file(changed("tensors", "u", "data_offsets", to=[300, 303]), DATA[:303] + b"more"))
    with qcore.open(path) as f:
        assert len(f.notes) == 2
        assert "1 of 3 tensors do not begin on a multiple of 256" in f.notes[0]
        assert "4 bytes follow the last tensor" in f.notes[1]


def test_a_lookup_tensor_without_a_table_says_that_it_needs_one(opened, refused):
    root = {"tensors": {"l": bpk.tensor(bpk.scheme("Q2S", mode="Lookup"), (4,), 0, 8)}}
    error = refused(opened, bpk.file(root, bytes(8)), code="lookup-needs-table")
    assert error.tensor == "l"


@pytest.mark.parametrize(
    ("limit", "count"),
    [("tensors", 3), ("texts", 2), ("metadata", len(METADATA)), ("depth", 7)],
)
def test_limits_are_held_at_their_number(opened, limit, count):
    root = changed("scalars", "m", to={"Bool": True}) if limit == "texts" else GOOD
    assert opened(bpk.file(root, DATA), limits={f"burnpack-{limit}": count})
    with pytest.raises(errors.LimitError, match=f"burnpack-{limit}"):
        opened(bpk.file(root, DATA), limits={f"burnpack-{limit}": count - 1})


def test_texts_are_counted_apart_from_scalars(opened):
    root = changed("metadata", to={"a": "", "b": "", "c": ""})
    with pytest.raises(errors.LimitError, match="is 3, the limit is 2"):
        opened(bpk.file(root, DATA), limits={"burnpack-texts": 2})


@pytest.mark.parametrize(("count", "size", "limit"), [(1, 10, "burnpack-tensor"), (11, 9.5, "burnpack-file")])
def test_what_burn_would_not_read_is_not_written(tmp_path, count, size, limit):
    shape = (int(size * 2**30) + 1,)
    infos = [TensorInfo(f"x{index}", shape, "uint8", None, shape[0], (f"x{index}",)) for index in range(count)]
    with pytest.raises(errors.LimitError, match=limit):
        qcore.save(tmp_path / "x.bpk", {info.name: Deferred(info, lambda: None) for info in infos})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("levels", [127, 128, 129])
def test_nesting_is_held_at_its_limit(opened, levels):
    data = bpk.file(changed("more", to=bpk.Raw(b"\x81" * (levels - 1) + b"\0")), DATA)
    if levels <= 128:
        assert opened(data)
    else:
        with pytest.raises(errors.QuantError, match="128 levels"):
            opened(data)


EDGES = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@pytest.mark.parametrize("dtype", ["F64", Q4, bpk.scheme("E2M1", {"PackedNative": 0}, block=((16,), "UE4M3"))],
                         ids=["F64", "Q4S", "NVFP4"])  # fmt: skip
def test_no_dimension_wraps(tmp_path, dtype):
    path = tmp_path / "x.bpk"
    shapes = [*itertools.product(EDGES, repeat=2), *itertools.product(EDGES[::3], repeat=3)]
    for shape in shapes:
        count = int(np.prod([1.0 * dim for dim in shape]))
        path.write_bytes(bpk.file({"tensors": {"x": bpk.tensor(dtype, shape, 0, 8)}}, bytes(8)))
        try:
            with qcore.open(path) as f:
                assert f.info("x").size <= 16, shape
        except errors.QuantError:
            assert count != 1 or dtype != "F64", shape


def test_no_offset_wraps(tmp_path):
    path = tmp_path / "x.bpk"
    for begin, end in itertools.product(EDGES, repeat=2):
        path.write_bytes(bpk.file({"tensors": {"x": bpk.tensor("U8", (1,), begin, end)}}, bytes(8)))
        if (begin, end) == (0, 1):
            with qcore.open(path) as f:
                assert f.tensor("x").tolist() == [0]
        else:
            with pytest.raises(errors.QuantError):
                qcore.open(path)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    path = tmp_path / "x.bpk"
    for length in (*range(0, len(GOOD_FILE), 11), len(GOOD_FILE) - 1):
        path.write_bytes(GOOD_FILE[:length])
        with pytest.raises(errors.TruncatedFileError):
            qcore.open(path)


def test_claims_cost_no_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "x.bpk"
    claims = [bpk.Raw(bytes([major << 5 | 27]) + struct.pack(">Q", size)) for major in (2, 3, 4, 5)
              for size in (2**31, 2**40, 2**63, 2**64 - 1)]  # fmt: skip
    for claim in claims:
        for place in (("more",), ("metadata",), ("tensors",), ("tensors", "f", "shape"), ("tensors", "q", "dtype")):
            path.write_bytes(bpk.file(changed(*place, to=claim), DATA))
            tracemalloc.start()
            with pytest.raises(errors.QuantError):
                qcore.open(path)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
            tracemalloc.stop()
