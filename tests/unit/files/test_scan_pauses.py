"""How often a path is scanned: as often as configured, unless that would take too much of the machine."""

from __future__ import annotations

import pytest

from files.watching.scanned_path import until_next_scan
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
