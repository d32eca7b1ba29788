"""What comes after a round of a watch, and how often the API server is asked."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.streams.next_round import (
    EndedRound,
    SentTimes,
    backoff,
    next_round,
    probe_at,
    request_pause,
    silence_limit,
    spread,
    watch_timeout,
    with_request,
)
from kube.streams.rules import WatchRules
from messages.api import FailureKind
from messages.units import Seconds

RULES = WatchRules(user_agent="test")
LONG = Seconds(400.0)
SHORT = Seconds(0.1)
NONE = Seconds(0.0)


def chance() -> random.Random:
    return random.Random(3)


@dataclass(frozen=True)
class Expected:
    """The next round; ``wait`` is the shortest and the longest delay."""

    version: str
    failures: int
    reason: str
    wait: tuple[float, float] = (0.0, 0.0)
    is_failure: bool = False


def quiet(
    version: str, failures: int, reason: str, wait: tuple[float, float] = (0.0, 0.0)
) -> Expected:
    """Return a next round of which subscribers are not told."""
    return Expected(version, failures, reason, wait)


def told(
    version: str, failures: int, reason: str, wait: tuple[float, float] = (0.0, 0.0)
) -> Expected:
    """Return a next round of which subscribers are told that the target fails."""
    return Expected(version, failures, reason, wait, is_failure=True)


def ended(lasted: Seconds = NONE, *, heard: bool = False) -> EndedRound:
    return EndedRound(version="9", lasted=lasted, heard=heard)


def failed(kind: str, **more: Any) -> EndedRound:
    return EndedRound(version="9", failure=FailureKind(kind), **more)


def lost(lasted: Seconds = NONE, *, heard: bool = False) -> EndedRound:
    return failed("unreachable", lasted=lasted, heard=heard, connection_lost=True)


garbage = failed("malformed", lasted=SHORT, heard=True)
unlistable = EndedRound(version="", failure=FailureKind.FORBIDDEN)

# Each row: what it is, how the round ended, how many had failed before it, and what follows.
TABLE: list[tuple[str, EndedRound, int, Expected]] = [
    ("the server ended it after minutes", ended(LONG, heard=True), 4, quiet("9", 0, "ended")),
    ("it was silent for two minutes", ended(LONG), 0, quiet("", 0, "silent")),
    ("it was silent for less", ended(Seconds(60.0)), 0, quiet("9", 0, "ended")),
    ("the server ended it at once", ended(SHORT), 0, quiet("9", 1, "ended", (0.4, 0.6))),
    ("its connection broke", lost(LONG, heard=True), 0, quiet("9", 0, "unreachable")),
    # Its circuit breaker says when it is tried again.
    ("its connection broke at once", lost(SHORT), 2, quiet("9", 0, "unreachable")),
    ("there was no connection", lost(), 2, told("9", 2, "unreachable")),
    ("too old", failed("gone"), 0, quiet("", 1, "gone")),
    ("too old, after minutes", failed("gone", lasted=LONG, heard=True), 5, quiet("", 1, "gone")),
    ("too old, after other failures", failed("gone"), 6, quiet("", 1, "gone")),
    (
        "the version of the list is too old again and again",
        failed("gone", is_fresh=True),
        1,
        told("", 2, "gone", (0.8, 1.2)),
    ),
    ("followed, and forbidden now", failed("forbidden"), 0, told("9", 1, "forbidden", (1.6, 2.4))),
    ("forbidden", failed("forbidden", is_new=True), 0, told("9", 1, "forbidden", (0.04, 0.06))),
    ("a 5xx", failed("server_error"), 0, told("9", 1, "server_error", (0.4, 0.6))),
    ("the third 5xx", failed("server_error"), 2, told("", 3, "server_error", (1.6, 2.4))),
    ("the fourth 5xx", failed("server_error"), 3, told("9", 4, "server_error", (3.2, 4.8))),
    ("the version is not taken", failed("invalid"), 0, told("", 1, "invalid", (0.4, 0.6))),
    ("an unknown refusal", failed("refused"), 0, told("", 1, "refused", (0.4, 0.6))),
    ("nobody can read it", garbage, 3, told("", 4, "malformed", (3.2, 4.8))),
    (
        "the server wants to be left alone",
        failed("throttled", retry_after=Seconds(7.0)),
        0,
        told("9", 1, "throttled", (7.0, 7.0)),
    ),
    ("the hundredth failure", unlistable, 99, told("", 100, "forbidden", (24.0, 36.0))),
]


@pytest.mark.parametrize(
    ("end", "before", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_what_comes_after_a_round(end: EndedRound, before: int, expected: Expected) -> None:
    following = next_round(end, before, RULES, chance())
    shortest, longest = expected.wait
    assert following.version == expected.version
    assert following.failures == expected.failures
    assert following.reason == expected.reason
    assert following.is_failure is expected.is_failure
    assert shortest <= following.delay <= longest


def test_a_403_is_tried_again_six_times_in_two_seconds() -> None:
    """The Node authorizer learns of a pod a moment after the node does."""
    failures, waited = 0, 0.0
    forbidden = EndedRound(version="", failure=FailureKind.FORBIDDEN, is_new=True)
    luck = chance()
    for _ in range(5):
        following = next_round(forbidden, failures, RULES, luck)
        failures, waited = following.failures, waited + following.delay
    assert waited <= 2.0
    # The bound on requests stands in the way of none of them.
    assert request_pause((0.0,) * 6, 0.0, RULES) == 0.0


@given(times=st.lists(st.floats(min_value=0.0, max_value=2.0), max_size=40))
def test_what_was_sent_long_ago_is_not_kept(times: list[float]) -> None:
    now = 0.0
    sent: SentTimes = ()
    for gap in times:
        now += gap
        sent = with_request(sent, now, RULES)
    assert all(at > now - 5.0 for at in sent)


def test_watches_end_between_five_and_ten_minutes() -> None:
    luck = chance()
    seconds = {watch_timeout(RULES, luck) for _ in range(200)}
    assert min(seconds) >= 300
    assert max(seconds) <= 600
    assert len(seconds) > 50


def test_a_connection_is_probed_soon_and_then_every_second_or_two() -> None:
    soon = probe_at(float("-inf"), 100.0, RULES, chance())
    assert 100.1 <= soon <= 100.2
    later = probe_at(soon, soon + 0.01, RULES, chance())
    assert 1.0 <= later - soon <= 2.0


@pytest.mark.parametrize(("waiting", "over"), [(0, 0.0), (19, 0.6), (95, 3.0), (9000, 3.0)])
def test_a_full_connection_returns_over_three_seconds(waiting: int, over: float) -> None:
    assert spread(waiting, RULES) == pytest.approx(over)


@given(failures=st.integers(min_value=1, max_value=10**6), seed=st.integers())
def test_a_backoff_stays_within_its_bounds(failures: int, seed: int) -> None:
    wait = backoff(failures, RULES.first_backoff, RULES, random.Random(seed))
    assert 0.4 <= wait <= 36.0


rounds = st.builds(
    EndedRound,
    version=st.sampled_from(["", "9"]),
    lasted=st.sampled_from([NONE, SHORT, Seconds(0.6), Seconds(20.0)]),
    heard=st.booleans(),
    failure=st.none() | st.sampled_from(FailureKind),
    connection_lost=st.booleans(),
    retry_after=st.none() | st.floats(min_value=0.0, max_value=2.0).map(Seconds),
)


@given(ends=st.lists(rounds, max_size=60), seed=st.integers())
def test_whatever_comes_back_no_five_seconds_see_more_than_ten_requests(
    ends: list[EndedRound], seed: int
) -> None:
    now, failures = 0.0, 0
    sent: SentTimes = ()
    luck = random.Random(seed)
    times: list[float] = []
    for ended in ends:
        now += request_pause(sent, now, RULES)
        times.append(now)
        sent = with_request(sent, now, RULES)
        following = next_round(ended, failures, RULES, luck)
        failures = following.failures
        now += ended.lasted + following.delay
    assert len(sent) <= 10
    elevenths = zip(times, times[10:], strict=False)
    assert all(eleventh - first >= 5.0 - 1e-9 for first, eleventh in elevenths)


@pytest.mark.parametrize("kind", [FailureKind.SERVER_ERROR, FailureKind.INVALID])
def test_a_watch_that_fails_for_good_lists_no_more_often_than_it_would_be_tried(
    kind: FailureKind,
) -> None:
    """The list is answered, and the watch fails again: one list in each wait, or in each third."""
    failures, waits, lists = 0, 0.0, 0
    luck = chance()
    for _ in range(120):
        following = next_round(EndedRound(version="9", failure=kind), failures, RULES, luck)
        failures, waits, lists = (
            following.failures,
            waits + following.delay,
            lists + (not following.version),
        )
    assert waits > 120 * 24.0 - 200.0
    assert lists == (40 if kind is FailureKind.SERVER_ERROR else 120)


def test_silence_is_waited_for_a_little_longer_by_some_than_by_others() -> None:
    luck = chance()
    limits = {round(silence_limit(RULES, luck)) for _ in range(200)}
    assert (min(limits), max(limits)) >= (120, 170)
    assert max(limits) <= 180


@given(
    failure=st.sampled_from([kind for kind in FailureKind if kind is not FailureKind.GONE]),
    seed=st.integers(),
)
def test_a_server_that_always_refuses_is_asked_less_and_less(
    failure: FailureKind, seed: int
) -> None:
    failures, waited = 0, []
    luck = random.Random(seed)
    for _ in range(12):
        following = next_round(EndedRound(version="9", failure=failure), failures, RULES, luck)
        failures = following.failures
        waited.append(following.delay)
    assert waited[0] < waited[3] < waited[6]
    # In the first minute such a watch sends a dozen requests, and then two a minute.
    assert sum(waited) > 60.0
    assert waited[-1] >= 24.0
