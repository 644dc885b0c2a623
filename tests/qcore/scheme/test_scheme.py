import copy
import pickle
from itertools import permutations

import pytest
from any_scheme import schemes
from hypothesis import given

from qcore import errors
from qcore.scheme import BlockScale, BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype

S = QuantScheme
DEBUG_TEXTS = [
    (S(), "value: Q8F, store: PackedU32(0), mode: Symmetric, tensor: None, block: None"),
    (
        S().with_value("Q4F").per_block([32], "F16"),
        (
            "value: Q4F, store: PackedU32(0), mode: Symmetric, tensor: None, "
            "block: Some(BlockScale { size: BlockSize([32]), dtype: F16 })"
        ),
    ),
    (
        S.nvfp4(),
        (
            "value: E2M1, store: PackedNative(0), mode: Symmetric, tensor: Some(F32), "
            "block: Some(BlockScale { size: BlockSize([16]), dtype: UE4M3 })"
        ),
    ),
    (
        S().with_value("Q8S").with_store("native").with_mode("lookup"),
        "value: Q8S, store: Native, mode: Lookup, tensor: None, block: None",
    ),
    (
        S().with_value("Q8S").with_store("native").per_block([2, 16], "F32"),
        (
            "value: Q8S, store: Native, mode: Symmetric, tensor: None, "
            "block: Some(BlockScale { size: BlockSize([2, 16]), dtype: F32 })"
        ),
    ),
    (
        S().with_value("Q8S").with_store("native").per_block([1, 1], "F32"),
        (
            "value: Q8S, store: Native, mode: Symmetric, tensor: None, "
            "block: Some(BlockScale { size: BlockSize([]), dtype: F32 })"
        ),
    ),
    (
        S().with_store(QuantStore.packed_u32(1)).per_tensor("BF16"),
        "value: Q8F, store: PackedU32(1), mode: Symmetric, tensor: Some(BF16), block: None",
    ),
]


@pytest.mark.parametrize(("scheme", "fields"), DEBUG_TEXTS)
def test_debug_is_what_burn_prints(scheme, fields):
    assert scheme.debug() == f"QuantScheme {{ {fields} }}"


def test_the_default_is_burns():
    assert S() == S(QuantValue.Q8F, QuantStore.packed_u32(0), QuantMode.SYMMETRIC, None, None)


def test_builders_in_any_order_give_equal_schemes():
    steps = [
        lambda s: s.with_value("q4s"),
        lambda s: s.with_store("native"),
        lambda s: s.with_mode("lookup"),
        lambda s: s.per_tensor("f32"),
        lambda s: s.per_block([1, 32], "f16"),
    ]
    made = set()
    for order in permutations(steps):
        scheme = S()
        for step in order:
            scheme = step(scheme)
        made.add(scheme)
    assert made == {S.parse("q4s/native/lookup/b32:f16/t:f32")}


@pytest.mark.parametrize(
    ("text", "tensor_scale", "levels", "innermost", "outer"),
    [
        ("q8f", "F32", 1, "F32", None),
        ("q8f/t:bf16", "BF16", 1, "BF16", None),
        ("q8f/b32:f16", None, 1, "F16", None),
        ("q8f/b32:f16/t:f32", "F32", 2, "F16", "F32"),
        ("q8f/b32:ue4m3/t:bf16", "BF16", 2, "UE4M3", "BF16"),
    ],
)
def test_the_levels_follow_from_the_fields(text, tensor_scale, levels, innermost, outer):
    s = S.parse(text)
    names = [d.name if d else None for d in (s.tensor_scale, s.scale_dtype, s.global_scale_dtype)]
    assert (names, s.num_levels) == ([tensor_scale, innermost, outer], levels)
    assert s.is_two_level is (levels == 2)
    assert (s.block_scale, s.block_size) == (s.block, s.block.size if s.block else None)


@pytest.mark.parametrize(
    ("text", "stored", "quants"),
    [
        ("q8f/native", 8, 1),
        ("q4s/native", 4, 1),
        ("e2m1/native", 4, 1),
        ("q8s/u32", 32, 4),
        ("q4f/u32", 32, 8),
        ("q2s/u32:1", 32, 16),
        ("e2m1/u32", 32, 8),
        ("e2m1/packed", 8, 2),
        ("q4s/packed", 4, 1),
        ("q8s/packed", 8, 1),
    ],
)
def test_the_sizes_follow_from_value_and_store(text, stored, quants):
    s = S.parse(text)
    assert (s.size_bits_value, s.size_bits_stored, s.num_quants) == (s.value.bits, stored, quants)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("q8f", True),
        ("q8f/t:ue8m0", False),
        ("e2m1/b32:ue8m0", False),
        ("q8f/b32:f32", True),
        ("q8f/t:bf16", True),
        ("q8f/b32:f16/t:f32", True),
        ("q8f/b32:ue4m3/t:f32", True),
        ("q8f/b32:f32/t:f32", False),
        ("q8f/b32:bf16/t:f32", False),
        ("q8f/b32:f16/t:f16", False),
        ("q8f/b32:ue8m0/t:f32", False),
        ("e4m3/packed/lookup/b32:f16/t:f32", True),
        ("q8f/b32:f16/t:ue8m0", False),
    ],
)
def test_quantizable_looks_at_the_scale_types_alone(text, answer):
    assert S.parse(text).quantizable is answer


def test_no_level_means_per_tensor_f32_but_is_another_scheme():
    assert S() != S().per_tensor("f32")
    assert S().same_as(S().per_tensor("f32"))
    assert S().same_as("q8f/t:f32")
    assert not S().same_as("q8f/t:f16")
    assert not S().per_block(4, "f32").same_as(S().per_block(4, "f32").per_tensor("f32"))


@given(schemes)
def test_a_scheme_is_a_value(scheme):
    again = pickle.loads(pickle.dumps(scheme))
    assert again == scheme == copy.deepcopy(scheme) == eval(repr(scheme))
    assert hash(again) == hash(scheme)
    assert scheme.same_as(scheme)
    assert scheme.params_shape((7,) * 5) == (scheme.block.size.grid((7,) * 5) if scheme.block else (1,))


def test_a_scheme_cannot_be_changed_once_made():
    with pytest.raises(AttributeError):
        S().value = QuantValue.Q8S


def test_fields_accept_their_text_forms():
    assert S("q4s", "packed_u32", "lookup", "f32", ("2x16", "f16")) == S(
        QuantValue.Q4S,
        QuantStore.packed_u32(),
        QuantMode.LOOKUP,
        ScaleDtype.F32,
        BlockScale(BlockSize([2, 16]), ScaleDtype.F16),
    )
    with pytest.raises(errors.DTypeError, match="block must be a BlockScale"):
        S(block=32)


@pytest.mark.parametrize(
    "text",
    [
        "q8s/packed",
        "e4m3/u32/lookup",
        "q8s/b32:f16/t:bf16",
        "q8s/u32:9",
        "q4f/packed/lookup/b2x3x4x5x6:ue8m0",
    ],
)
def test_what_means_nothing_anywhere_can_still_be_built_and_printed(text):
    assert str(S.parse(text)).startswith(text.split("/")[0])
    assert S.parse(text).debug().startswith("QuantScheme { value: ")
