"""The words that name calibrations."""

from __future__ import annotations

import pytest

from qcore import errors
from qcore.calibration.methods import CALIBRATIONS, Method, parse, percentile_rank


@pytest.mark.parametrize("name", list(CALIBRATIONS))
def test_every_row_is_found_by_its_name_and_its_aliases(name: str) -> None:
    for word in (name, name.upper(), *CALIBRATIONS[name].aliases):
        assert parse(word).name == name
    assert parse(str(parse(name))) == parse(name)


def test_absmax_is_minmax() -> None:
    assert parse("absmax") == parse("minmax")


def test_percentile_carries_its_percent() -> None:
    assert parse("percentile").percent == 99.9
    assert parse("percentile:99.5") == Method("percentile", 99.5)
    assert str(parse("percentile:50")) == "percentile:50"
    assert str(parse("percentile:99.99999")) == "percentile:99.99999"


def test_a_method_is_taken_as_it_is() -> None:
    method = Method("percentile", 12.5)
    assert parse(method) is method


@pytest.mark.parametrize(
    "text",
    [
        "",
        "median",
        "minmax:3",
        "percentile:",
        "percentile:0",
        "percentile:100.5",
        "percentile:x",
        "percentile:nan",
    ],
)
def test_any_other_word_is_an_unknown_name_that_lists_the_choices(text: str) -> None:
    with pytest.raises(errors.InvalidSchemeError) as caught:
        parse(text)
    assert caught.value.code == "unknown-name"
    assert caught.value.params["name"] == text
    assert "percentile[:P]" in caught.value.params["choices"]


def test_only_the_mean_has_no_two_level_form() -> None:
    assert [row.name for row in CALIBRATIONS.values() if not row.two_level] == ["absmean"]


@pytest.mark.parametrize(
    ("percent", "count", "rank"),
    [
        (99.9, 1000, 999),
        (99.9, 1001, 1000),
        (99.9, 32, 32),
        (50, 1, 1),
        (50, 4, 2),
        (1e-9, 10, 1),
        (100, 7, 7),
        (0.1, 1000, 1),
    ],
)
def test_a_percentile_is_an_element_counted_in_decimal(percent: float, count: int, rank: int) -> None:
    assert percentile_rank(percent, count) == rank
