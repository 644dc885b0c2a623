from itertools import permutations

import pytest
from any_scheme import refusal, schemes
from hypothesis import given
from hypothesis import strategies as st

from qcore import errors
from qcore.scheme import QuantScheme
from qcore.scheme.text import parse_text

CANONICAL = [
    "q8s/native/t:f32",
    "q4f/u32/b32:f16",
    "e2m1/packed/b16:ue4m3/t:f32",
    "e2m1/packed/b32:ue8m0",
    "q8f/u32",
    "q8f/u32:1",
    "e2m1/packed:2",
    "q8s/native/b2x16:f32",
    "q8s/native/b1:f32",
    "q4f/u32/lookup/b64:f32",
    "q2s/u32/t:bf16",
]


@pytest.mark.parametrize("text", CANONICAL)
def test_a_canonical_text_is_printed_as_it_was_read(text):
    assert str(QuantScheme.parse(text)) == text


@given(schemes)
def test_every_scheme_is_read_back_from_its_text(scheme):
    assert QuantScheme.parse(str(scheme)) == scheme
    assert str(QuantScheme.parse(str(scheme).upper())) == str(scheme)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("q4s", "q4s/u32"),
        (" Q4S / B32:F16 ", "q4s/u32/b32:f16"),
        ("q4s/b1x32:f16", "q4s/u32/b32:f16"),
        ("q4s/b1x1:f16", "q4s/u32/b1:f16"),
        ("q4s/b1:f16", "q4s/u32/b1:f16"),
        ("q4s/b032:f16", "q4s/u32/b32:f16"),
        ("q4s/u32:0", "q4s/u32"),
        ("q4s/packed:0", "q4s/packed"),
        ("int8/u32/t:float32", "q8s/u32/t:f32"),
        ("int4/b32:bfloat16", "q4s/u32/b32:bf16"),
        ("int4", "q4s/u32"),
        ("int2/native", "q2s/native"),
        ("fp8/b32:e8m0", "e4m3/u32/b32:ue8m0"),
        ("float8_e4m3fn/native", "e4m3/native"),
        ("float8_e5m2/native", "e5m2/native"),
        ("float4_e2m1fn/packed/b16:float8_e4m3fn", "e2m1/packed/b16:ue4m3"),
        ("fp4/packed", "e2m1/packed"),
        ("q4f/lookup:nf4", "q4f/u32/lookup"),
        ("nvfp4", "e2m1/packed/b16:ue4m3/t:f32"),
        ("int8", "q8s/native/t:f32"),
    ],
)
def test_what_people_write_is_understood(written, canonical):
    assert str(QuantScheme.parse(written)) == canonical


def test_fields_after_the_value_come_in_any_order():
    fields = ["native", "lookup:nf4", "b2x16:f16", "t:f32"]
    read = {parse_text("/".join(["q4f", *order])) for order in permutations(fields)}
    assert [(str(found.scheme), found.table) for found in read] == [
        ("q4f/native/lookup/b2x16:f16/t:f32", "nf4")
    ]


@pytest.mark.parametrize(("word", "name"), [("nf4", "nf4"), ("FP4_BNB", "fp4-bnb"), ("iq4_nl", "iq4-nl")])
def test_a_table_is_a_hint_beside_the_scheme(word, name):
    found = parse_text(f"q4f/lookup:{word}")
    assert found.table == name
    assert found.scheme == QuantScheme.parse("q4f/lookup")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it begins with a value or preset, and there is none"),
        ("/u32", "it begins with a value, and there is none"),
        ("0", "unknown value or preset '0' (q8f, e5m2, e4m3, q4f, e2m1, q2f, q8s, q4s, q2s, or a preset)"),
        ("q4s/t:0", "unknown scale dtype '0' (f32, f16, bf16, ue8m0, ue4m3)"),
        ("q4x/u32", "unknown value 'q4x', did you mean 'q4s'?"),
        ("nvpf4", "unknown value or preset 'nvpf4', did you mean 'nvfp4'?"),
        ("mxpf8", "unknown value or preset 'mxpf8', did you mean 'mxfp8'?"),
        ("q4s/", "a field between two slashes is empty"),
        ("q4s//t:f32", "a field between two slashes is empty"),
        ("q4s/nativ", "unknown field 'nativ', did you mean 'native'?"),
        ("q4s/lokup:nf4", "unknown field 'lokup:nf4', did you mean 'lookup'?"),
        ("q4s/zzzzzz", "unknown field 'zzzzzz' (native, u32, packed, lookup, b32:f16, t:f32)"),
        ("q4s/b32", "a block names its scale dtype, as in b32:f16"),
        ("q4s/b2x16:", "a block names its scale dtype, as in b2x16:f16"),
        ("q4s/b32:f61", "unknown scale dtype 'f61', did you mean 'f16'?"),
        ("q4s/32:f16", "a block is written b32:f16, got '32:f16'"),
        ("q4s/b32x:f16", "a block is written b32:f16, got 'b32x:f16'"),
        ("q4s/t", "the tensor level names its scale dtype, as in t:f32"),
        ("q4s/f16", "a scale dtype belongs to a level, as in t:f16 or b32:f16"),
        ("q4s/q8s", "the value comes first, and once"),
        ("q4s/native/u32", "it names the store twice"),
        ("q4s/t:f32/t:f32", "it names the tensor level twice"),
        ("q4s/b32:f16/b16:f16", "it names the block level twice"),
        ("q4s/lookup/lookup:nf4", "it names the mode twice"),
        ("q4s/native:0", "native packs nothing and takes no dimension"),
        ("q4s/u32:x", "a packing dim is a number from 0 to 255, got 'x'"),
        ("q4s/u32:", "a packing dim is a number from 0 to 255, got ''"),
        ("q4s/u32:256", "a packing dim is a number from 0 to 255, got '256'"),
        ("q4f/lookup:nf5", "unknown table 'nf5', did you mean 'nf4'?"),
        ("q4f/lookup:", "unknown table '' (nf4, fp4-bnb, iq4-nl)"),
    ],
)
def test_a_refused_text_says_why(text, reason):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantScheme.parse(text)
    assert caught.value.code == "scheme-text"
    assert caught.value.params == {"text": text, "reason": reason}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("q4s/b0:f16", "block-extent"),
        ("q4s/b256:f16", "block-extent"),
        ("q4s/b2x2x2x2x2x2:f16", "block-cap"),
        (f"q4s/b{'9' * 9999}:f16", "block-extent"),
    ],
)
def test_a_block_that_cannot_be_has_its_own_error(text, code):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantScheme.parse(text)
    assert caught.value.code == code


def test_the_error_for_a_long_text_is_short():
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantScheme.parse("q4s/" * 100_000)
    assert len(str(caught.value)) < 300


@given(
    st.text(max_size=30)
    | st.from_regex(r"(q4s|e2m1|nf4|u32|native|b[0-9x]{1,6}|:|/|f16|t|lookup){1,9}", fullmatch=True)
)
def test_any_text_is_a_scheme_or_a_documented_error(text):
    refused = refusal(QuantScheme.parse, text)
    if refused is None:
        scheme = QuantScheme.parse(text)
        assert QuantScheme.parse(str(scheme)) == scheme
    else:
        assert refused.code in {"scheme-text", "block-extent", "block-cap"}
        assert len(str(refused)) < 400
