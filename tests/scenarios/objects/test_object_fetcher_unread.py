"""A fetcher of an object that somebody follows, and nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.objects.fetcher import FetchMode
from messages.api import FailureKind
from messages.objects import ReadVerdict
from tests.support.apiserver.fake_api import ALWAYS
from tests.support.apiserver.fake_failures import failure_of
from tests.support.objects.fetcher_stage import FetcherStage, fetcher_stage

CACHED = "s1 of the cache"


@pytest.fixture
def followed() -> Iterator[FetcherStage]:
    """A stage whose Secret is followed, and was looked at once."""
    with fetcher_stage() as stage:
        stage.has("s1")
        stage.refers(followed=60.0)
        assert stage.asked() == ["s1"]
        assert stage.news() == ["cached unknown", "added a for nobody"]
        yield stage


def test_it_is_asked_for_once_per_time_to_live(followed: FetcherStage) -> None:
    assert followed.asked_after(59.9, 0.1, 59.9, 0.1) == [[], [CACHED], [], [CACHED]]


def test_so_what_changes_is_heard_of(followed: FetcherStage) -> None:
    followed.changes(a="2", b="1")
    followed.play.advance(60.0)
    assert followed.news() == ["modified a,b"]
    followed.play.advance(60.0)
    assert followed.news() == ["cached known"]


def test_that_it_went_is_heard_of(followed: FetcherStage) -> None:
    """Absence in the API server's cache proves nothing, so that etcd is asked at once."""
    followed.store.remove("secrets", "shop", "s1")
    assert followed.asked_after(60.0) == [[CACHED, "s1"]]
    assert followed.news() == ["deleted a"]
    assert followed.asked_after(60.0) == [["s1"]]
    followed.has("s1")
    followed.play.advance(60.0)
    assert followed.news() == ["absent known", "added a for nobody"]


def test_who_reads_asks_for_those_who_follow(followed: FetcherStage) -> None:
    followed.play.advance(50.0)
    assert followed.read(mark=2).verdict is ReadVerdict.FOUND
    assert followed.asked() == ["s1"]
    assert followed.asked_after(59.9, 0.1) == [[], [CACHED]]


def test_who_reads_finds_it_in_the_cache(followed: FetcherStage) -> None:
    followed.play.advance(60.0)
    followed.asked()
    assert followed.read().verdict is ReadVerdict.FOUND
    assert followed.asked() == []


def test_one_that_nobody_follows_any_more_is_not_asked_for(followed: FetcherStage) -> None:
    followed.refers()
    assert followed.asked_after(3600.0) == [[]]


def test_one_that_nobody_references_any_more_is_not_asked_for(followed: FetcherStage) -> None:
    followed.refers(0, followed=60.0)
    assert followed.asked_after(3600.0) == [[]]


def test_one_that_is_referenced_anew_is_asked_for_anew(followed: FetcherStage) -> None:
    followed.refers(0)
    followed.refers(followed=60.0)
    assert followed.asked() == ["s1"]


def test_one_that_is_followed_later_is_asked_for_from_then_on() -> None:
    with fetcher_stage() as stage:
        stage.has("s1")
        stage.refers()
        assert stage.asked_after(3600.0) == [[]]
        stage.refers(followed=60.0)
        assert stage.asked() == ["s1"]


def test_a_shorter_time_to_live_counts_at_once(followed: FetcherStage) -> None:
    followed.play.advance(30.0)
    followed.refers(followed=20.0)
    assert followed.asked() == [CACHED]
    assert followed.asked_after(19.9, 0.1) == [[], [CACHED]]


def test_a_longer_time_to_live_counts_from_the_last_request(followed: FetcherStage) -> None:
    followed.play.advance(30.0)
    followed.refers(followed=300.0)
    assert followed.asked_after(269.9, 0.1) == [[], [CACHED]]


def test_without_a_time_to_live_it_is_asked_for_once_per_minute() -> None:
    with fetcher_stage() as stage:
        stage.has("s1")
        stage.refers(followed=0.0)
        assert stage.asked_after(0.0, 59.9, 0.1) == [["s1"], [], [CACHED]]


def test_it_is_asked_for_daily_however_long_the_time_to_live_is() -> None:
    """A timer cannot be set for ever, and 18 digits of seconds can be said."""
    with fetcher_stage() as stage:
        stage.has("s1")
        stage.refers(followed=1e18)
        assert stage.asked_after(0.0, 86399.0, 1.0) == [["s1"], [], [CACHED]]


def test_many_are_asked_for_one_after_another() -> None:
    names = tuple(f"s{number}" for number in range(10))
    with fetcher_stage(*names) as stage:
        stage.has(*names)
        stage.has_phases(0.1)
        stage.follows_all(60.0)
        assert [len(asked) for asked in stage.asked_after(*[6.0] * 10)] == [1] * 10


def test_a_failure_is_not_asked_again_before_its_time(followed: FetcherStage) -> None:
    followed.api.calls.fail(FailureKind.SERVER_ERROR, times=2)
    assert followed.asked_after(60.0, 59.9, 0.1, 60.0) == [[CACHED], [], [CACHED], [CACHED]]
    assert followed.news() == ["cached known with an error", "cached known"]


def test_a_contested_value_whose_proof_fails_is_not_asked_again_before_its_time(
    followed: FetcherStage,
) -> None:
    followed.calls.lagging = failure_of(FailureKind.NOT_FOUND)
    followed.api.calls.fail(FailureKind.SERVER_ERROR)
    assert followed.asked_after(60.0, 59.9, 0.1) == [["s1"], [], ["s1"]]


def test_a_403_just_after_the_reference_is_asked_again() -> None:
    with fetcher_stage() as stage:
        stage.has("s1")
        stage.api.calls.fail(FailureKind.FORBIDDEN, times=3)
        stage.refers(followed=60.0)
        stage.play.advance(1.0)
        assert stage.asked() == ["s1"] * 4
        assert stage.news()[-1] == "added a for nobody"


def test_a_403_for_long_is_not(followed: FetcherStage) -> None:
    followed.api.calls.fail(FailureKind.FORBIDDEN, times=ALWAYS)
    assert followed.asked_after(60.0, 59.9, 0.1) == [[CACHED], [], [CACHED]]


def test_a_slow_answer_is_waited_for(followed: FetcherStage) -> None:
    followed.api.calls.hold()
    assert followed.asked_after(60.0, 59.0) == [[CACHED], []]
    followed.changes(a="2")
    followed.api.calls.release()
    followed.play.settle()
    assert followed.news() == ["modified a"]


def test_direct_ones_are_not_asked_for() -> None:
    """Strategy Get: nothing is told of changes."""
    with fetcher_stage(mode=FetchMode.GET) as stage:
        stage.has("s1")
        stage.refers(followed=60.0)
        assert stage.asked_after(3600.0) == [[]]


class TestCrashes:
    """What a crash costs those who follow an object."""

    def test_the_next_life_asks_when_the_last_would_have(self, followed: FetcherStage) -> None:
        followed.play.advance(30.0)
        followed.crashes()
        assert followed.asked_after(29.9, 0.1) == [[], [CACHED]]

    def test_and_at_once_if_that_was_missed(self, followed: FetcherStage) -> None:
        followed.api.calls.hold()
        followed.play.advance(60.0)
        assert followed.asked() == [CACHED]
        followed.crashes()
        assert followed.asked_after(0.2) == [[CACHED]]
