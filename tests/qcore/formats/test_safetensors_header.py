"""Each rule of the header has a file that breaks it and nothing else, mutated from one that is fine."""

import json
import time

import pytest

import qcore
from qcore import errors
from qcore.formats import TensorInfo

GOOD = {
    "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
    "b": {"dtype": "U8", "shape": [4], "data_offsets": [16, 20]},
}
DATA = bytes(20)


def changed(name="a", **fields):
    header = json.loads(json.dumps(GOOD))
    header[name].update(fields)
    return header


def test_the_unchanged_file_opens(safetensors):
    with qcore.open(safetensors(GOOD, DATA)) as f:
        assert f.names() == ("a", "b")
        assert f.info("a").shape == (2, 2)
        assert f.info("b").dtype == "uint8"


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"__metadata__": {}},
        {"__metadata__": {"k": "v"}, **GOOD},
        {"z": {"dtype": "F32", "shape": [0, 3], "data_offsets": [0, 0]}, **GOOD},
        {"s": {"dtype": "F32", "shape": [], "data_offsets": [20, 24]}, **GOOD},
        {**GOOD, "a": {**GOOD["a"], "more": {"deep": [1.5e3, None, True, {"x": []}]}}},
    ],
    ids=["empty", "no texts", "texts", "zero-size", "0-d", "unknown field"],
)
def test_what_the_reference_accepts_opens(safetensors, header):
    size = max(
        (entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0
    )
    with qcore.open(safetensors(header, bytes(size))) as f:
        assert set(f.names()) == header.keys() - {"__metadata__"}


def test_spaces_around_the_object_are_accepted(safetensors):
    with qcore.open(safetensors("  " + json.dumps(GOOD) + "    ", DATA)) as f:
        assert len(f) == 2


@pytest.mark.parametrize("indent", [None, 1, "\t\r\n "])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,", " : ")])
def test_every_spelling_of_a_header_means_the_same(safetensors, indent, separators):
    text = json.dumps(GOOD, indent=indent, separators=separators)
    with qcore.open(safetensors(text, DATA)) as f:
        assert [f.info(name) for name in f.names()] == [
            TensorInfo("a", (2, 2), "float32", None, 16, ("a",)),
            TensorInfo("b", (4,), "uint8", None, 4, ("b",)),
        ]


TEXT = json.dumps(GOOD)
BROKEN = {
    # rule: (header, data, words that the message holds)
    "duplicate name": (TEXT.replace('"b"', '"a"'), DATA, "'a' a second time"),
    "duplicate zero-size name": (
        '{"z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}',
        b"",
        "'z' a second time",
    ),
    "duplicate field": (
        TEXT.replace('"dtype": "U8"', '"dtype": "U8", "dtype": "U8"'),
        DATA,
        "'dtype' a second time",
    ),
    "duplicate metadata": ('{"__metadata__":{},"__metadata__":{}}', b"", "'__metadata__' a second time"),
    "duplicate text": ('{"__metadata__":{"k":"v","k":"v"}}', b"", "'k' a second time"),
    "metadata is no object": ('{"__metadata__":[]}', b"", "an object under __metadata__"),
    "a text is no text": ('{"__metadata__":{"k":1}}', b"", "a text in quotes"),
    "not an object": ("[]", b"", "the header's object"),
    "nothing at all": ("", b"", "the end of the header"),
    "no JSON": ("garbage", b"", "garbage"),
    "text after the object": (TEXT + "x", DATA, "nothing after the header's object"),
    "cut off": (TEXT[:-1], DATA, "the end of the header"),
    "single quotes": (TEXT.replace('"', "'"), DATA, "a key in quotes"),
    "trailing comma": (TEXT[:-1] + ",}", DATA, "a key in quotes"),
    "missing colon": (TEXT.replace('"a":', '"a"'), DATA, "a colon"),
    "control character in a name": (TEXT.replace('"a"', '"a\n"'), DATA, "Invalid control character"),
    "half a surrogate pair": (TEXT.replace('"a"', '"\\ud800"'), DATA, "half of a surrogate pair"),
    "bad escape": (TEXT.replace('"a"', '"\\x41"'), DATA, "escape"),
    "not UTF-8": (TEXT.encode().replace(b'"a"', b'"\xff"'), DATA, "byte 0xff"),
    "entry is no object": ('{"a": 3}', b"", "an object under 'a'"),
    "unknown dtype": (changed(dtype="F128"), DATA, "'F128'"),
    "dtype in lower case": (changed(dtype="f32"), DATA, "'f32'"),
    "dtype is a list": (changed(dtype=["F32"]), DATA, "a dtype in quotes"),
    "dtype is null": (changed(dtype=None), DATA, "a dtype in quotes"),
    "no dtype": ('{"a": {"shape": [0], "data_offsets": [0, 0]}}', b"", "no dtype under 'a'"),
    "no shape": ('{"a": {"dtype": "F32", "data_offsets": [0, 0]}}', b"", "no shape under 'a'"),
    "no offsets": ('{"a": {"dtype": "F32", "shape": [0]}}', b"", "no data_offsets under 'a'"),
    "shape is a number": (changed(shape=4), DATA, "a list of dimensions"),
    "NaN in a shape": (TEXT.replace("[2, 2]", "[2, NaN]"), DATA, "NaN"),
    "Infinity in a shape": (TEXT.replace("[2, 2]", "[2, Infinity]"), DATA, "Infinity"),
    "true in a shape": (TEXT.replace("[2, 2]", "[4, true]"), DATA, "true"),
    "a float in a shape": (TEXT.replace("[2, 2]", "[2.0, 2]"), DATA, "2.0"),
    "an exponent in a shape": (TEXT.replace("[2, 2]", "[1e3, 2]"), DATA, "1e3"),
    "a negative dimension": (TEXT.replace("[2, 2]", "[-2, -2]"), DATA, "-2"),
    "a text in a shape": (TEXT.replace("[2, 2]", '["2", 2]'), DATA, "a whole number"),
    "a list in a shape": (TEXT.replace("[2, 2]", "[[2], 2]"), DATA, "a whole number"),
    "a leading zero": (TEXT.replace("[2, 2]", "[02, 2]"), DATA, "02"),
    "a dimension beyond u64": (TEXT.replace("[2, 2]", "[18446744073709551616]"), DATA, "2^64 - 1"),
    "a dimension of a million digits": (TEXT.replace("[2, 2]", f"[{'9' * 1_000_000}]"), DATA, "2^64 - 1"),
    "too many dimensions": (changed(shape=[1] * 9), DATA, "at most 8"),
    "product beyond 2^63": (changed(shape=[2**32, 2**32]), DATA, "number of elements or bytes"),
    "bytes beyond 2^63": (changed(shape=[2**61]), DATA, "number of elements or bytes"),
    "product of exactly 2^64": (changed(shape=[2**22, 2**22, 2**20]), DATA, "number of elements or bytes"),
    "three offsets": (changed(data_offsets=[0, 16, 16]), DATA, "at most 2"),
    "one offset": (changed(data_offsets=[0]), DATA, "the number of data_offsets is 1, allowed is 2"),
    "offsets are floats": (TEXT.replace("[0, 16]", "[0.0, 16]"), DATA, "0.0"),
    "range reversed": (changed(data_offsets=[16, 0]), DATA, "16 to 0"),
    "range longer than the shape": (changed(data_offsets=[0, 20]), DATA, "16 bytes for F32 [2, 2]"),
    "range shorter than the shape": (changed(shape=[3, 2]), DATA, "24 bytes for F32 [3, 2]"),
    "half a byte of F4": (changed("b", dtype="F4", shape=[7]), DATA, "a whole number of bytes"),
    "overlap": (changed("b", data_offsets=[15, 19]), bytes(19), "overlaps 'a'"),
    "same range twice": (
        {"a": GOOD["a"], "b": {"dtype": "U8", "shape": [16], "data_offsets": [0, 16]}},
        bytes(16),
        "overlaps",
    ),
    "hole": (changed("b", data_offsets=[17, 21]), bytes(21), "leaves a hole after 'a'"),
    "first byte not at zero": (
        {"b": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}},
        bytes(2),
        "leaves a hole after the header",
    ),
    "trailing bytes": (GOOD, DATA + b"x", "the end of the file"),
    "a name of 5000 bytes": ({"n" * 5000: GOOD["a"] | {"data_offsets": [0, 16]}}, bytes(16), "limit name"),
    "values nested 200 deep": (changed(more=json.loads("[" * 200 + "]" * 200)), DATA, "at most 128 levels"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_file_that_breaks_a_rule_is_refused_with_place_found_and_allowed(safetensors, refused, rule):
    header, data, words = BROKEN[rule]
    path = safetensors(header, data)
    error = refused(qcore.open, path, code="file-malformed")
    assert isinstance(error, errors.FormatError)
    assert words in str(error)
    assert str(path) in str(error)
    assert "allowed is" in str(error)


def test_the_byte_that_is_named_is_the_byte_at_fault(safetensors, refused):
    text = '{"ä": {"dtype": "F32", "shape": [1, NaN], "data_offsets": [0, 4]}}'
    error = refused(qcore.open, safetensors(text, bytes(4)))
    offset = error.params["offset"]
    assert (b"\0" * 8 + text.encode())[offset : offset + 3] == b"NaN"


def test_a_truncated_file_says_what_is_missing(safetensors, refused):
    for data in (DATA[:-1], b""):
        error = refused(qcore.open, safetensors(GOOD, data), code="file-truncated")
        assert isinstance(error, errors.TruncatedFileError)
        assert "the data of 'b'" in str(error)
    refused(qcore.open, safetensors(GOOD, b"", length=10_000), code="file-truncated")


def test_every_prefix_of_a_good_file_is_refused(safetensors, refused):
    whole = safetensors(GOOD, DATA).read_bytes()
    path = safetensors(GOOD, DATA, name="cut.safetensors")
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        refused(qcore.open, path, code="file-truncated")


def test_a_header_beyond_the_limit_is_refused_and_the_limit_can_be_raised(safetensors, refused):
    error = refused(qcore.open, safetensors(GOOD, DATA, length=2**26 + 1), code="file-limit")
    assert isinstance(error, errors.LimitError)
    assert "safetensors-header" in str(error)
    assert "limits=" in str(error)
    path = safetensors(GOOD, DATA)
    length = int.from_bytes(path.read_bytes()[:8], "little")
    refused(qcore.open, path, limits={"safetensors-header": length - 1}, code="file-limit")
    qcore.open(path, limits={"safetensors-header": length}).close()


def test_a_header_beyond_the_hard_limit_cannot_be_allowed(safetensors, refused):
    refused(
        qcore.open, safetensors(GOOD, DATA), limits={"safetensors-header": 100_000_001}, code="option-value"
    )
    path = safetensors(GOOD, DATA, length=100_000_001)
    refused(qcore.open, path, limits={"safetensors-header": 100_000_000}, code="file-limit")


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deep_nesting_ends_in_an_error_not_in_the_interpreter(safetensors, refused, depth):
    text = '{"a": {"x": ' + "[" * depth + "]" * depth + "}}"
    refused(qcore.open, safetensors(text), code="file-malformed")


def test_a_hundred_thousand_tensors_open_within_ten_times_two_seconds(safetensors):
    header = {
        f"layer.{i}.w": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(100_000)
    }
    path = safetensors(header, bytes(100_000))
    begin = time.perf_counter()
    with qcore.open(path) as f:
        assert len(f) == 100_000
    assert time.perf_counter() - begin < 20
