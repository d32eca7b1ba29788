"""How often something may happen: the token bucket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import TokenBucket
from messages.units import Seconds

NOW = Seconds(0.0)


def taken_at(bucket: TokenBucket, wishes: list[float]) -> list[float]:
    """Return when tokens are taken that are wanted at ``wishes``, each as soon as it may be."""
    sent: list[float] = []
    now = 0.0
    for wish in wishes:
        now = max(now, wish)
        bucket, wait = bucket.take(Seconds(now))
        while wait > 0:
            now += wait
            bucket, wait = bucket.take(Seconds(now))
        sent.append(now)
    return sent


@given(
    st.floats(0.1, 100.0),
    st.integers(1, 20),
    st.lists(st.floats(0.0, 30.0), max_size=60).map(sorted),
)
def test_no_span_of_time_has_more_requests_than_burst_and_rate_allow(
    rate: float, burst: int, wishes: list[float]
) -> None:
    sent = taken_at(TokenBucket(rate=rate, burst=burst), wishes)
    for first, begin in enumerate(sent):
        for last in range(first, len(sent)):
            assert last - first + 1 <= burst + rate * (sent[last] - begin) + 1e-6


@given(st.floats(0.1, 100.0), st.integers(1, 20), st.integers(0, 60))
def test_nobody_waits_longer_than_the_rate_demands(rate: float, burst: int, requests: int) -> None:
    sent = taken_at(TokenBucket(rate=rate, burst=burst), [0.0] * requests)
    expected = [max(0.0, (number + 1 - burst) / rate) for number in range(requests)]
    assert sent == pytest.approx(expected, abs=1e-6)


def test_waiting_as_long_as_told_is_enough() -> None:
    bucket, _ = TokenBucket(rate=3.0, burst=1).take(Seconds(1e6))
    _, wait = bucket.take(Seconds(1e6))
    assert wait == pytest.approx(1 / 3)
    assert bucket.take(Seconds(1e6 + wait))[1] == 0.0


def test_a_clock_that_is_set_back_gives_no_tokens_and_takes_none() -> None:
    bucket, _ = TokenBucket(rate=1.0, burst=1, at=10.0).take(Seconds(10.0))
    emptied, wait = bucket.take(Seconds(5.0))
    assert wait == 1.0
    assert emptied.take(Seconds(6.0))[1] == 0.0


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_no_rate_is_no_limit(rate: float) -> None:
    assert taken_at(TokenBucket(rate=rate, burst=1), [0.0] * 100) == [0.0] * 100


def test_a_burst_of_nothing_still_lets_one_pass() -> None:
    assert TokenBucket(rate=1.0, burst=0).take(NOW)[1] == 0.0
