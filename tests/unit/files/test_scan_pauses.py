"""How often a path is scanned: as often as configured, unless that would take too much of the machine."""

from __future__ import annotations

import pytest

from files.watching.messages import ScanPace, until_next_scan
from messages.units import Seconds


@pytest.mark.parametrize(
    ("took", "pause"),
    [(0.0, 2.0), (0.06, 2.0), (0.2, 6.467), (0.5, 16.167), (5.0, 20.0), (60.0, 20.0)],
)
def test_scans_take_3_percent_of_the_time_at_most_but_come_every_20_s(
    took: float, pause: float
) -> None:
    assert until_next_scan(Seconds(2.0), Seconds(took)) == pytest.approx(pause, abs=0.001)


def test_a_longer_configured_pause_is_kept_however_long_a_look_takes() -> None:
    assert until_next_scan(Seconds(60.0), Seconds(5.0)) == 60.0


def told(*looks: float) -> list[float | None]:
    """Return what people are told after looks that take so long; 2 s are asked for."""
    pace = ScanPace(Seconds(2.0))
    return [pace.note(Seconds(took)) for took in looks]


def test_scans_that_come_as_often_as_asked_for_are_not_told() -> None:
    assert told(0.0, 0.01, 0.06, 0.0, 0.06) == [None] * 5


def test_that_scans_come_less_often_is_told_once_when_two_looks_took_long() -> None:
    assert told(0.6, 0.6, 0.6, 0.5, 0.6) == [None, pytest.approx(20.0), None, None, None]


def test_one_slow_look_is_not_told() -> None:
    assert told(0.0, 5.0, 0.0, 5.0, 0.0) == [None] * 5


def test_a_little_less_often_is_not_told() -> None:
    assert told(0.08, 0.08, 0.08) == [None] * 3


def test_it_is_told_again_when_it_changes_much() -> None:
    assert told(0.15, 0.15, 0.16, 0.3, 0.3) == [
        None,
        pytest.approx(5.0),
        None,
        None,
        pytest.approx(10.0),
    ]
    assert told(0.3, 0.3, 0.15, 0.15) == [None, pytest.approx(10.0), None, pytest.approx(5.0)]


def test_that_it_is_over_is_told_once() -> None:
    assert told(0.6, 0.6, 0.0, 0.6, 0.0, 0.0, 0.0)[2:] == [None, None, None, 2.0, None]
    assert told(0.6, 0.6, 0.07, 0.07, 0.0, 0.0)[3:] == [pytest.approx(7 / 3), None, 2.0]
