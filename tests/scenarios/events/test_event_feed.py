"""EventFeed between PodManager, the managers of objects, and those who read."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from actors.events.feed import LINGERS, UNDER_WAY
from actors.events.feed_parts import EVENT_FEED
from kernel import Port
from messages.changes import Op, PodChange
from messages.event_feed import FeedDescribed
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    FollowObjects,
    ObjectChanged,
    ObjectId,
    ObjectKind,
)
from messages.pod_manager import (
    DescribePods,
    PodsAre,
    PodsChanged,
    Subscribe,
)
from messages.pods import FILE, HTTP, PodUid
from messages.statuses import PodStatusChanged
from messages.units import Seconds, Timestamp
from stores.statuses.status import StatusSituation, status_after
from tests.support.builders import make_pod
from tests.support.events.feed_stage import (
    NOTHING,
    SUBSCRIBED,
    UNSUBSCRIBED,
    FeedStage,
    Reader,
)
from tests.support.pods.observations import backing_off, observation

DB: Final = ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="db")
CHANGED: Final = ObjectChanged(
    object=DB, change=Change.MODIFIED, uid="u1", resource_version="7", keys=("password",)
)
DECIDED: Final = ChangeDecided(
    pod=PodUid("p1"),
    pod_name="shop/web",
    action=ChangeAction.SIGNAL,
    signal="SIGHUP",
    delay=Seconds(1.5),
    changed=CHANGED,
)
WEB, JOB = make_pod("web"), make_pod("job", source="http")


# Whom it follows.


def test_without_readers_nobody_is_followed(feed: FeedStage) -> None:
    assert feed.follows() == NOTHING


def test_the_first_reader_has_everything_followed_and_the_last_nothing(feed: FeedStage) -> None:
    first = feed.attaches()
    assert feed.follows() == SUBSCRIBED
    second = feed.attaches()
    feed.detaches(first)
    assert feed.follows() == NOTHING
    feed.detaches(second)
    # It may come back.
    assert feed.follows() == NOTHING
    feed.play.advance(LINGERS)
    assert feed.follows() == UNSUBSCRIBED


def test_everybody_follows_by_the_address_that_outlives_a_life(feed: FeedStage) -> None:
    feed.attaches()
    me: Port[Any] = feed.play.port(EVENT_FEED)
    feed.pods.expect(Subscribe(subscriber=me), DescribePods(reply_to=me))
    feed.secrets.expect(FollowObjects(subscriber=me))
    feed.config_maps.expect(FollowObjects(subscriber=me))


def test_a_reader_that_was_never_attached_can_be_detached(feed: FeedStage) -> None:
    feed.detaches(Reader(), was_slow=True)
    assert feed.described() == FeedDescribed(readers=0, dropped=0)
    assert feed.follows() == NOTHING


def test_what_was_under_way_when_the_last_reader_left_is_dropped_without_a_word(
    feed: FeedStage,
) -> None:
    feed.is_left_alone(feed.attaches())
    feed.follows()
    feed.play.tell_all(EVENT_FEED, *[CHANGED] * 5_000, PodsAre(source=FILE, pods=(WEB,)))
    assert feed.follows() == NOTHING


@pytest.mark.parametrize("fact", [PodsAre(source=FILE, pods=(WEB,)), CHANGED])
def test_who_still_tells_something_long_after_is_told_once_more_to_stop(
    feed: FeedStage, fact: PodsAre | ObjectChanged
) -> None:
    feed.is_left_alone(feed.attaches())
    feed.follows()
    # It crashed over being told to.
    feed.play.advance(UNDER_WAY)
    feed.play.tell_all(EVENT_FEED, fact, fact)
    assert feed.follows() == UNSUBSCRIBED


def test_readers_and_those_who_did_not_keep_up_are_counted(feed: FeedStage) -> None:
    slow, _ = feed.attaches(), feed.attaches()
    feed.detaches(slow, was_slow=True)
    feed.detaches(slow, was_slow=True)
    assert feed.described() == FeedDescribed(readers=1, dropped=1)


# What it tells.


def test_what_happens_is_told_to_every_reader_in_order(feed: FeedStage) -> None:
    readers = [feed.attaches(), feed.attaches()]
    feed.are()
    feed.play.tell_all(
        EVENT_FEED,
        PodsChanged(source=FILE, changes=(PodChange(op=Op.ADD, pod=WEB),)),
        CHANGED,
        DECIDED,
    )
    pod = '{"op":"ADD","source":"file","namespace":"default","name":"web","uid":"uid-default-web",'
    pod += '"mirror":false}'
    changed = (
        '{"kind":"Secret","namespace":"shop","name":"db","uid":"u1","resourceVersion":"7",'
        '"change":"modified","keys":["password"],"origin":"api"}'
    )
    decided = (
        '{"pod":"shop/web","uid":"p1","action":"signal","signal":"SIGHUP","delaySeconds":1.5,'
        '"kind":"Secret","namespace":"shop","name":"db","resourceVersion":"7","keys":["password"]}'
    )
    told = [
        f"event: pod\ndata: {pod}",
        f"event: object\ndata: {changed}",
        f"event: decision\ndata: {decided}",
    ]
    assert [reader.read() for reader in readers] == [told, told]


def test_a_status_is_told_with_the_states_of_its_containers(feed: FeedStage) -> None:
    reader = feed.attaches()
    situation = StatusSituation(pod=WEB, observed=observation(backing_off()), now=Timestamp(1.0))
    feed.play.tell(EVENT_FEED, PodStatusChanged(pod=WEB, status=status_after(situation)))
    (event,) = reader.read()
    head, _, data = event.partition("\ndata: ")
    assert head == "event: status"
    assert json.loads(data) == {
        "source": "file",
        "namespace": "default",
        "name": "web",
        "uid": "uid-default-web",
        "phase": "Running",
        "ready": False,
        "reason": "",
        "containers": [
            {"name": "main", "state": "waiting", "reason": "CrashLoopBackOff", "restarts": 0}
        ],
    }


def test_a_batch_is_told_in_its_order(feed: FeedStage) -> None:
    reader = feed.attaches()
    feed.are(WEB)
    feed.change(PodChange(op=Op.REMOVE, pod=WEB), PodChange(op=Op.ADD, pod=make_pod("api")))
    assert reader.heads() == ["REMOVE", "ADD"]


def test_the_pods_that_there_are_when_a_reader_comes_are_no_events(feed: FeedStage) -> None:
    reader = feed.attaches()
    feed.are(WEB)
    feed.play.tell(EVENT_FEED, PodsAre(source=HTTP, pods=(JOB,)))
    assert reader.read() == []


def test_a_reader_that_comes_later_hears_what_happens_from_there_on(feed: FeedStage) -> None:
    feed.attaches()
    feed.are()
    feed.change(PodChange(op=Op.ADD, pod=WEB))
    second = feed.attaches()
    feed.change(PodChange(op=Op.REMOVE, pod=WEB))
    assert second.heads() == ["REMOVE"]


def test_after_the_last_reader_left_the_next_one_begins_anew(feed: FeedStage) -> None:
    first = feed.attaches()
    feed.are()
    feed.has_listed(FILE)
    feed.is_left_alone(first)
    second = feed.attaches()
    feed.are(WEB)
    assert second.read() == []


def test_what_a_source_lists_for_the_first_time_while_somebody_reads_is_told(
    feed: FeedStage,
) -> None:
    reader = feed.attaches()
    feed.are(WEB)
    feed.has_listed(FILE)
    feed.play.tell(EVENT_FEED, PodsAre(source=HTTP, pods=(JOB,)))
    assert reader.heads() == ["ADD"]


def test_an_answer_that_comes_after_its_reader_left_says_nothing(feed: FeedStage) -> None:
    feed.is_left_alone(feed.attaches())
    feed.has_listed()
    reader = feed.attaches()
    feed.are(WEB)
    assert reader.read() == []


def test_an_answer_to_an_earlier_reader_makes_no_news_of_what_there_is(feed: FeedStage) -> None:
    feed.is_left_alone(feed.attaches())
    reader = feed.attaches()
    feed.has_listed(FILE)
    feed.are(WEB)
    assert reader.read() == []
