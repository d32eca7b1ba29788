"""EventFeed between PodManager, the managers of objects, and those who read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pykka
import pytest
from typing_extensions import override

from actors.event_feed import (
    EVENT_FEED,
    RESTARTED,
    AttachReader,
    DescribeFeed,
    DetachReader,
    EventFeed,
    FeedDescribed,
    FeedMemory,
    FeedPorts,
    ReaderAttached,
    Told,
)
from actors.kernel import ChildSpec, Port, Runtime, SupervisorSpec
from actors.messages.changes import Op, PodChange
from actors.messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    FollowObjects,
    ObjectChanged,
    ObjectId,
    ObjectKind,
    UnfollowObjects,
)
from actors.messages.pod_manager import PodsAre, PodsChanged, Subscribe, Unsubscribe
from actors.messages.pods import API, FILE, HTTP, Pod, PodUid
from actors.messages.units import Seconds
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from tests.support.builders import edited, make_pod
from tests.support.pod_manager_stage import PodManagerStage, SilentSource
from tests.support.probe import Probe
from tests.support.stage import Stage

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


class Reader(Probe[Told]):
    """Somebody who reads, and leaves when the test says so."""

    def read(self) -> list[str]:
        """Return what was told since the last call, an event each."""
        text = b"".join(told.text for told in self.drain()).decode()
        return text.removesuffix("\n\n").split("\n\n") if text else []

    def heads(self) -> list[str]:
        """Return operation and pod of each event of pods since the last call."""
        return [event.partition('"op":"')[2].partition('"')[0] for event in self.read()]


class FeedStage:
    """The feed between ears that only listen."""

    def __init__(self, play: Stage, memory: FeedMemory, ports: dict[str, Probe[Any]]) -> None:
        self.play = play
        self.memory = memory
        self.pods, self.secrets, self.config_maps = ports.values()

    def attaches(self) -> Reader:
        """Return a reader who has been told that it is attached."""
        reader = Reader()
        attached: Probe[ReaderAttached] = Probe()
        self.play.tell(EVENT_FEED, AttachReader(reader=reader, reply_to=attached))
        attached.expect(ReaderAttached())
        return reader

    def detaches(self, reader: Reader, *, was_slow: bool = False) -> None:
        self.play.tell(EVENT_FEED, DetachReader(reader=reader, was_slow=was_slow))

    def are(self, *pods: Pod) -> None:
        """Have PodManager tell all pods of the file source."""
        self.play.tell(EVENT_FEED, PodsAre(source=FILE, pods=pods))

    def change(self, *changes: PodChange) -> None:
        self.play.tell(EVENT_FEED, PodsChanged(source=FILE, changes=changes))

    def crashes(self) -> None:
        """Crash the feed; its next life begins when time passes."""
        self.play.system.crash(EVENT_FEED.path, pykka.ThreadingFuture())
        self.play.settle()

    def described(self) -> FeedDescribed:
        def question(reply_to: Port[FeedDescribed]) -> DescribeFeed:
            return DescribeFeed(reply_to=reply_to)

        return self.play.ask(EVENT_FEED, question)

    def follows(self) -> list[list[type]]:
        """Return what each of the three was told since the last call."""
        ears = (self.pods, self.secrets, self.config_maps)
        return [[type(message) for message in ear.drain()] for ear in ears]


@contextmanager
def feed_stage(runtime: Runtime | None = None) -> Iterator[FeedStage]:
    memory = FeedMemory()
    ears: dict[str, Probe[Any]] = {name: Probe() for name in ("pods", "secrets", "config maps")}

    def factory() -> EventFeed:
        (play,) = plays
        me: Port[Any] = play.port(EVENT_FEED)
        pods, *managers = ears.values()
        return EventFeed(FeedPorts(pod_manager=pods, managers=managers, me=me), memory)

    plays: list[Stage] = []
    spec = SupervisorSpec(name="root", children=(ChildSpec(key=EVENT_FEED, factory=factory),))
    play = Stage(spec, runtime)
    plays.append(play)
    play.start()
    try:
        yield FeedStage(play, memory, ears)
    finally:
        play.stop()


@pytest.fixture
def feed(runtime: Runtime) -> Iterator[FeedStage]:
    """Return a feed that nobody reads."""
    with feed_stage(runtime) as feed:
        yield feed


SUBSCRIBED = [[Subscribe], [FollowObjects], [FollowObjects]]
UNSUBSCRIBED = [[Unsubscribe], [UnfollowObjects], [UnfollowObjects]]
NOTHING: list[list[type]] = [[], [], []]

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
    assert feed.follows() == UNSUBSCRIBED


def test_everybody_follows_by_the_address_that_outlives_a_life(feed: FeedStage) -> None:
    feed.attaches()
    me: Port[Any] = feed.play.port(EVENT_FEED)
    feed.pods.expect(Subscribe(subscriber=me))
    feed.secrets.expect(FollowObjects(subscriber=me))
    feed.config_maps.expect(FollowObjects(subscriber=me))


def test_a_reader_that_was_never_attached_can_be_detached(feed: FeedStage) -> None:
    feed.detaches(Reader(), was_slow=True)
    assert feed.described() == FeedDescribed(readers=0, dropped=0)
    assert feed.follows() == NOTHING


@pytest.mark.parametrize("fact", [PodsAre(source=FILE, pods=(WEB,)), CHANGED])
def test_who_tells_something_although_nobody_reads_is_told_to_stop(
    feed: FeedStage, fact: PodsAre | ObjectChanged
) -> None:
    feed.play.tell(EVENT_FEED, fact)
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
    pod = '{"op":"ADD","source":"file","namespace":"default","name":"web","uid":"uid-default-web"}'
    changed = (
        '{"kind":"Secret","namespace":"shop","name":"db","uid":"u1","resourceVersion":"7",'
        '"change":"modified","keys":["password"]}'
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
    feed.detaches(first)
    second = feed.attaches()
    feed.are(WEB)
    assert second.read() == []


# Crashes.


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
    assert reader.next().text == RESTARTED
    assert reader.heads() == ["ADD", "ADD"]


def test_a_crash_without_readers_has_nobody_followed(feed: FeedStage) -> None:
    feed.crashes()
    feed.play.advance(20.0)
    assert feed.follows() == NOTHING


def test_with_a_real_pod_manager_a_crash_hides_and_invents_nothing() -> None:
    sources = {name: SilentSource() for name in (FILE, HTTP, API)}
    pod_memory, feed_memory = PodMemory(), FeedMemory()
    plays: list[Stage] = []

    def feed() -> EventFeed:
        pods: Port[Any] = plays[0].port(POD_MANAGER)
        me: Port[Any] = plays[0].port(EVENT_FEED)
        return EventFeed(FeedPorts(pod_manager=pods, managers=(), me=me), feed_memory)

    children = (
        ChildSpec(key=POD_MANAGER, factory=lambda: PodManager(sources, pod_memory)),
        ChildSpec(key=EVENT_FEED, factory=feed),
    )
    plays.append(Stage(SupervisorSpec(name="root", children=children)))
    plays[0].start()
    pods, reader = PodManagerStage(plays[0], sources), Reader()
    # What is there already, before anybody reads.
    pods.lists(FILE, WEB)
    plays[0].tell(EVENT_FEED, AttachReader(reader=reader, reply_to=Probe()))
    # One comes, as always; the next comes, and the first goes, while PodManager is down.
    pods.lists(FILE, WEB, make_pod("api"))
    assert reader.heads() == ["ADD"]
    pods.goes_down()
    pods.lists(FILE, make_pod("api"), make_pod("late"))
    pods.recovers()
    assert reader.heads() == ["REMOVE", "ADD"]
    plays[0].stop()


class Ghost(Reader):
    """A reader that is gone, and says so whenever it is told something, as those of sockets do."""

    def __init__(self, feed: Port[DetachReader]) -> None:
        super().__init__()
        self._feed = feed

    @override
    def tell(self, message: Told, /) -> None:
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
