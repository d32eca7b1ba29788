"""When a fetcher asks though nobody reads, and which looks are wanted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from messages.holders import Mark, ReferencesAre
from messages.units import Seconds
from stores.objects.fetcher_memory import FetcherMemory

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


def wanting(memory: FetcherMemory, look: int, mark: int) -> None:
    memory.note_wanted(
        ReferencesAre(references=1, newest=Mark(mark), is_followed=True, wanted=look)
    )


class TestLooks:
    def test_a_look_that_is_wanted_is_wanted_until_one_of_its_number_is_done(self) -> None:
        memory = FetcherMemory()
        wanting(memory, 1, mark=1)
        assert memory.is_wanted
        wanting(memory, 2, mark=1)
        memory.looked = 1
        assert memory.is_wanted
        memory.looked = 2
        assert not memory.is_wanted

    def test_the_mark_of_a_look_is_that_of_the_time_at_which_it_was_wanted(self) -> None:
        memory = FetcherMemory()
        wanting(memory, 1, mark=1)
        wanting(memory, 1, mark=2)
        assert memory.wanted_for == 1
        wanting(memory, 2, mark=3)
        assert memory.wanted_for == 3
