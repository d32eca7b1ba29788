"""Small rules of containers: hashes, graces, delays."""

from __future__ import annotations

import pytest

from manifests.container_hashes import container_hash
from messages.units import Seconds, Timestamp
from runtimes.containers.crash_backoff import (
    CrashNotes,
    delay_from_history,
    doubled,
    monotonic,
    note_restart,
)
from runtimes.containers.shape import DEFAULT_GRACE, MOST_GRACE, bounded_grace
from tests.support.runtimes.situations import WALL, exited, running

LONGEST = Seconds(300.0)


def test_the_hash_of_a_container_is_a_kubelets() -> None:
    assert container_hash("test_container", "foo/image:v1") == "8e45cbd0"


def test_a_hash_is_of_the_text_as_go_escapes_it() -> None:
    assert container_hash("a", "<&>") == container_hash("a", "<&>")
    assert container_hash("a", "<") != container_hash("a", "\\u003c")


@pytest.mark.parametrize(
    ("grace", "expected"),
    [
        (30, 30.0),
        (0, 0.0),
        (-5, 0.0),
        (10**12, MOST_GRACE),
        (float("nan"), DEFAULT_GRACE),
        (None, DEFAULT_GRACE),
        ("soon", DEFAULT_GRACE),
        (True, DEFAULT_GRACE),
    ],
)
def test_a_grace_is_used_as_far_as_it_makes_sense(grace: object, expected: float) -> None:
    assert bounded_grace(grace) == expected


def test_pauses_double_to_the_longest() -> None:
    assert [doubled(Seconds(10.0), LONGEST, failures) for failures in (0, 1, 2, 5, 6, 10_000)] == [
        10.0,
        10.0,
        20.0,
        160.0,
        300.0,
        300.0,
    ]


@pytest.mark.parametrize(
    ("waited", "expected"),
    [(0.0, 10.0), (10.0, 20.0), (21.0, 40.0), (160.0, 300.0), (9_999.0, 300.0)],
)
def test_the_delay_of_another_life_is_seen_from_what_it_waited_last(
    waited: float, expected: float
) -> None:
    previous = exited("a", 1, 3)
    assert previous.finished_at is not None
    now = running("a", 4, created_at=Timestamp(previous.finished_at + waited))
    assert delay_from_history(previous, now, LONGEST) == expected


def test_without_a_history_the_delay_is_short() -> None:
    assert delay_from_history(None, running("a", 4), LONGEST) == 10.0
    assert delay_from_history(None, running("a"), LONGEST) == 0.0


def test_a_restart_is_counted_once_for_each_exit() -> None:
    crashes = CrashNotes("h", "a-0", Seconds(100.0))
    for instance, delay in (("a-0", 10.0), ("a-0", 10.0), ("a-1", 20.0), ("a-2", 25.0)):
        note_restart(crashes, instance, Seconds(100.0), Seconds(25.0))
        assert crashes.delay == delay


def test_a_wall_clock_that_went_back_makes_no_exit_of_the_future() -> None:
    assert monotonic(Timestamp(WALL + 50), Seconds(7.0), WALL) == 7.0
    assert monotonic(Timestamp(WALL - 5), Seconds(7.0), WALL) == 2.0
    assert monotonic(None, Seconds(7.0), WALL) == 7.0
