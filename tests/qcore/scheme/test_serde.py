import json

import pytest
from any_scheme import json_values, refusal, schemes
from hypothesis import given
from hypothesis import strategies as st

from qcore import errors
from qcore.scheme import QuantScheme

EXAMPLES = {
    "q8f/u32": '{"value":"Q8F","store":{"PackedU32":0},"mode":"Symmetric","tensor":null,"block":null}',
    "q8s/native/b2x16:f16": '{"value":"Q8S","store":"Native","mode":"Symmetric","tensor":null,'
    '"block":{"size":{"storage":[2,16,1,1,1],"len":2},"dtype":"F16"}}',
    "e2m1/packed/b16:ue4m3/t:f32": '{"value":"E2M1","store":{"PackedNative":0},"mode":"Symmetric","tensor":"F32",'
    '"block":{"size":{"storage":[16,1,1,1,1],"len":1},"dtype":"UE4M3"}}',
}


@pytest.mark.parametrize(("text", "written"), EXAMPLES.items())
def test_a_scheme_is_written_as_serde_does(text, written):
    scheme = QuantScheme.parse(text)
    assert json.dumps(scheme.to_dict(), separators=(",", ":")) == written
    assert QuantScheme.from_dict(json.loads(written)) == scheme


@given(schemes)
def test_every_scheme_is_read_back_from_its_shape(scheme):
    assert QuantScheme.from_dict(json.loads(json.dumps(scheme.to_dict()))) == scheme


def test_absent_levels_mean_none():
    assert QuantScheme.from_dict(
        {"value": "Q8F", "store": "Native", "mode": "Symmetric"}
    ) == QuantScheme.parse("q8f/native")


def size(*storage, length):
    return {"storage": list(storage), "len": length}


def head(**changes):
    return {
        "value": "Q4S",
        "store": {"PackedU32": 0},
        "mode": "Symmetric",
        "tensor": None,
        "block": None,
    } | changes


def older(**changes):
    return {
        "value": "Q4S",
        "param": "F16",
        "store": {"PackedU32": 0},
        "level": "Tensor",
        "mode": "Symmetric",
    } | changes


def block(length=1, storage=(32, 1, 1, 1, 1), dtype="F16"):
    return {"size": size(*storage, length=length), "dtype": dtype}


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (older(), "q4s/u32/t:f16"),
        (older(store="U32"), "q4s/u32/t:f16"),
        (older(store="Native"), "q4s/native/t:f16"),
        (older(store={"PackedNative": 1}, value="E2M1"), "e2m1/packed:1/t:f16"),
        (older(level={"Block": size(32, 1, 1, 1, 1, length=1)}), "q4s/u32/b32:f16"),
        (older(level={"Block": size(1, 32, 1, 1, 1, length=2)}), "q4s/u32/b32:f16"),
        (
            older(
                level={"BlockTensor": {"block": size(16, 1, 1, 1, 1, length=1), "global": "F32"}},
                param="UE4M3",
            ),
            "q4s/u32/b16:ue4m3/t:f32",
        ),
    ],
)
def test_older_shapes_mean_what_they_said(shape, text):
    assert QuantScheme.from_dict(shape) == QuantScheme.parse(text)


