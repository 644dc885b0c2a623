from math import prod

import numpy as np
import pytest
from any_scheme import refusal, schemes
from hypothesis import given
from hypothesis import strategies as st

from qcore import errors
from qcore.layout import packing
from qcore.scheme import QuantScheme, QuantStore

shapes = st.lists(st.integers(0, 70), max_size=6).map(tuple)
P = QuantScheme.parse


@pytest.mark.parametrize(
    ("text", "shape", "length"),
    [
        ("q4s/u32", (3, 3), 12 + 4),
        ("q4s/u32", (2, 5, 9), 80 + 4),
        ("q4s/u32", (4, 8), 16 + 4),
        ("q8s/native/b4:ue4m3", (8,), 10),
        ("q8s/native/b4:ue4m3/t:f32", (8,), 14),
        ("q4f/native", (3, 3), 9 + 4),
        ("q2s/native", (2, 5), 10 + 4),
        ("e2m1/packed/b16:ue4m3/t:f32", (1, 16), 13),
        ("q4s/u32/b8:f16", (2, 8), 12),
        ("e2m1/packed/b32:ue8m0", (2, 33), 2 * 17 + 4),
        ("q8f/u32", (), 4 + 4),
        ("q8f/native", (), 1 + 4),
        ("q8f/native/b1:f32", (), 1 + 4),
        ("q8f/u32", (0,), 4),
        ("q8f/u32/b4:f16/t:f32", (3, 0), 4),
        ("q4s/u32:1", (9, 3), 2 * 3 * 4 + 4),
        ("q8s/packed", (5,), 5 + 4),
    ],
)
def test_the_length_of_a_quantized_tensor_follows_from_scheme_and_shape(text, shape, length):
    assert packing.quantized_data_len(P(text), shape) == length


@pytest.mark.parametrize(
    ("text", "shape", "stored"),
    [
        ("q4s/u32", (3, 3), (3, 1)),
        ("q4s/u32:1", (3, 3), (1, 3)),
        ("q2s/u32", (2, 17), (2, 2)),
        ("q8s/u32:2", (5, 6, 7), (2, 6, 7)),
        ("e2m1/packed", (3, 5), (3, 3)),
        ("e2m1/u32", (3, 9), (3, 2)),
        ("q4s/native", (3, 3), (3, 3)),
        ("q4s/u32", (), (1,)),
        ("q8s/native", (), (1,)),
        ("q4s/u32", (4, 0), (4, 0)),
    ],
)
def test_the_packed_axis_is_divided_and_each_line_rounded_up(text, shape, stored):
    assert packing.storage_shape(P(text), shape) == stored


@given(schemes, shapes)
def test_the_regions_add_up_and_no_others_are_refused(scheme, shape):
    rank = max(len(shape), 1)
    refused = refusal(packing.quantized_data_len, scheme, shape)
    if refused is not None:
        dim = scheme.store.packing_dim
        assert (dim is not None and dim >= rank) or (scheme.block and len(scheme.block.size) > rank)
        assert refused.code in {"packing-axis", "block-rank"}
        return
    length = packing.quantized_data_len(scheme, shape)
    width = 4 if scheme.store.kind == "packed_u32" else 1
    values = packing.values_nbytes(scheme, shape)
    assert values == width * prod(packing.storage_shape(scheme, shape))
    assert values * 8 >= prod(shape) * scheme.value.bits
    assert (
        length
        == values
        + prod(packing.grid_shape(scheme, shape)) * scheme.scale_dtype.nbytes
        + 4 * scheme.is_two_level
    )
    assert np.dtype(packing.values_dtype_name(scheme)).itemsize == width


def test_the_packed_axis_is_counted_from_the_innermost():
    assert [packing.packed_axis(QuantStore.packed_u32(d), 3) for d in range(3)] == [2, 1, 0]
    assert packing.packed_axis(QuantStore.packed_native(0), 0) == 0
    assert packing.packed_axis(QuantStore.native(), 0) is None


@pytest.mark.parametrize(("dim", "rank"), [(1, 1), (1, 0), (3, 3), (255, 2)])
def test_a_tensor_without_the_packed_axis_is_refused(dim, rank):
    with pytest.raises(errors.ShapeError) as caught:
        packing.packed_axis(QuantStore.packed_u32(dim), rank)
    assert (caught.value.code, caught.value.params) == ("packing-axis", {"dim": dim, "rank": rank})


@pytest.mark.parametrize(
    ("text", "values", "codes"),
    [
        ("q8s/native", "int8", "int8"),
        ("q4f/native", "int8", "int8"),
        ("q4f/u32", "uint32", "int8"),
        ("e4m3/native", "uint8", "uint8"),
        ("e2m1/packed", "uint8", "uint8"),
        ("e5m2/u32", "uint32", "uint8"),
        ("q4f/native/lookup", "uint8", "uint8"),
        ("q4f/u32/lookup", "uint32", "uint8"),
        ("q8s/packed", "uint8", "int8"),
    ],
)
def test_arrays_have_the_types_of_their_fields(text, values, codes):
    assert (packing.values_dtype_name(P(text)), packing.codes_dtype_name(P(text))) == (values, codes)


@pytest.mark.parametrize(
    ("text", "shape", "length"),
    [
        ("q8s/u32", (2, 5), 14),
        ("q8f/u32/b4:f16", (2, 5), 10 + 8),
        ("q8s/u32", (2, 8), None),
        ("q8s/u32", (), 5),
        ("q8s/u32:1", (5, 2), 14),
        ("q8s/native", (2, 5), None),
        ("q4s/u32", (2, 5), None),
        ("e4m3/u32", (2, 5), None),
        ("q8s/u32", (0, 5), None),
    ],
)
def test_ragged_8_bit_words_have_an_unpadded_length_too(text, shape, length):
    assert packing.unpadded_q8_len(P(text), shape) == length


def test_shapes_larger_than_any_memory_are_counted_exactly():
    assert packing.quantized_data_len(P("q4s/u32/b32:f16"), (1 << 40, 1 << 40)) == (1 << 79) + (1 << 76)
