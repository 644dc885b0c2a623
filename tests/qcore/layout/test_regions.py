import numpy as np
import pytest
from any_scheme import schemes
from hypothesis import given
from hypothesis import strategies as st

from qcore import errors
from qcore.layout import packing, split
from qcore.scheme import QuantScheme

P = QuantScheme.parse


def test_the_regions_follow_each_other_and_end_with_the_global_scale():
    data = bytes(range(8)) + b"\x7e" + np.float32(2**-9).tobytes()
    found = split(QuantScheme.nvfp4(), (1, 16), data)
    assert bytes(found.values) == bytes(range(8))
    assert bytes(found.scales) == b"\x7e"
    assert bytes(found.global_scale) == b"\x00\x00\x00\x3b"
    assert found.padded


def test_regions_are_views_and_not_copies():
    data = bytearray(14)
    found = split(P("q8s/native"), (10,), data)
    data[0] = 7
    assert found.values[0] == 7


def test_one_level_has_no_global_scale():
    assert split(P("q8s/native/t:bf16"), (2,), bytes(4)).global_scale is None
    assert split(P("q8s/native/b2:f16"), (2,), bytes(4)).global_scale is None


@pytest.mark.parametrize(
    ("text", "shape", "got", "code", "message"),
    [
        (
            "q8s/native/b4:ue4m3/t:f32",
            (8,),
            3,
            "global-short",
            "quantized parameter buffer is shorter than the scheme's global scale",
        ),
        (
            "q8s/native/b4:ue4m3/t:f32",
            (8,),
            5,
            "block-scales-short",
            "quantized parameter buffer is shorter than the scheme's block scales",
        ),
        (
            "q8s/native/b4:ue4m3/t:f32",
            (8,),
            13,
            "data-short",
            "the data holds 13 bytes, its scheme and shape take 14",
        ),
        (
            "q8s/native/b4:ue4m3/t:f32",
            (8,),
            15,
            "data-long",
            "the data holds 15 bytes, its scheme and shape take exactly 14",
        ),
        (
            "q8s/native",
            (8,),
            3,
            "data-short",
            "quantized tensor data is shorter than its scheme's parameters",
        ),
        (
            "q8s/native",
            (8,),
            0,
            "data-short",
            "quantized tensor data is shorter than its scheme's parameters",
        ),
        (
            "q8s/native/b4:f16",
            (8,),
            3,
            "data-short",
            "quantized tensor data is shorter than its scheme's parameters",
        ),
        ("q8s/native", (8,), 11, "data-short", "the data holds 11 bytes, its scheme and shape take 12"),
        ("q8s/u32", (2, 5), 13, "data-short", "the data holds 13 bytes, its scheme and shape take 20"),
        ("q8s/u32", (2, 5), 15, "data-short", "the data holds 15 bytes, its scheme and shape take 20"),
        ("e4m3/u32", (2, 5), 14, "data-short", "the data holds 14 bytes, its scheme and shape take 20"),
        ("q8s/native", (1 << 62, 1 << 62), 12, "data-short", None),
    ],
)
def test_a_wrong_length_names_the_region_that_is_short(text, shape, got, code, message):
    with pytest.raises(errors.FormatError) as caught:
        split(P(text), shape, bytes(got))
    assert caught.value.code == code
    assert message in (None, str(caught.value))


def test_ragged_8_bit_words_are_read_without_their_padding_too():
    found = split(P("q8s/u32"), (2, 5), bytes(range(10)) + bytes(4))
    assert bytes(found.values) == bytes(range(10))
    assert not found.padded
    assert len(found.scales) == 4
    assert split(P("q8s/u32"), (2, 5), bytes(20)).padded


@pytest.mark.parametrize("text", ["q8s/u32:2", "q8s/b2x2x2:f16"])
def test_a_tensor_with_too_few_axes_is_refused(text):
    with pytest.raises(errors.ShapeError):
        split(P(text), (4, 4), bytes(32))


@given(schemes, st.lists(st.integers(0, 9), max_size=5).map(tuple), st.integers(-6, 6))
def test_any_length_gives_whole_regions_or_a_documented_error(scheme, shape, change):
    try:
        length = packing.quantized_data_len(scheme, shape)
        found = split(scheme, shape, bytes(max(0, length + change)))
    except (errors.FormatError, errors.ShapeError):
        return
    parts = [found.values, found.scales, *([found.global_scale] if found.global_scale is not None else [])]
    assert sum(map(len, parts)) == max(0, length + change)
    assert len(found.scales) == packing.scales_nbytes(scheme, shape)
    assert found.padded == (length + change == length or max(0, length + change) == length)
