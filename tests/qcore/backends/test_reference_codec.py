"""The oracle's codecs, against exact fractions and against ml_dtypes."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from qcore.backends.reference import codec as codecs
from qcore.plan import Codec, make_codec
from qcore.scheme import Codebook, QuantMode, QuantValue

INTEGERS = [value for value in QuantValue if value.is_integer]
MINIFLOATS = {
    QuantValue.E4M3: ml_dtypes.float8_e4m3fn,
    QuantValue.E5M2: ml_dtypes.float8_e5m2,
    QuantValue.E2M1: ml_dtypes.float4_e2m1fn,
}
DENSE_TABLES = {
    "nf4": Codebook.nf4(),
    "fp4": Codebook.fp4_bnb(),
    "unsorted with equals": Codebook(np.float32([1, -1, 0.5, 0.5])),
    "no zero": Codebook(np.float32([-1, -0.25, 0.25, 1])),
    "midpoints that no float32 holds": Codebook(np.float32([1, 1 + 2.0**-23, -1, -1 - 2.0**-23])),
    "far apart": Codebook(np.float32([2.0**100, 2.0**-100, -(2.0**-149), 0])),
}


def codec_of(value: QuantValue, *, half_even: bool = False, book: Codebook | None = None) -> Codec:
    return make_codec(value, QuantMode.SYMMETRIC if book is None else QuantMode.LOOKUP, book, half_even)


def encoded(t: np.ndarray, codec: Codec) -> np.ndarray:
    return codecs.encode(t, np.ones(t.shape, np.float32), codec)


def around(points: np.ndarray) -> np.ndarray:
    """The points as float32, their neighbours, and all of it mirrored."""
    narrow = points.astype(np.float32)
    sides = [np.nextafter(narrow, np.float32(end)) for end in (-np.inf, np.inf)]
    some = np.random.default_rng(7).standard_normal(500).astype(np.float32) * np.abs(narrow).max()
    together = np.concatenate([narrow, *sides, some, np.float32([0, 1e-45, 1e-20, 3e38])])
    return np.concatenate([together, -together])


def whole(t: float, half_even: bool) -> int:
    exact = abs(Fraction(t))
    floor, rest = divmod(exact, 1)
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (not half_even or floor % 2 == 1))
    return int(floor + up) * (-1 if t < 0 else 1)


@pytest.mark.parametrize("half_even", [False, True])
@pytest.mark.parametrize("value", INTEGERS, ids=lambda v: v.name)
def test_integers_round_the_exact_number_and_clamp(value: QuantValue, half_even: bool) -> None:
    t = around(np.arange(-value.hi - 3, value.hi + 3, 0.5))
    expected = [min(max(whole(x, half_even), int(value.lo)), int(value.hi)) for x in t.tolist()]
    codes = encoded(t, codec_of(value, half_even=half_even))
    assert codes.dtype == np.int8
    assert codes.tolist() == expected


def test_the_number_below_a_half_is_zero() -> None:
    t = np.nextafter(np.float32([0.5, -0.5]), np.float32(0))
    assert encoded(t, codec_of(QuantValue.Q8S)).tolist() == [0, 0]


def test_ties_go_away_from_zero_or_to_even_as_asked() -> None:
    t = np.float32([127, 0.5, 1.5, 2.5, -0.5, -2.5])
    assert encoded(t, codec_of(QuantValue.Q8S)).tolist() == [127, 1, 2, 3, -1, -3]
    assert encoded(t, codec_of(QuantValue.Q8S, half_even=True)).tolist() == [127, 0, 2, 2, 0, -2]


@pytest.mark.parametrize("value", list(MINIFLOATS), ids=lambda v: v.name)
def test_minifloat_tables_are_those_of_ml_dtypes(value: QuantValue) -> None:
    codes = np.arange(2**value.bits, dtype=np.uint8)
    expected = codes.view(MINIFLOATS[value]).astype(np.float32)
    decoded = codecs.decode(codes, np.ones(len(codes), np.float32), codec_of(value))
    np.testing.assert_array_equal(decoded, expected)
    np.testing.assert_array_equal(np.signbit(decoded), np.signbit(expected))


@pytest.mark.parametrize("value", list(MINIFLOATS), ids=lambda v: v.name)
def test_every_minifloat_code_encodes_to_itself(value: QuantValue) -> None:
    codes = np.arange(2**value.bits, dtype=np.uint8)
    decoded = codes.view(MINIFLOATS[value]).astype(np.float32)
    finite = np.isfinite(decoded)
    np.testing.assert_array_equal(encoded(decoded[finite], codec_of(value)), codes[finite])


@pytest.mark.parametrize("value", list(MINIFLOATS), ids=lambda v: v.name)
def test_minifloats_round_as_ml_dtypes_does_and_saturate(value: QuantValue) -> None:
    decoded = np.arange(2 ** (value.bits - 1), dtype=np.uint8).view(MINIFLOATS[value]).astype(np.float64)
    grid = decoded[np.isfinite(decoded)]
    bits = np.random.default_rng(3).integers(0, 0x7F80_0000, 50_000, dtype=np.uint32).view(np.float32)
    t = np.concatenate([around(np.concatenate([grid, (grid[1:] + grid[:-1]) / 2])), bits, -bits])
    top = np.float32(float(value.hi))
    expected = np.clip(t, -top, top).astype(MINIFLOATS[value]).view(np.uint8)
    np.testing.assert_array_equal(encoded(t, codec_of(value)), expected)


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        (QuantValue.E4M3, [0xC0, 0x3E, 0x2D, 0x3A]),
        (QuantValue.E5M2, [0xC0, 0x3F, 0x36, 0x3D]),
        (QuantValue.E2M1, [12, 4, 1, 2]),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_known_numbers_have_known_minifloat_codes(value: QuantValue, codes: list[int]) -> None:
    assert encoded(np.float32([-2.1, 1.8, 0.4, 1.2]), codec_of(value)).tolist() == codes


def test_e2m1_midpoints_go_to_the_even_code() -> None:
    midpoints = np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
    assert encoded(midpoints, codec_of(QuantValue.E2M1)).tolist() == [0, 2, 2, 4, 4, 6, 6]
    assert encoded(-midpoints, codec_of(QuantValue.E2M1)).tolist() == [8, 10, 10, 12, 12, 14, 14]


def nearest_entry(t: float, table: list[float]) -> int:
    exact = Fraction(t)
    distances = [abs(exact - Fraction(entry)) for entry in table]
    return distances.index(min(distances))


@pytest.mark.parametrize("book", list(DENSE_TABLES.values()), ids=list(DENSE_TABLES))
def test_lookup_takes_the_nearest_entry_and_the_lower_index_of_a_tie(book: Codebook) -> None:
    value = {2: QuantValue.Q2F, 4: QuantValue.Q4F}[book.bits]
    table = np.sort(book.table.astype(np.float64))
    t = around(np.concatenate([table, (table[1:] + table[:-1]) / 2]))
    expected = [nearest_entry(x, book.table.tolist()) for x in t.tolist()]
    codes = encoded(t, codec_of(value, book=book))
    assert codes.dtype == np.uint8
    assert codes.tolist() == expected


@pytest.mark.parametrize("book", list(DENSE_TABLES.values()), ids=list(DENSE_TABLES))
def test_the_thresholds_that_kernels_count_say_the_same(book: Codebook) -> None:
    value = {2: QuantValue.Q2F, 4: QuantValue.Q4F}[book.bits]
    table = np.sort(book.table.astype(np.float64))
    t = around(np.concatenate([table, (table[1:] + table[:-1]) / 2]))
    exceeded = (t[:, None] > book.bounds).sum(axis=1)
    np.testing.assert_array_equal(encoded(t, codec_of(value, book=book)), book.order[exceeded])


def test_lookup_has_no_more_than_256_entries_to_try() -> None:
    book = Codebook(np.random.default_rng(0).standard_normal(256).astype(np.float32))
    t = np.random.default_rng(1).standard_normal(300).astype(np.float32)
    expected = [nearest_entry(x, book.table.tolist()) for x in t.tolist()]
    assert encoded(t, codec_of(QuantValue.Q8F, book=book)).tolist() == expected


@pytest.mark.parametrize("value", list(QuantValue), ids=lambda v: v.name)
def test_nan_is_the_zero_code_and_infinities_are_the_ends(value: QuantValue) -> None:
    codec = codec_of(value)
    codes = encoded(np.float32([np.nan, -np.nan, np.inf, -np.inf]), codec)
    decoded = codecs.decode(codes, np.ones(4, np.float32), codec)
    assert codes[:2].tolist() == [0, 0]
    assert decoded.tolist() == [0, 0, value.hi, value.lo]


def test_specials_of_a_lookup_are_entries() -> None:
    book = Codebook(np.float32([0.5, -1, 0.25, 1]))
    codes = encoded(np.float32([np.nan, np.inf, -np.inf]), codec_of(QuantValue.Q2F, book=book))
    assert codes.tolist() == [2, 3, 1]


def test_under_a_scale_of_zero_every_element_is_the_zero_code() -> None:
    x = np.float32([1, -0.0, np.inf, np.nan, 3e38])
    book = Codebook(np.float32([-1, 1, 0.5, 0]))
    for codec, zero in (
        (codec_of(QuantValue.Q4S), 0),
        (codec_of(QuantValue.E4M3), 0),
        (codec_of(QuantValue.Q2F, book=book), 3),
    ):
        codes = codecs.encode(x, np.zeros(5, np.float32), codec)
        assert codes.tolist() == [zero] * 5


def test_division_is_true_division() -> None:
    x = np.random.default_rng(2).standard_normal(4000).astype(np.float32)
    scale = np.float32(0.037)
    expected = [whole(float(np.float32(a) / scale), half_even=False) for a in x]
    assert codecs.encode(x, np.full(4000, scale), codec_of(QuantValue.Q8S)).tolist() == expected


@pytest.mark.parametrize(
    ("value", "inside", "outside"),
    [
        (QuantValue.Q8S, [127.4, -127.4], [127.5, -127.5]),
        (QuantValue.Q8F, [127.4, -128.4], [127.5, -128.5]),
        (QuantValue.E4M3, [464, -464], [464.1, -1e30]),
        (QuantValue.E5M2, [61439, -61439], [61440, np.inf]),
        (QuantValue.E2M1, [6.99, -6.99], [7, -7]),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_clipped_is_what_an_endless_grid_would_put_beyond_the_last_code(
    value: QuantValue, inside: list[float], outside: list[float]
) -> None:
    codec = codec_of(value)
    assert not codecs.clipped(np.float32([*inside, 0, np.nan]), codec).any()
    assert codecs.clipped(np.float32(outside), codec).all()


def test_beyond_half_the_end_gap_a_lookup_is_clipped() -> None:
    codec = codec_of(QuantValue.Q2F, book=Codebook(np.float32([1, -1, 0.5, 0])))
    assert codecs.clipped(np.float32([1.25, -1.5, 1.26, -1.51]), codec).tolist() == [False, False, True, True]
