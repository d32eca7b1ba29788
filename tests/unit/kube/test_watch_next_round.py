"""What comes after a round of a watch, and how often the API server is asked."""

from __future__ import annotations

import random
from dataclasses import dataclass

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
class Case:
    """One row of the table below."""

    ended: EndedRound
    version: str
    failures: int
    reason: str
    is_failure: bool
    at_least: float = 0.0
    at_most: float = 0.0
    before: int = 0


TABLE = {
    "the server ended it after minutes": Case(
        EndedRound(version="9", lasted=LONG, heard=True),
        "9",
        0,
        "ended",
        is_failure=False,
        before=4,
    ),
    "it was silent for two minutes": Case(
        EndedRound(version="9", lasted=LONG), "", 0, "silent", is_failure=False
    ),
    "it was silent for less": Case(
        EndedRound(version="9", lasted=Seconds(60.0)), "9", 0, "ended", is_failure=False
    ),
    "the server ended it at once": Case(
        EndedRound(version="9", lasted=SHORT),
        "9",
        1,
        "ended",
        is_failure=False,
        at_least=0.4,
        at_most=0.6,
    ),
    "its connection broke": Case(
        EndedRound(
            version="9",
            lasted=LONG,
            heard=True,
            failure=FailureKind.UNREACHABLE,
            connection_lost=True,
        ),
        "9",
        0,
        "unreachable",
        is_failure=False,
    ),
    "its connection broke at once, of which its client's circuit breaker says when it is tried again": Case(
        EndedRound(
            version="9", lasted=SHORT, failure=FailureKind.UNREACHABLE, connection_lost=True
        ),
        "9",
        0,
        "unreachable",
        is_failure=False,
        before=2,
    ),
    "there was no connection": Case(
        EndedRound(version="9", failure=FailureKind.UNREACHABLE, connection_lost=True),
        "9",
        2,
        "unreachable",
        is_failure=True,
        before=2,
    ),
    "the version is too old": Case(
        EndedRound(version="9", failure=FailureKind.GONE), "", 1, "gone", is_failure=False
    ),
    "the version is too old, after minutes": Case(
        EndedRound(version="9", lasted=LONG, failure=FailureKind.GONE, heard=True),
        "",
        1,
        "gone",
        is_failure=False,
        before=5,
    ),
    "the version is too old after other failures": Case(
        EndedRound(version="9", failure=FailureKind.GONE),
        "",
        1,
        "gone",
        is_failure=False,
        before=6,
    ),
    "the version of the list is too old again and again": Case(
        EndedRound(version="9", failure=FailureKind.GONE, is_fresh=True),
        "",
        2,
        "gone",
        is_failure=True,
        at_least=0.8,
        at_most=1.2,
        before=1,
    ),
    "it was followed, and is forbidden now": Case(
        EndedRound(version="9", failure=FailureKind.FORBIDDEN),
        "9",
        1,
        "forbidden",
        is_failure=True,
        at_least=1.6,
        at_most=2.4,
    ),
    "it is forbidden": Case(
        EndedRound(version="9", failure=FailureKind.FORBIDDEN, is_new=True),
        "9",
        1,
        "forbidden",
        is_failure=True,
        at_least=0.04,
        at_most=0.06,
    ),
    "the server is in trouble": Case(
        EndedRound(version="9", failure=FailureKind.SERVER_ERROR),
        "9",
        1,
        "server_error",
        is_failure=True,
        at_least=0.4,
        at_most=0.6,
    ),
    "the server is in trouble for the third time": Case(
        EndedRound(version="9", failure=FailureKind.SERVER_ERROR),
        "",
        3,
        "server_error",
        is_failure=True,
        at_least=1.6,
        at_most=2.4,
        before=2,
    ),
    "the server is in trouble for the fourth time": Case(
        EndedRound(version="9", failure=FailureKind.SERVER_ERROR),
        "9",
        4,
        "server_error",
        is_failure=True,
        at_least=3.2,
        at_most=4.8,
        before=3,
    ),
    "the server does not take the version": Case(
        EndedRound(version="9", failure=FailureKind.INVALID),
        "",
        1,
        "invalid",
        is_failure=True,
        at_least=0.4,
        at_most=0.6,
    ),
    "the server refuses it in a way that is not known": Case(
        EndedRound(version="9", failure=FailureKind.REFUSED),
        "",
        1,
        "refused",
        is_failure=True,
        at_least=0.4,
        at_most=0.6,
    ),
    "nobody can read it": Case(
        EndedRound(version="9", heard=True, lasted=SHORT, failure=FailureKind.MALFORMED),
        "",
        4,
        "malformed",
        is_failure=True,
        at_least=3.2,
        at_most=4.8,
        before=3,
    ),
    "the server wants to be left alone": Case(
        EndedRound(version="9", failure=FailureKind.THROTTLED, retry_after=Seconds(7.0)),
        "9",
        1,
        "throttled",
        is_failure=True,
        at_least=7.0,
        at_most=7.0,
    ),
    "it failed for the hundredth time": Case(
        EndedRound(version="", failure=FailureKind.FORBIDDEN),
        "",
        100,
        "forbidden",
        is_failure=True,
        at_least=24.0,
        at_most=36.0,
        before=99,
    ),
}


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())
def test_what_comes_after_a_round(case: Case) -> None:
    following = next_round(case.ended, case.before, RULES, chance())
    assert following.version == case.version
    assert following.failures == case.failures
    assert following.reason == case.reason
    assert following.is_failure is case.is_failure
    assert case.at_least <= following.delay <= case.at_most


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


def test_a_client_is_probed_soon_and_then_every_second_or_two() -> None:
    soon = probe_at(float("-inf"), 100.0, RULES, chance())
    assert 100.1 <= soon <= 100.2
    later = probe_at(soon, soon + 0.01, RULES, chance())
    assert 1.0 <= later - soon <= 2.0


@pytest.mark.parametrize(("waiting", "over"), [(0, 0.0), (19, 0.6), (95, 3.0), (9000, 3.0)])
def test_a_full_client_returns_over_three_seconds(waiting: int, over: float) -> None:
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
