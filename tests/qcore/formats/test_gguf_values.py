"""Keys of GGUF as texts and back: no bit is lost, whatever they hold."""

import struct

import numpy as np
import pytest
from gguf_bytes import TYPES, File
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore import errors
from qcore.formats.gguf_values import encoded

RANGES = {"u8": (0, 8), "i8": (1, 8), "u16": (0, 16), "i16": (1, 16), "u32": (0, 32), "i32": (1, 32)} | {
    "u64": (0, 64),
    "i64": (1, 64),
}


def values(kind):
    if kind in RANGES:
        signed, bits = RANGES[kind]
        return st.integers(-signed << bits - 1, (1 << bits - signed) - 1)
    if kind == "str":
        return st.binary(max_size=12) | st.text(max_size=8).map(str.encode)
    if kind == "bool":
        return st.integers(0, 1)
    return st.floats(width=32 if kind == "f32" else 64, allow_nan=False)


KEYS = st.lists(
    st.sampled_from(sorted(TYPES)).flatmap(
        lambda kind: (
            values(kind).map(lambda v: ("scalar", kind, v))
            | st.lists(values(kind), max_size=5).map(lambda v: ("array", kind, v))
        )
    ),
    max_size=6,
)


def built(order, found):
    file = File(order=order)
    file.keys = [(b"general.architecture", file.scalar("str", b"llama"))]
    file.keys += [
        (b"key %d" % n, getattr(file, form)(kind, value)) for n, (form, kind, value) in enumerate(found)
    ]
    return file.build()


@pytest.mark.parametrize("order", ["<", ">"])
@given(found=KEYS)
def test_any_keys_come_back_byte_for_byte(tmp_path_factory, order, found):
    folder = tmp_path_factory.mktemp("keys")
    (folder / "a.gguf").write_bytes(built(order, found))
    with qcore.open(folder / "a.gguf") as f:
        qcore.save(folder / "b.gguf", {}, dict(f.metadata))
    assert (folder / "b.gguf").read_bytes() == built("<", found)


def test_a_big_endian_file_has_the_same_texts(tmp_path):
    texts = []
    for order in "<>":
        file = File(order=order)
        file.keys = [
            (b"a", file.scalar("u32", 7)),
            (b"b", file.array("f64", [0.5, -2.0])),
            (b"c", file.array("str", [b"x", b"yz"])),
            (b"d", file.scalar("f32", 0.1)),
        ]
        (tmp_path / "x.gguf").write_bytes(file.build())
        with qcore.open(tmp_path / "x.gguf") as f:
            texts.append(dict(f.metadata))
    assert texts[0] == texts[1]
    assert (texts[0]["a"], texts[0]["b"], texts[0]["c"], texts[0]["d"]) == (
        "7",
        "[0.5, -2.0]",
        '["x", "yz"]',
        "0.1",
    )


def test_strings_that_are_not_utf8_are_shown_in_hexadecimal(tmp_path):
    file = File(keys=[(b"s", File().scalar("str", b"\xff\x01"))])
    (tmp_path / "x.gguf").write_bytes(file.build())
    with qcore.open(tmp_path / "x.gguf") as f:
        assert f.metadata["s"] == "ff01"
        assert '"s":"bytes"' in f.metadata["gguf.layout"]


@given(st.integers(0, (1 << 32) - 1))
def test_every_single_has_a_short_text_that_makes_it_again(bits):
    value = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    if np.isnan(value):
        return
    from qcore.formats.gguf_values import _number_text

    assert encoded("k", "f32", _number_text("f32", value))[4:] == bits.to_bytes(4, "little")


WRONG = [
    ("u8", "256"), ("u8", "-1"), ("i32", "x"), ("u32", ""), ("u32", "1.0"), ("bool", "1"), ("bool[]", "[1]"),
    ("f32", "1e39"), ("str[]", "[1]"), ("u8[]", "[256]"), ("u8[]", "{}"), ("u8[]", "[" * 100_000), ("bytes", "fg"),
    ("u7", "1"), ("u32[][]", "[]"), ("str", "\udc80"), ("array", "[]"), ("u32[]", '["1"]'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), WRONG)
def test_a_text_that_is_no_value_of_its_kind_is_refused(kind, text):
    with pytest.raises(errors.QuantError) as caught:
        encoded("k", kind, text)
    assert caught.value.code == "option-value"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"keys":{},"tensors":[]}',
        '{"keys":{"a":1},"tensors":{}}',
        '{"keys":{"a":"u8","a":"u8"}}',
    ],
)
def test_a_layout_that_is_none_is_refused(tmp_path, text):
    with pytest.raises(errors.FormatError):
        qcore.save(tmp_path / "x.gguf", {}, {"gguf.layout": text})
    assert not list(tmp_path.iterdir())


def test_a_text_that_was_edited_keeps_its_kind_and_one_that_is_gone_is_gone(tmp_path):
    file = File(keys=[(b"a", File().scalar("u32", 7)), (b"b", File().scalar("u32", 8))])
    (tmp_path / "x.gguf").write_bytes(file.build())
    with qcore.open(tmp_path / "x.gguf") as f:
        texts = dict(f.metadata) | {"a": "9"}
    del texts["b"]
    qcore.save(tmp_path / "y.gguf", {}, texts)
    with qcore.open(tmp_path / "y.gguf") as f:
        assert f.metadata["a"] == "9"
        assert "b" not in f.metadata
        assert '"a":"u32"' in f.metadata["gguf.layout"]
