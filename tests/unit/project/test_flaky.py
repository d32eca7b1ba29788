"""The list of tests that fail now and then is short-lived, and says what was seen."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from tests.support.flaky import FILE, MAY_STAY, Flaky, complaints, read_flaky, why_flaky

ME = "tests/unit/project/test_flaky.py"
TODAY = date(2026, 3, 31)


def flaky(
    test: str = "test_every_entry_is_in_order", since: date = TODAY, seen: str = "x"
) -> Flaky:
    return Flaky(test=f"{ME}::{test}", since=since, seen=seen)


def test_every_entry_is_in_order() -> None:
    entries = read_flaky(FILE.read_text("utf-8"))
    assert complaints(entries, datetime.now(UTC).date()) == []


def test_an_entry_may_stay_for_fourteen_days_and_no_longer() -> None:
    assert complaints([flaky(since=TODAY - MAY_STAY)], TODAY) == []
    [complaint] = complaints([flaky(since=TODAY - MAY_STAY - timedelta(days=1))], TODAY)
    assert "longer than 14 days" in complaint


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (flaky("test_that_there_is_not"), "there is no such test"),
        (flaky("test_that_there_is_not")._replace(test="tests/none.py::test_a"), "no such test"),
        (flaky(seen=" "), "what was seen is not said"),
    ],
)
def test_an_entry_names_a_test_and_says_what_was_seen(entry: Flaky, complaint: str) -> None:
    [found] = complaints([entry], TODAY)
    assert complaint in found


def test_an_entry_is_of_one_test_with_all_its_parameters_or_of_one_of_them() -> None:
    entries = [flaky("test_a", seen="all"), flaky("test_b[1]", seen="one")]
    found = {
        name: why_flaky(f"{ME}::{name}", entries)
        for name in ("test_a", "test_a[x]", "test_b", "test_b[1]", "test_b[2]", "test_ab")
    }
    assert {name: seen for name, seen in found.items() if seen} == {
        "test_a": "all",
        "test_a[x]": "all",
        "test_b[1]": "one",
    }
