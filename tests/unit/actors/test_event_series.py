"""Which events become one, and which are too many."""

from __future__ import annotations

import pytest

from actors.events.series import BURST, EventCorrelator, EventSeries, Lru, posting
from messages.api import Verb
from messages.events import EventType, ObjectReference, PostEvent
from messages.units import Timestamp

NOW = Timestamp(1_700_000_000.0)
NODE = ObjectReference(kind="Node", name="n1", uid="n1")


def post(message: str = "no", reason: str = "Refused", **of: str) -> PostEvent:
    regarding = ObjectReference(kind="Pod", name=of.get("pod", "web"), namespace="shop")
    return PostEvent(regarding=regarding, type=EventType.NORMAL, reason=reason, message=message)


def counted(correlator: EventCorrelator, event: PostEvent, after: float = 0.0) -> EventSeries:
    series = correlator.series_of(event, Timestamp(NOW + after))
    assert series is not None
    return series


def test_equal_events_are_one_series() -> None:
    correlator = EventCorrelator()
    first = counted(correlator, post())
    assert counted(correlator, post(), after=600.0) is first
    assert (first.count, first.first, first.last) == (2, NOW, NOW + 600.0)


@pytest.mark.parametrize(
    "other",
    [post("yes"), post(reason="Other"), post(pod="mail")],
    ids=["message", "reason", "object"],
)
def test_other_events_are_other_series(other: PostEvent) -> None:
    correlator = EventCorrelator()
    assert counted(correlator, post()).name != counted(correlator, other).name


def test_the_window_moves_with_each_event() -> None:
    correlator = EventCorrelator()
    first = counted(correlator, post())
    assert counted(correlator, post(), after=500.0) is first
    assert counted(correlator, post(), after=1000.0) is first
    assert counted(correlator, post(), after=1601.0) is not first


def test_similar_events_are_combined_after_ten_and_apart_again_after_ten_minutes() -> None:
    correlator = EventCorrelator()
    apart = [counted(correlator, post(f"{number}")) for number in range(10)]
    assert [one.message for one in apart] == [f"{number}" for number in range(10)]
    combined = counted(correlator, post("10"))
    assert combined.message == "(combined from similar events): 10"
    assert counted(correlator, post("11")) is combined
    assert combined.message == "(combined from similar events): 11"
    assert counted(correlator, post("12"), after=601.0).message == "12"


def test_repeats_of_one_message_are_not_many_similar_ones() -> None:
    correlator = EventCorrelator()
    series = [counted(correlator, post()) for _ in range(BURST)]
    assert series[-1].message == "no"
    assert series[-1].count == BURST


def test_an_object_has_a_burst_and_then_one_event_in_five_minutes() -> None:
    correlator = EventCorrelator()
    told = [correlator.series_of(post(), NOW) for _ in range(BURST + 1)]
    assert [series is None for series in told] == [False] * BURST + [True]
    assert correlator.series_of(post(pod="another"), NOW) is not None
    assert correlator.series_of(post(), Timestamp(NOW + 299.0)) is None
    assert correlator.series_of(post(), Timestamp(NOW + 300.0)) is not None
    assert correlator.series_of(post(), Timestamp(NOW + 301.0)) is None


def test_a_wall_clock_that_is_set_back_takes_no_token() -> None:
    correlator = EventCorrelator()
    counted(correlator, post())
    assert correlator.series_of(post(), Timestamp(NOW - 3600.0)) is not None


def test_names_differ_even_within_one_moment_and_fit() -> None:
    correlator = EventCorrelator()
    names = [counted(correlator, post(f"{number}", pod="a" * 252 + ".b")).name for number in (1, 2)]
    assert names[0] != names[1]
    assert {len(name) for name in names} == {253}
    prefix, _, suffix = names[0].rpartition(".")
    assert prefix == "a" * 236
    assert len(suffix) == 16


def test_the_first_posting_creates_and_the_next_one_counts() -> None:
    correlator = EventCorrelator()
    series = counted(correlator, post())
    request = posting(series, "n1")
    assert (request.verb, request.path) == (Verb.CREATE, "/api/v1/namespaces/shop/events")
    series.is_known = True
    counted(correlator, post(), after=1.0)
    request = posting(series, "n1")
    assert request.verb is Verb.PATCH
    assert request.path == f"/api/v1/namespaces/shop/events/{series.name}"
    assert request.body == {
        "count": 2,
        "lastTimestamp": "2023-11-14T22:13:21Z",
        "message": "no",
    }


def test_a_renamed_series_is_created_anew() -> None:
    correlator = EventCorrelator()
    series = counted(correlator, post())
    name, series.is_known = series.name, True
    correlator.rename(series)
    assert series.name != name
    assert posting(series, "n1").verb is Verb.CREATE


def test_the_least_recently_used_is_forgotten() -> None:
    lru: Lru[str, list[int]] = Lru(2)
    first = lru.get("a", list)
    lru.get("b", list)
    assert lru.get("a", list) is first
    lru.get("c", list)
    assert len(lru) == 2
    assert lru.get("a", list) is first
    lru.put("a", [1])
    assert lru.get("a", list) == [1]


def test_an_event_that_was_forgotten_begins_anew() -> None:
    correlator = EventCorrelator(length=2)
    first = counted(correlator, post())
    counted(correlator, post(pod="b"))
    counted(correlator, post(pod="c"))
    assert counted(correlator, post()) is not first
