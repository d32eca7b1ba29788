"""When a fetcher asks though nobody reads, and which reads a fetch answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from messages.holders import Mark, ReadObject, ReferencesAre
from messages.objects import ObjectId, ObjectKind
from messages.pods import PodUid
from messages.units import Seconds
from stores.objects.fetcher_memory import FetcherMemory
from tests.support.kernel.probe import Probe

times = st.floats(0.0, 10_000.0)
phases = st.floats(0.0, 1.0)


def references(pods: int = 1, *, is_followed: bool = True, ttl: float = 60.0) -> ReferencesAre:
    return ReferencesAre(
        references=pods, newest=Mark(1), is_followed=is_followed, time_to_live=Seconds(ttl)
    )


def followed(since: float, phase: float, ttl: float = 60.0) -> FetcherMemory:
    memory = FetcherMemory(phase=phase)
    memory.note_followers(references(ttl=ttl), Seconds(since))
    return memory


@given(since=times, phase=phases)
def test_it_asks_within_one_time_to_live_after_somebody_began_to_follow(
    since: float, phase: float
) -> None:
    due = followed(since, phase).due_unread()
    assert due is not None
    assert since <= due <= since + 60.0


@given(since=times, asked=times, phase=phases)
def test_and_after_each_answer_once_per_time_to_live_and_not_much_more_often(
    since: float, asked: float, phase: float
) -> None:
    memory = followed(since, phase)
    memory.asked_at = Seconds(asked)
    due = memory.due_unread()
    assert due is not None
    assert asked + 0.79 * 60.0 <= due <= max(since, asked) + 60.0


@given(since=times, asked=times, phase=phases)
def test_it_never_asks_at_once_because_of_who_follows_or_of_the_time_to_live(
    since: float, asked: float, phase: float
) -> None:
    """Those who follow all objects would have all fetchers ask together."""
    memory = followed(since, 0.5 + phase / 2, ttl=20.0)
    memory.asked_at = Seconds(asked)
    due = memory.due_unread()
    assert due is not None
    assert due >= since + 10.0


def test_those_that_were_asked_for_together_part() -> None:
    """As when the pods of a node start, and all read."""
    memories = [followed(0.0, number / 10) for number in range(10)]
    for memory in memories:
        memory.asked_at = Seconds(100.0)
    dues = [memory.due_unread() or 0.0 for memory in memories]
    assert dues == sorted(dues, reverse=True)
    assert dues[0] - dues[-1] > 10.0


def test_repeating_who_follows_does_not_put_it_off() -> None:
    memory = followed(0.0, 0.5)
    memory.note_followers(references(2), Seconds(29.0))
    assert memory.due_unread() == 30.0


def test_nobody_is_asked_for_those_who_neither_follow_nor_reference() -> None:
    memory = followed(0.0, 0.5)
    memory.note_followers(references(is_followed=False), Seconds(1.0))
    assert memory.due_unread() is None
    memory = followed(0.0, 0.5)
    memory.note_followers(references(0), Seconds(1.0))
    assert memory.due_unread() is None


def test_fetchers_have_phases_of_their_own() -> None:
    assert len({FetcherMemory().phase for _ in range(100)}) == 100


def read(pod: str) -> ReadObject:
    return ReadObject(
        object=ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="tls"),
        mark=Mark(1),
        pod=PodUid(pod),
        reply_to=Probe(),
        ref=pod,
        within=Seconds(1.0),
    )


class TestReadsOfAFetch:
    def test_a_fetch_answers_those_who_came_before_it_began(self) -> None:
        memory, first, second = FetcherMemory(), read("p1"), read("p2")
        memory.reads.add(first, Seconds(1.0))
        assert memory.begin_fetch() == [first.mark]
        assert not memory.is_read
        memory.reads.add(second, Seconds(2.0))
        assert memory.is_read
        assert [each.read for each in memory.take_asked_for()] == [first]
        assert memory.begin_fetch() == [second.mark]

    def test_who_is_not_answered_asks_again_before_the_others(self) -> None:
        memory, first, second = FetcherMemory(), read("p1"), read("p2")
        memory.reads.add(first, Seconds(1.0))
        memory.begin_fetch()
        memory.reads.add(second, Seconds(2.0))
        memory.ask_again()
        assert memory.begin_fetch() == [first.mark, second.mark]
