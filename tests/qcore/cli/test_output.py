import io
import math

import pytest

from qcore.cli.output import Result, columns, human_bytes, printable, styled, write


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢", "plain ä 漢"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\u202e\u200b\ufeff", "\\u202e\\u200b\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("\x7f\x9b", "\\x7f\\x9b"),
    ],
)
def test_control_codes_are_shown_and_never_sent(text, shown):
    assert printable(text) == shown


def test_columns_line_up_and_escape_their_cells():
    lines = columns(("name", "n"), [("a", 1), ("bb\x1b", 12345)], right="lr")
    assert lines == ["name        n", "a           1", "bb\\x1b  12345"]


def test_bytes_are_written_in_the_largest_unit_above_one():
    assert [human_bytes(n) for n in (0, 1023, 1024, 1 << 20, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.0 MiB",
        "3.0 TiB",
    ]


def test_numbers_that_json_lacks_become_texts(capsys):
    write(Result({"a": [math.nan, {"b": -math.inf}], "c": (1.5,)}, ()), command="x", as_json=True)
    assert '"nan"' in capsys.readouterr().out


def test_a_pipe_gets_no_colours(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("x", "31", io.StringIO()) == "x"