@pytest.mark.parametrize(
    ("length", "storage", "text"),
    [
        (2, (1, 32, 1, 1, 1), "b32"),
        (5, (1, 1, 1, 1, 1), "b1"),
        (0, (7, 7, 7, 7, 7), "b1"),
        (3, (1, 2, 1, 9, 9), "b2x1"),
    ],
)
def test_a_stored_block_is_brought_into_canonical_form(length, storage, text):
    assert str(QuantScheme.from_dict(head(block=block(length, storage)))) == f"q4s/u32/{text}:f16"


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ([], "a serialised scheme is a map"),
        ("q4s/u32", "a serialised scheme is a map"),
        (
            head(value="Q3S"),
            "value is one of Q8F, E5M2, E4M3, Q4F, E2M1, Q2F, Q8S, Q4S, Q2S, got 'Q3S', did you mean",
        ),
        (head(value="q4s"), "value is one of"),
        (head(value=4), "value is one of Q8F, E5M2, E4M3, Q4F, E2M1, Q2F, Q8S, Q4S, Q2S, got 4"),
        (head(mode="Affine"), "mode is one of Symmetric, Lookup, got 'Affine'"),
        (head(mode=None), "mode is one of Symmetric, Lookup, got None"),
        (head(store="U32"), "a store is 'Native'"),
        (head(store={"PackedU32": 0, "PackedNative": 0}), "a store is 'Native'"),
        (head(store={"PackedU32": True}), "PackedU32 packs along a dimension from 0 to 255, got True"),
        (head(store={"PackedU32": -1}), "PackedU32 packs along a dimension"),
        (head(store={"PackedU32": 0.0}), "PackedU32 packs along a dimension"),
        (head(store={"PackedU8": 0}), "a store is 'Native'"),
        (head(tensor="F8"), "tensor is one of F32, F16, BF16, UE8M0, UE4M3, got 'F8'"),
        (head(tensor=False), "tensor is one of"),
        (head(block={}), "block is a map with the fields size and dtype, got a map of 0"),
        (head(block=32), "block is a map with the fields size and dtype, got 32"),
        (head(block=block() | {"zero": 1}), "block is a map with the fields size and dtype"),
        (head(block={"size": [32], "dtype": "F16"}), "a block size is a map with the fields storage and len"),
        (head(block=block(storage=(32,))), "a block size is stored in a list of 5 extents, got a list of 1"),
        (head(block=block(storage=(256, 1, 1, 1, 1))), "a stored extent is a number of one byte, got 256"),
        (head(block=block(storage=(True, 1, 1, 1, 1))), "a stored extent is a number of one byte, got True"),
        (head(block=block(length=1.0)), "the len of a block size is a number, got 1.0"),
        (head(block=block(length=True)), "the len of a block size is a number, got True"),
        (head(block=block(dtype="U8")), "the block's dtype is one of"),
        (head(scheme=1), "unknown field 'scheme'"),
        (head(levels=[]), "unknown field 'levels'"),
        (
            head(level="Tensor"),
            "it has fields of this Burn (tensor, block) and of an older one (param, level)",
        ),
        (head(param="F16"), "it has fields of this Burn"),
        ({"value": "Q8F", "store": "Native"}, "the field 'mode' is missing"),
        ({k: v for k, v in older().items() if k != "param"}, "the field 'param' is missing"),
        (older(level="Block"), "a level is 'Tensor', or a map with Block or BlockTensor alone, got 'Block'"),
        (older(level={"Block": 32}), "a block size is a map with the fields storage and len, got 32"),
        (
            older(level={"BlockTensor": {"block": size(2, 1, 1, 1, 1, length=1)}}),
            "the level BlockTensor is a map",
        ),
        (older(param=None), "param is one of"),
        ({"QFloat": head()}, "unknown field 'QFloat'"),
    ],
)
def test_unknown_or_contradictory_content_is_a_documented_error(shape, reason):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantScheme.from_dict(shape)
    assert caught.value.code == "scheme-text"
    assert caught.value.params["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        (block(6), "block-cap"),
        (block(10**5000), "block-cap"),
        (block(1, (0, 1, 1, 1, 1)), "block-extent"),
        (block(2, (1, 0, 1, 1, 1)), "block-extent"),
    ],
)
def test_a_stored_block_that_cannot_be_has_its_own_error(shape, code):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantScheme.from_dict(head(block=shape))
    assert caught.value.code == code


KEYS = ["value", "store", "mode", "tensor", "block", "param", "level", "other"]
WORDS = ["Q4S", "Native", "U32", "Symmetric", "Lookup", "Tensor", "F16", "F32"]
near_misses = st.recursive(
    st.sampled_from(WORDS) | st.integers(-1, 300) | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, min_size=4, max_size=6)
        | st.dictionaries(
            st.sampled_from(
                ["size", "dtype", "storage", "len", "PackedU32", "Block", "BlockTensor", "block", "global"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(json_values | st.dictionaries(st.sampled_from(KEYS), json_values | near_misses))
def test_any_json_value_is_a_scheme_or_a_documented_error(shape):
    check_answered(shape)


@given(st.dictionaries(st.sampled_from(KEYS), near_misses), st.booleans())
def test_changed_shapes_are_schemes_or_documented_errors(changes, of_older):
    check_answered((older() if of_older else head()) | changes)


def check_answered(shape):
    refused = refusal(QuantScheme.from_dict, shape)
    if refused is None:
        scheme = QuantScheme.from_dict(shape)
        assert QuantScheme.from_dict(scheme.to_dict()) == scheme
    else:
        assert isinstance(refused, errors.InvalidSchemeError)
        assert len(str(refused)) < 1000


def test_nesting_and_size_do_not_trouble_the_error():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for content in (deep, {"a": deep}, 10**5000, float("nan"), "x" * 10**6, b"bytes", {1: 2}, {None: {}}):
        with pytest.raises(errors.InvalidSchemeError) as caught:
            QuantScheme.from_dict(head(store=content))
        assert len(str(caught.value)) < 1000
