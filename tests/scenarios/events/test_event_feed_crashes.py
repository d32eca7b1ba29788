"""EventFeed, and those whom it follows, when one of them crashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typing_extensions import override

from actors.events.feed import RESTARTED, EventFeed
from actors.events.feed_parts import EVENT_FEED, FeedMemory, FeedPorts
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from kernel import Port
from messages.changes import Op, PodChange
from messages.event_feed import AttachReader, DetachReader, EventChunk, FeedTelling
from messages.objects import UnfollowObjects
from messages.pod_manager import PodsAre
from messages.pods import API, FILE, HTTP
from tests.support.builders import edited, make_pod
from tests.support.events.feed_stage import (
    NOTHING,
    SUBSCRIBED,
    UNSUBSCRIBED,
    FeedStage,
    Reader,
    feed_stage,
)
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of
from tests.support.pods.pod_manager_stage import PodManagerStage, SilentSource

WEB, JOB = make_pod("web"), make_pod("job", source="http")


def test_what_changed_while_pod_manager_was_down_is_told_in_its_words(feed: FeedStage) -> None:
    reader = feed.attaches()
    api, old = make_pod("api"), make_pod("old")
    feed.are(WEB, api, old)
    feed.are(make_pod("new"), edited(api, status={"phase": "Running"}), make_pod("web", image="2"))
    assert reader.heads() == ["REMOVE", "ADD", "UPDATE", "RECONCILE"]


def test_absence_means_removal_only_within_the_source_that_lists(feed: FeedStage) -> None:
    reader = feed.attaches()
    feed.play.tell(EVENT_FEED, PodsAre(source=HTTP, pods=(JOB,)))
    feed.are(WEB)
    feed.are(WEB)
    assert reader.read() == []


def test_a_pod_that_a_listing_has_told_already_is_not_added_again(feed: FeedStage) -> None:
    reader = feed.attaches()
    feed.are(WEB)
    feed.change(PodChange(op=Op.ADD, pod=WEB))
    assert reader.read() == []


def test_a_crash_of_the_feed_loses_no_reader_and_no_change_of_a_pod(feed: FeedStage) -> None:
    reader = feed.attaches()
    feed.are(WEB)
    feed.crashes()
    # What is told meanwhile waits, and PodManager tells all that there is once more.
    feed.change(PodChange(op=Op.ADD, pod=make_pod("api")))
    feed.follows()
    feed.play.advance(20.0)
    assert feed.follows() == SUBSCRIBED
    feed.are(WEB, make_pod("api"), make_pod("missed"))
    assert reader.next() == EventChunk(text=RESTARTED)
    assert reader.heads() == ["ADD", "ADD"]


class Fragile(Probe[Any]):
    """Makes whoever tells it to stop crash over that, the first time."""

    is_whole = True

    @override
    def tell(self, message: Any, /) -> None:
        if isinstance(message, UnfollowObjects) and self.is_whole:
            self.is_whole = False
            raise RuntimeError("as a bug would")
        super().tell(message)


def test_a_crash_over_the_last_reader_s_leaving_has_nobody_followed() -> None:
    with feed_stage(secrets=Fragile()) as feed:
        feed.is_left_alone(feed.attaches())
        feed.follows()
        feed.play.advance(20.0)
        assert feed.follows() == UNSUBSCRIBED


def test_a_crash_without_readers_has_nobody_followed(feed: FeedStage) -> None:
    feed.crashes()
    feed.play.advance(20.0)
    assert feed.follows() == NOTHING


class WholeStage(PodManagerStage):
    """The feed with a real PodManager, and a reader to come."""

    reader: Reader

    def attaches(self) -> None:
        """Have the reader come."""
        self.reader = Reader()
        self.play.tell(EVENT_FEED, AttachReader(reader=self.reader, reply_to=Probe()))


@pytest.fixture
def whole() -> Iterator[WholeStage]:
    sources = {name: SilentSource() for name in (FILE, HTTP, API)}
    pod_memory, feed_memory = PodMemory(), FeedMemory()

    def make_feed(play: Stage) -> EventFeed:
        pods: Port[Any] = play.port(POD_MANAGER)
        me: Port[Any] = play.port(EVENT_FEED)
        return EventFeed(FeedPorts(pod_manager=pods, managers={}, me=me), feed_memory)

    manager = (POD_MANAGER, lambda _play: PodManager(sources, pod_memory))
    with stage_of(manager, (EVENT_FEED, make_feed)) as play:
        yield WholeStage(play, sources)


def test_with_a_real_pod_manager_a_crash_hides_and_invents_nothing(whole: WholeStage) -> None:
    # What is there already, before anybody reads.
    whole.lists(FILE, WEB)
    whole.attaches()
    # One comes, as always; the next comes, and the first goes, while PodManager is down.
    whole.lists(FILE, WEB, make_pod("api"))
    assert whole.reader.heads() == ["ADD"]
    whole.goes_down()
    whole.lists(FILE, make_pod("api"), make_pod("late"))
    whole.recovers()
    assert whole.reader.heads() == ["REMOVE", "ADD"]


def test_with_a_real_pod_manager_the_first_listing_of_a_late_source_is_told_once(
    whole: WholeStage,
) -> None:
    whole.lists(FILE, WEB)
    whole.attaches()
    whole.lists(HTTP, JOB)
    assert whole.reader.heads() == ["ADD"]
    whole.crashes()
    whole.lists(HTTP, JOB)
    whole.lists(FILE, WEB)
    assert whole.reader.read() == []


def test_a_reader_who_comes_after_a_crash_is_not_told_that_all_pods_are_new(
    whole: WholeStage,
) -> None:
    whole.lists(FILE, WEB)
    whole.crashes()
    whole.attaches()
    whole.lists(FILE, WEB, make_pod("api"))
    assert whole.reader.heads() == ["ADD"]


class Ghost(Reader):
    """A reader that is gone, and says so whenever it is told something, as those of sockets do."""

    def __init__(self, feed: Port[DetachReader]) -> None:
        super().__init__()
        self._feed = feed

    @override
    def tell(self, message: FeedTelling, /) -> None:
        super().tell(message)
        self._feed.tell(DetachReader(reader=self))


def test_a_reader_whose_leaving_was_lost_is_found_by_the_next_life(feed: FeedStage) -> None:
    address: Port[Any] = feed.play.port(EVENT_FEED)
    ghost = Ghost(address)
    attach = AttachReader(reader=ghost, reply_to=Probe())
    feed.play.tell(EVENT_FEED, attach)
    assert feed.described().readers == 1
    feed.crashes()
    feed.play.advance(20.0)
    assert feed.described().readers == 0
