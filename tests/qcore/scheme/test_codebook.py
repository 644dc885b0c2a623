import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qcore import errors
from qcore.scheme import Codebook
from qcore.scheme.tables import TABLE_NAMES

f32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
TINY, HUGE = np.float32(2.0**-149), np.finfo(np.float32).max


@st.composite
def tables(draw):
    """Tables of any spread, with repeated entries, neighbours and both zeros."""
    length = draw(st.sampled_from([4, 4, 16, 256]))
    pool = draw(st.lists(f32 | st.integers(-3, 3).map(float), min_size=1, max_size=min(length, 20)))
    pool += [float(np.nextafter(np.float32(v), np.float32(np.inf))) for v in pool if abs(v) < HUGE]
    entries = draw(hnp.arrays(np.float32, length, elements=st.sampled_from(pool)))
    if not entries.any():
        entries[-1] = 1
    return entries


def nearest(table, t):
    """The definition: the entry at the smallest exact distance, the lowest index on a tie."""
    distances = [abs(Fraction(float(entry)) - Fraction(float(t))) for entry in table]
    return distances.index(min(distances))


def chosen(book, t):
    return int(book.order[int(np.count_nonzero(np.float32(t) > book.bounds))])


def probes(book):
    """Values that decide: every entry and threshold, the f32 numbers beside them, and the ends."""
    near = np.concatenate([book.table, book.bounds, np.float32([0.0, -0.0, TINY, -TINY, HUGE, -HUGE])])
    with np.errstate(over="ignore"):
        near = np.concatenate(
            [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
        )
    return near[np.isfinite(near)]


@settings(max_examples=60)
@given(tables())
def test_thresholds_take_the_nearest_entry_exactly(table):
    book = Codebook(table)
    for t in probes(book)[: 60 if len(table) == 256 else None]:
        assert chosen(book, t) == nearest(table, t)


@settings(max_examples=60)
@given(tables())
def test_thresholds_are_the_midpoints_rounded_down(table):
    book = Codebook(table)
    assert book.bounds.dtype == np.float32
    assert np.all(np.diff(book.bounds.astype(np.float64)) >= 0)
    for below, above, bound in zip(book.order[:-1], book.order[1:], book.bounds, strict=True):
        middle = (Fraction(float(table[below])) + Fraction(float(table[above]))) / 2
        with np.errstate(over="ignore"):
            step_up = float(np.nextafter(bound, np.float32(np.inf)))
        tie_is_above = above < below and Fraction(step_up) == middle
        assert tie_is_above or Fraction(float(bound)) <= middle
        assert tie_is_above or not np.isfinite(step_up) or middle < Fraction(step_up)


def test_thresholds_of_far_apart_exponents_are_exact():
    # in f64 the midpoint of 1 and 2^-149 rounds to 0.5, and 0.5 would then be no tie
    book = Codebook([1.0, TINY, 2.0, 3.0])
    assert book.bounds[0] == np.float32(0.5)
    book = Codebook([1.0, -TINY, 2.0, 3.0])
    assert book.bounds[0] == np.nextafter(np.float32(0.5), np.float32(0))
    assert chosen(book, 0.5) == 0


def test_a_tie_goes_to_the_lower_index_wherever_it_lies():
    assert [chosen(Codebook([0, 1, 2, 3]), t) for t in (0.5, 1.5, 2.5)] == [0, 1, 2]
    assert [chosen(Codebook([3, 2, 1, 0]), t) for t in (0.5, 1.5, 2.5)] == [2, 1, 0]


def test_of_equal_entries_the_lowest_index_is_taken():
    book = Codebook([1, 1, -1, 1])
    assert book.order.tolist() == [2, 0, 0, 0]
    assert {chosen(book, t) for t in (0.5, 1, 2, HUGE)} == {0}


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_the_named_tables_choose_the_nearest_entry(name):
    book = Codebook.named(name)
    rng = np.random.default_rng(4)
    drawn = (rng.uniform(-1.2, 1.2, 2000) * book.peak).astype(np.float32)
    for t in np.concatenate([drawn, probes(book)]):
        assert chosen(book, t) == nearest(book.table, t)


def test_the_named_tables_are_those_of_their_makers(data_dir):
    peers = np.load(data_dir / "peers" / "bnb_tables.npz")
    assert Codebook.nf4().table.tobytes() == peers["nf4"].tobytes()
    assert Codebook.fp4_bnb().table.tobytes() == peers["fp4"].tobytes()
    quants = pytest.importorskip("gguf.quants")
    assert Codebook.iq4_nl().table.tolist() == list(quants.IQ4_NL.kvalues)


@pytest.mark.parametrize(
    ("name", "zero", "peak"), [("nf4", 7, 1.0), ("fp4-bnb", 0, 1.0), ("iq4_nl", 8, 127.0)]
)
def test_the_named_tables_have_a_zero_and_a_peak(name, zero, peak):
    book = Codebook.named(name)
    assert (book.zero_index, float(book.peak), book.bits, len(book)) == (zero, peak, 4, 16)
    assert repr(book) == f"Codebook.named({name.replace('_', '-')!r})"
    assert eval(repr(book)) == book


def test_the_entry_nearest_to_zero_is_the_lowest_on_a_tie():
    assert Codebook([2, 1, -1, 3]).zero_index == 1
    assert Codebook([-0.0, 1, 0.0, 3]).zero_index == 0


@given(tables())
def test_a_codebook_is_a_value(table):
    book = Codebook(table, name="mine")
    again = pickle.loads(pickle.dumps(book))
    assert again == book == eval(repr(book)) == Codebook(table.tolist())
    assert hash(again) == hash(book)
    assert again.name == "mine"
    assert (again.bounds.tobytes(), again.order.tobytes()) == (book.bounds.tobytes(), book.order.tobytes())


def test_codebooks_are_equal_by_their_bytes():
    assert Codebook([0.0, 1, 2, 3]) != Codebook([-0.0, 1, 2, 3])
    assert Codebook([0, 1, 2, 3], name="a") == Codebook([0, 1, 2, 3], name="b")
    assert Codebook([0, 1, 2, 3]) != [0, 1, 2, 3]


def test_a_codebook_cannot_be_changed():
    table = np.arange(4, dtype=np.float32)
    book = Codebook(table)
    table[:] = 9
    assert book.table.tolist() == [0, 1, 2, 3]
    for array in (book.table, book.bounds, book.order):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        book.table = table


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.uint8, ">f4"])
def test_entries_of_any_real_type_are_rounded_to_f32(dtype):
    assert Codebook(np.arange(4).astype(dtype)) == Codebook([0, 1, 2, 3])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([1.0] * 15, "a table has 4, 16 or 256 entries in one row, got 15"),
        ([], "a table has 4, 16 or 256 entries in one row, got 0"),
        (5.0, "a table has 4, 16 or 256 entries in one row, got a single number"),
        ([[1, 2], [3, 4]], "a table has 4, 16 or 256 entries in one row, got 2 x 2"),
        ([0.0, -0.0, 0, 0], "every entry is zero"),
        ([1e-60, 0, 0, 0], "every entry is zero"),
        ([0, 1, float("nan"), 2], "entry 2 is nan, not a finite f32"),
        ([0, 1e39, 1, 2], "entry 1 is inf, not a finite f32"),
        (["a", "b", "c", "d"], "a table holds real numbers, got "),
        ([True, False, True, True], "a table holds real numbers, got bool"),
        ([1j, 2, 3, 4], "a table holds real numbers, got complex128"),
        ([[1], [1, 2], 3, 4], "a table is an array of numbers"),
        (None, "a table holds real numbers, got object"),
    ],
)
def test_what_is_no_table_is_a_documented_error(table, reason):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        Codebook(table)
    assert caught.value.code == "bad-codebook"
    assert caught.value.params["reason"].startswith(reason)


def test_an_unknown_codebook_is_a_documented_error():
    with pytest.raises(
        errors.InvalidSchemeError, match="unknown codebook 'nf5', expected one of: nf4, fp4-bnb, iq4-nl"
    ):
        Codebook.named("nf5")
