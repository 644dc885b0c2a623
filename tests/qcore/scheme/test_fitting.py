import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from qcore import errors
from qcore.scheme import Codebook
from qcore.scheme.fitting import _clustered, _windows


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def divided_by_peaks(x, extents):
    """Every element over the largest magnitude of its block, the plain way."""
    out = np.empty(x.shape)
    for corner in np.ndindex(*[-(-d // e) for d, e in zip(x.shape, extents, strict=True)]):
        window = tuple(slice(c * e, c * e + e) for c, e in zip(corner, extents, strict=True))
        out[window] = x[window].astype(np.float64) / np.abs(x[window]).max()
    return out


def error_of(table, x, weights=1.0):
    """Weighted mean square of the distance to the nearest entry, in blocks of 32."""
    points = divided_by_peaks(x, (32,))
    return np.mean(weights * np.min(np.abs(points[:, None] - table[None, :]), axis=1) ** 2)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("size", [5000, 200_000])
def test_a_fitted_table_is_sorted_and_peaks_at_one(bits, size):
    book = Codebook.fit(normal(size), bits)
    assert book.bits == bits
    assert np.all(np.diff(book.table) > 0)
    assert book.peak == 1


BLOCKS = "q4f/lookup/b32:f32"


@pytest.mark.parametrize("size", [3200, 70_400])
def test_fitting_beats_an_even_grid_and_nf4(size):
    x = normal(size) ** 3
    fitted = error_of(Codebook.fit(x, 4, scheme=BLOCKS).table, x)
    assert fitted < error_of(np.linspace(-1, 1, 16), x)
    assert fitted < error_of(Codebook.nf4().table, x)


def test_fitting_settles_where_every_entry_is_the_mean_of_its_points():
    points = np.unique(normal(2000).astype(np.float64))
    centres = _clustered(points, np.ones(len(points)), 4)
    owner = np.argmin(np.abs(points[:, None] - centres[None, :]), axis=1)
    assert np.allclose([points[owner == k].mean() for k in range(4)], centres, rtol=1e-12)


@pytest.mark.parametrize("size", [1000, 300_000])
def test_fitting_gives_the_same_bytes_each_time(size):
    x = normal(size)
    assert Codebook.fit(x, 4) == Codebook.fit(x.copy(), 4) == Codebook.fit(x.reshape(10, -1), 4)


@pytest.mark.parametrize("size", [1000, 200_000])
def test_a_tensor_of_few_values_is_fitted_exactly(size):
    levels = np.float32([-1, -0.75, -0.25, 0, 0.125, 0.5, 0.625])
    x = 3 * levels[np.random.default_rng(1).integers(0, 7, size)]
    table = Codebook.fit(x, 4).table
    assert table[:7].tolist() == levels.tolist()
    assert set(table[7:].tolist()) == {0.625}


def test_too_few_values_repeat_the_last_entry():
    assert Codebook.fit([2.0], 2).table.tolist() == [1, 1, 1, 1]
    assert Codebook.fit([-2.0, 0, 1], 2).table.tolist() == [-1, 0, 0.5, 0.5]


def test_one_heavy_value_does_not_swallow_the_entries():
    x = np.concatenate([np.zeros(10_000), np.arange(1, 21)]).astype(np.float32)
    table = Codebook.fit(x, 4).table
    assert len(np.unique(table)) == 16
    assert 0 in table


def test_blocks_are_divided_by_their_own_peak():
    x = np.float32([[1, 0.5, 100, 50], [-3, 1.5, 0, 0]])
    assert Codebook.fit(x, 2, scheme="q2f/lookup/b2:f32").table.tolist() == [-1, 0.5, 1, 1]
    assert Codebook.fit(x, 2).table.tolist() != [-1, 0.5, 1, 1]


@pytest.mark.parametrize("shape", [(64, 96), (7, 101), (3, 5, 50), (1, 6144)])
@pytest.mark.parametrize("block", ["32", "3x16", "1"])
def test_blocks_of_any_shape_and_ragged_ones_are_divided_rightly(shape, block):
    x = normal(*shape)
    extents = [1] * (len(shape) - len(block.split("x"))) + [int(e) for e in block.split("x")]
    expected = Codebook.fit(divided_by_peaks(x, extents), 4)
    assert np.allclose(Codebook.fit(x, 4, scheme=f"q4f/lookup/b{block}:f16").table, expected.table, atol=1e-6)


def test_weights_say_how_much_an_element_matters():
    x = normal(6400)
    weights = np.where(np.abs(x) < 0.5, 50, 1).astype(np.float32)
    weighted, plain = Codebook.fit(x, 4, scheme=BLOCKS, weights=weights), Codebook.fit(x, 4, scheme=BLOCKS)
    assert error_of(weighted.table, x, weights) < error_of(plain.table, x, weights)
    assert Codebook.fit(x, 4, scheme=BLOCKS, weights=np.ones(6400)) == plain
    alone = Codebook.fit([1.0, 2, 3, 4], 2, weights=[0, 1, 0, 1])
    assert alone.table.tolist() == [0.5, 1, 1, 1]


@pytest.mark.parametrize("dtype", ["f2", "f8", ">f4", ml_dtypes.bfloat16, "i4"])
def test_values_of_any_real_type_are_fitted_as_f32(dtype):
    x = np.round(normal(500) * 64).astype(dtype)
    assert Codebook.fit(x, 4) == Codebook.fit(x.astype(np.float32), 4)


def test_the_layout_of_the_input_does_not_matter():
    x = normal(60, 80)
    scheme = "q4f/lookup/b16:f32"
    assert Codebook.fit(x.T.copy().T, 4, scheme=scheme) == Codebook.fit(x, 4, scheme=scheme)
    assert Codebook.fit(x[::-1, ::-1], 4) == Codebook.fit(x[::-1, ::-1].copy(), 4)


def test_memory_stays_bounded_whatever_the_size():
    x = normal(1 << 22)
    tracemalloc.start()
    Codebook.fit(x, 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2000, 3000), (1, 5_000_000), (3, 2_000_000, 2), (0, 4), ()])
@pytest.mark.parametrize("extent", [1, 3, 200])
def test_windows_cover_every_element_once_in_whole_blocks(shape, extent):
    extents = (1,) * (len(shape) - 1) + (extent,) * bool(shape)
    windows = list(_windows(shape, extents))
    counted = 0
    for window in windows:
        part = [range(*s.indices(d)) for s, d in zip(window, shape, strict=True)]
        counted += int(np.prod([len(p) for p in part]))
        assert all(p.start % e == 0 for p, e in zip(part, extents, strict=True))
        assert all(p.stop % e == 0 or p.stop == d for p, e, d in zip(part, extents, shape, strict=True))
        assert np.prod([len(p) for p in part]) <= 1 << 20
    assert counted == int(np.prod(shape))


@pytest.mark.parametrize(
    ("x", "more", "code"),
    [
        (np.zeros(5), {}, "bad-codebook"),
        ([], {}, "bad-codebook"),
        ([1, float("nan")], {}, "bad-codebook"),
        ([1, float("inf")], {}, "bad-codebook"),
        ([1, 1e39], {}, "bad-codebook"),
        (["a"], {}, "bad-codebook"),
        ([1.0, 2], {"weights": [1.0]}, "bad-codebook"),
        ([1.0, 2], {"weights": [1.0, -1]}, "bad-codebook"),
        ([1.0, 2], {"weights": [1.0, float("nan")]}, "bad-codebook"),
        ([1.0, 2], {"weights": [1.0, float("inf")]}, "bad-codebook"),
        ([1.0, 2], {"weights": [0.0, 0]}, "bad-codebook"),
        ([1.0, 2], {"bits": 3}, "option-value"),
        ([1.0, 2], {"bits": True}, "option-value"),
        ([1.0, 2], {"bits": 4, "scheme": "q8f/lookup"}, "table-length"),
        ([1.0, 2], {"scheme": "q4f/lookup/b2x2:f32"}, "block-rank"),
    ],
)
def test_what_cannot_be_fitted_is_a_documented_error(x, more, code):
    with pytest.raises(errors.QuantError) as caught:
        Codebook.fit(x, **more)
    assert caught.value.code == code
