"""Ages, plurals, and what a terminal must not obey."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command.wording import age, counted, moment, plain, span, tally


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (200, "3m20s"),
        (720, "12m"),
        (7_260, "2h1m"),
        (36_060, "10h"),
        (266_400, "3d2h"),
        (10**7, "115d"),
        (float("nan"), ""),
        (float("inf"), ""),
    ],
)
def test_a_span_has_one_unit_or_two(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_a_time_is_read_with_any_fraction_and_nothing_else_is_one() -> None:
    now = moment("2026-11-22T23:43:18Z") or 0.0
    assert age("2026-11-22T23:42:18.750188351Z", now) == "59s"
    assert age("2026-11-22T23:42:18", now) == "1m"
    assert [age(said, now) for said in ("", "yesterday", "2026")] == ["", "", ""]


def test_one_is_one_and_many_are_many() -> None:
    assert (counted(1, "pod"), counted(2_000, "pod")) == ("1 pod", "2,000 pods")
    assert tally(["b", "a", "b"]) == "2 b, 1 a"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("web", "web"),
        ("Grüße, 世界", "Grüße, 世界"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("back\u202ewards", "back\\u202ewards"),
        ("lone \ud800", "lone \\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_written_as_an_escape(said: str, shown: str) -> None:
    assert plain(said) == shown


@given(st.text())
def test_whatever_is_said_is_one_line_that_can_be_printed(said: str) -> None:
    shown = plain(said)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    shown.encode()
