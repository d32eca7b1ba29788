"""One suite for both clocks: the machine's, and the one that tests move."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kernel import Clock, SystemClock
from messages.units import Seconds
from tests.support.kernel.clock import ManualClock


@dataclass
class ClockSubject:
    """A clock, and how a moment passes on it."""

    clock: Clock
    let_pass: Callable[[float], None]


def on_the_machine() -> ClockSubject:
    """Return the machine's clock, on which time passes while one waits."""

    def let_pass(seconds: float) -> None:
        threading.Event().wait(seconds)

    return ClockSubject(SystemClock(), let_pass)


def by_hand() -> ClockSubject:
    """Return the tests' clock, on which time passes when it is moved."""
    clock = ManualClock()
    return ClockSubject(clock, lambda seconds: clock.move(Seconds(clock.monotonic() + seconds)))


@pytest.fixture(params=[on_the_machine, by_hand], ids=["system", "manual"])
def subject(request: pytest.FixtureRequest) -> ClockSubject:
    """Return a clock of either kind."""
    make: Callable[[], ClockSubject] = request.param
    return make()


def test_time_passes(subject: ClockSubject) -> None:
    before = subject.clock.monotonic()
    subject.let_pass(0.01)

    assert subject.clock.monotonic() - before >= 0.009


def test_the_wall_moves_with_it(subject: ClockSubject) -> None:
    before = subject.clock.wall()
    subject.let_pass(0.01)

    assert 0.005 < subject.clock.wall() - before < 5.0


def test_the_wall_shows_a_date_of_this_century(subject: ClockSubject) -> None:
    assert 946_684_800 < subject.clock.wall() < 4_102_444_800


def test_who_waits_is_told_how_long_or_is_woken(subject: ClockSubject) -> None:
    # Either a thread can wait for the moment itself, or it is woken when time was moved there.
    woken = threading.Event()
    subject.clock.on_advance(woken.set)
    due = Seconds(subject.clock.monotonic() + 0.01)
    delay = subject.clock.real_delay(due)
    subject.let_pass(0.01)

    assert woken.is_set() == (delay is None)
    assert subject.clock.monotonic() >= due - 0.001


def test_a_moment_that_has_passed_is_not_waited_for(subject: ClockSubject) -> None:
    past = Seconds(subject.clock.monotonic() - 1.0)

    assert not subject.clock.real_delay(past)


def test_time_never_goes_back(subject: ClockSubject) -> None:
    before = subject.clock.monotonic()
    subject.let_pass(0.0)

    assert subject.clock.monotonic() >= before


def test_a_moment_in_the_past_leaves_the_manual_clock_where_it_is() -> None:
    clock = ManualClock()
    clock.move(Seconds(5.0))
    clock.move(Seconds(3.0))

    assert clock.monotonic() == 5.0
