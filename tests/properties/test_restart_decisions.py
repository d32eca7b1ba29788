"""Restart decisions: windows, backoffs, and limits that can be reached."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernel import Backoff, EndReason, OnExhausted, Restart, SpecError
from kernel.restarts import (
    Again,
    FailureStreak,
    GiveUp,
    RestartWindow,
    decide,
    is_restarted,
)
from kernel.specs import check_intensity
from messages.units import Seconds

SECONDS = st.integers(min_value=1, max_value=200).map(lambda tenths: Seconds(tenths / 10))
BACKOFFS = st.builds(Backoff, initial=SECONDS, cap=SECONDS, jitter=SECONDS, reset_after=SECONDS)


@pytest.mark.parametrize(
    ("restart", "reason", "again"),
    [
        (Restart.PERMANENT, EndReason.NORMAL, True),
        (Restart.PERMANENT, EndReason.SHUTDOWN, True),
        (Restart.PERMANENT, EndReason.FAILED, True),
        (Restart.TRANSIENT, EndReason.NORMAL, False),
        (Restart.TRANSIENT, EndReason.SHUTDOWN, False),
        (Restart.TRANSIENT, EndReason.FAILED, True),
        (Restart.TEMPORARY, EndReason.NORMAL, False),
        (Restart.TEMPORARY, EndReason.SHUTDOWN, False),
        (Restart.TEMPORARY, EndReason.FAILED, False),
    ],
)
def test_the_restart_kind_says_which_endings_are_followed_by_a_life(
    restart: Restart,
    reason: EndReason,
    again: bool,  # noqa: FBT001
) -> None:
    assert is_restarted(restart, reason) is again


@given(st.lists(SECONDS), st.integers(min_value=0, max_value=5), SECONDS)
def test_a_window_counts_what_lies_within_its_period(
    waits: list[Seconds], intensity: int, period: Seconds
) -> None:
    window, times, now = RestartWindow(intensity, period), [], Seconds(0.0)
    for wait in waits:
        now = Seconds(now + wait)
        times.append(now)
        within = [time for time in times if time >= now - period]
        assert window.exceeded_by_one_more(now) == (len(within) > intensity)


@pytest.mark.parametrize(("second", "counts"), [(9.99, True), (10.0, True), (10.01, False)])
def test_a_restart_exactly_one_period_ago_still_counts_as_in_otp(
    second: float,
    counts: bool,  # noqa: FBT001
) -> None:
    window = RestartWindow(1, Seconds(10.0))
    assert not window.exceeded_by_one_more(Seconds(0.0))
    assert window.exceeded_by_one_more(Seconds(second)) is counts


@given(BACKOFFS, st.integers(min_value=1, max_value=10_000))
def test_a_backoff_lies_between_its_bounds(backoff: Backoff, failures: int) -> None:
    delay = backoff.delay(failures)

    assert 0 <= delay <= backoff.cap
    assert delay <= backoff.longest(failures)
    assert delay >= min(backoff.cap, backoff.initial)


@given(BACKOFFS, st.integers(min_value=1, max_value=2000))
def test_the_longest_wait_never_gets_shorter(backoff: Backoff, failures: int) -> None:
    assert backoff.longest(failures + 1) >= backoff.longest(failures)


@given(BACKOFFS, st.integers(min_value=0, max_value=8), SECONDS)
def test_a_spec_is_accepted_if_and_only_if_its_limit_can_always_be_reached(
    backoff: Backoff, intensity: int, period: Seconds
) -> None:
    # A child that fails at once in each life, and waits as long as it ever may.
    times = [0.0]
    for failures in range(1, intensity + 1):
        times.append(times[-1] + backoff.longest(failures))
    reachable = times[-1] <= period
    assume(abs(times[-1] - period) > 1e-6)

    try:
        check_intensity("root", intensity, period, backoff)
    except SpecError:
        assert not reachable
    else:
        window = RestartWindow(intensity, period)
        exceeded = [window.exceeded_by_one_more(Seconds(time)) for time in times]
        assert exceeded == [False] * intensity + [True]


@given(st.lists(st.tuples(SECONDS, SECONDS), max_size=30), BACKOFFS)
def test_a_streak_counts_failures_since_the_last_healthy_life(
    lives: list[tuple[Seconds, Seconds]], backoff: Backoff
) -> None:
    streak, expected, now = FailureStreak(), 0, 0.0
    for wait, lasted in lives:
        streak.started = Seconds(now + wait)
        now = streak.started + lasted
        expected = 1 if now - streak.started >= backoff.reset_after else expected + 1
        assert streak.failed(Seconds(now), backoff.reset_after) == expected


@given(st.lists(SECONDS, min_size=1, max_size=30), BACKOFFS, st.integers(0, 3), SECONDS)
def test_an_isolated_child_is_never_given_up_and_stays_exhausted(
    waits: list[Seconds], backoff: Backoff, intensity: int, period: Seconds
) -> None:
    window, streak, now = RestartWindow(intensity, period), FailureStreak(), 0.0
    was_exhausted = False
    for wait in waits:
        now += wait
        decision = decide(Seconds(now), window, streak, backoff, OnExhausted.ISOLATE)
        assert isinstance(decision, Again)
        assert decision.exhausted >= was_exhausted
        assert not decision.exhausted or decision.delay == backoff.cap
        was_exhausted = decision.exhausted


@given(st.integers(0, 5), BACKOFFS)
def test_one_more_than_tolerated_is_given_up(intensity: int, backoff: Backoff) -> None:
    window, streak = RestartWindow(intensity, Seconds(10.0)), FailureStreak()
    decisions = [
        decide(Seconds(0.0), window, streak, backoff, OnExhausted.ESCALATE)
        for _ in range(intensity + 1)
    ]

    assert all(isinstance(decision, Again) for decision in decisions[:-1])
    assert isinstance(decisions[-1], GiveUp)
