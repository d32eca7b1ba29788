"""The last events, and which of them a reader that comes back has missed."""

from __future__ import annotations

import pytest

from actors.events.feed_parts import EventRing

ONE = b"event: pod\ndata: {}\n\n"


def ring_of(count: int, *, most_events: int = 10, most_bytes: int = 10_000) -> EventRing:
    """Return a ring that was told ``count`` events."""
    ring = EventRing(most_events, most_bytes)
    ring.begin("a")
    for _ in range(count):
        ring.add(None, ONE)
    return ring


def numbers_since(ring: EventRing, event_id: str) -> list[int] | None:
    """Return the numbers of the events after an id; None if it is of no use."""
    events = ring.since(event_id)
    return None if events is None else [each.number for each in events]


def test_an_event_gets_an_id_that_names_its_epoch() -> None:
    assert ring_of(1).add(None, ONE) == b"event: pod\ndata: {}\nid: a-2\n\n"


@pytest.mark.parametrize(
    ("event_id", "numbers"), [("a-0", [1, 2, 3]), ("a-2", [3]), ("a-3", []), ("a-4", None)]
)
def test_who_comes_back_missed_what_came_after_its_id(
    event_id: str, numbers: list[int] | None
) -> None:
    assert numbers_since(ring_of(3), event_id) == numbers


@pytest.mark.parametrize(
    "event_id", ["", "a", "3", "b-3", "a-", "a--1", "a-x", "a-²", "a-" + "9" * 90, "\0-\n"]
)
def test_whatever_is_no_id_of_now_is_too_old(event_id: str) -> None:
    assert numbers_since(ring_of(3), event_id) is None


def test_an_id_whose_successor_is_forgotten_is_too_old() -> None:
    ring = ring_of(12)
    assert numbers_since(ring, "a-1") is None
    assert numbers_since(ring, "a-2") == list(range(3, 13))


def test_many_bytes_are_forgotten_as_many_events_are() -> None:
    ring = ring_of(5, most_bytes=60)
    assert numbers_since(ring, "a-2") is None
    assert numbers_since(ring, "a-3") == [4, 5]


def test_after_a_new_beginning_old_ids_are_of_no_use() -> None:
    ring = ring_of(3)
    ring.begin("b")
    assert numbers_since(ring, "a-3") is None
    assert numbers_since(ring, "b-0") == []
