"""Moments in RFC 3339, in the precisions that documents of the API have."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from manifests.times import is_rfc3339, rfc3339, rfc3339_micro, rfc3339_milli, rfc3339_nano
from messages.units import Timestamp


@pytest.mark.parametrize(
    ("write", "moment", "written"),
    [
        (rfc3339, 1_900_000_000.0, "2030-03-17T17:46:40Z"),
        (rfc3339, 1_900_000_000.75, "2030-03-17T17:46:40Z"),
        (rfc3339_milli, 1_900_000_000.25, "2030-03-17T17:46:40.250Z"),
        (rfc3339_milli, 1_900_000_000.9999, "2030-03-17T17:46:40.999Z"),
        (rfc3339_micro, 1_900_000_000.0, "2030-03-17T17:46:40.000000Z"),
        (rfc3339_micro, 1_900_000_000.000001, "2030-03-17T17:46:40.000001Z"),
        (rfc3339_micro, 1.9999999, "1970-01-01T00:00:02.000000Z"),
        (rfc3339_nano, 1_900_000_000.25, "2030-03-17T17:46:40.250000000Z"),
        (rfc3339_nano, 0.000000001, "1970-01-01T00:00:00.000000001Z"),
        (rfc3339_nano, 1.9999999999, "1970-01-01T00:00:02.000000000Z"),
    ],
)
def test_a_moment_is_written_in_utc(
    write: Callable[[Timestamp], str], moment: float, written: str
) -> None:
    assert write(Timestamp(moment)) == written
    assert is_rfc3339(written)


def test_a_date_with_a_time_zone_is_written_in_utc() -> None:
    date = datetime.fromisoformat("2030-03-17T19:46:40.000001+02:00")
    assert rfc3339_micro(date) == "2030-03-17T17:46:40.000001Z"


def test_years_have_four_digits() -> None:
    assert rfc3339_micro(datetime.fromisoformat("0033-04-03T15:00:00Z")).startswith("0033-04-03")


@pytest.mark.parametrize(
    ("text", "is_moment"),
    [
        ("2006-01-02T15:04:05Z", True),
        ("2006-01-02T15:04:05.123456789Z", True),
        ("2006-01-02T15:04:05+02:00", True),
        ("2006-01-02T15:04:05", False),
        ("2006-01-02", False),
        ("2006-13-02T15:04:05Z", False),
        ("2006-01-02 15:04:05Z", False),
        ("20060102T150405Z", False),
        ("yesterday", False),
        ("", False),
    ],
)
def test_what_is_a_moment(text: str, *, is_moment: bool) -> None:
    assert is_rfc3339(text) is is_moment
