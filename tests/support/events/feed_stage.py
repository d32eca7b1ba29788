"""A stage for EventFeed, with readers, and probes for those that it follows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from actors.events.feed import LINGERS, EventFeed
from actors.events.feed_parts import EVENT_FEED, FeedMemory, FeedPorts
from kernel import Port, Runtime
from messages.changes import PodChange
from messages.event_feed import (
    AttachReader,
    DescribeFeed,
    DetachReader,
    EventChunk,
    FeedDescribed,
    FeedTelling,
    ReaderAttached,
)
from messages.objects import FollowObjects, ObjectKind, UnfollowObjects
from messages.pod_manager import DescribePods, PodsAre, PodsChanged, Subscribe, Unsubscribe
from messages.pods import FILE, Pod, SourceName
from messages.statuses import FollowStatuses, UnfollowStatuses
from tests.support.agent.served import NO_PODS
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of

SUBSCRIBED = [[Subscribe, DescribePods], [FollowObjects], [FollowObjects], [FollowStatuses]]
UNSUBSCRIBED = [[Unsubscribe], [UnfollowObjects], [UnfollowObjects], [UnfollowStatuses]]
_ID = re.compile("\\nid: .*$")
NOTHING: list[list[type]] = [[], [], [], []]


class Reader(Probe[FeedTelling]):
    """A reader that leaves when the test says so."""

    def read(self) -> list[str]:
        """Return what was told since the last call, an event each, without their ids."""
        return [_ID.sub("", event) for event in self.read_all()]

    def read_all(self) -> list[str]:
        """Return what was told since the last call, an event each."""
        text = b"".join(map(_text_of, self.drain())).decode()
        return text.removesuffix("\n\n").split("\n\n") if text else []

    def stories(self) -> list[tuple[str, Any]]:
        """Return name and data of each event since the last call."""
        return [story_of(event) for event in self.read()]

    def heads(self) -> list[str]:
        """Return operation and pod of each event of pods since the last call."""
        return [event.partition('"op":"')[2].partition('"')[0] for event in self.read()]


def _text_of(told: FeedTelling) -> bytes:
    return told.text if isinstance(told, EventChunk) else b"".join(told.pieces)


def story_of(event: str) -> tuple[str, Any]:
    """Return name and data of an event."""
    name, _, data = event.partition("\n")
    return name.removeprefix("event: "), json.loads(data.partition("\n")[0].removeprefix("data: "))


class FeedStage:
    """The feed, and the probes that stand for those that it follows."""

    def __init__(self, play: Stage, memory: FeedMemory, ports: dict[str, Probe[Any]]) -> None:
        self.play = play
        self.memory = memory
        self.pods, self.secrets, self.config_maps, self.statuses, self.file, self.probes = (
            ports.values()
        )

    def attaches(self, *, wants_state: bool = False, since: str = "") -> Reader:
        """Return a reader who has been told that it is attached."""
        reader = Reader()
        attached: Probe[ReaderAttached] = Probe()
        self.play.tell(
            EVENT_FEED,
            AttachReader(reader=reader, reply_to=attached, wants_state=wants_state, since=since),
        )
        attached.expect(ReaderAttached())
        return reader

    def detaches(self, reader: Reader, *, was_slow: bool = False) -> None:
        self.play.tell(EVENT_FEED, DetachReader(reader=reader, was_slow=was_slow))

    def is_left_alone(self, last: Reader) -> None:
        """Have the last reader leave, and nobody come back."""
        self.detaches(last)
        self.play.advance(LINGERS)
        self.play.settle()

    def are(self, *pods: Pod) -> None:
        """Have PodManager tell all pods of the file source."""
        self.play.tell(EVENT_FEED, PodsAre(source=FILE, pods=pods))

    def has_listed(self, *sources: SourceName) -> None:
        """Have PodManager answer that these sources had listed when it was asked."""
        self.play.tell(EVENT_FEED, replace(NO_PODS, listed=frozenset(sources)))

    def change(self, *changes: PodChange) -> None:
        self.play.tell(EVENT_FEED, PodsChanged(source=FILE, changes=changes))

    def crashes(self) -> None:
        """Crash the feed; its next life begins when time passes."""
        self.play.system.crash(EVENT_FEED.path)
        self.play.settle()

    def described(self) -> FeedDescribed:
        def question(reply_to: Port[FeedDescribed]) -> DescribeFeed:
            return DescribeFeed(reply_to=reply_to)

        return self.play.ask(EVENT_FEED, question)

    def follows(self) -> list[list[type]]:
        """Return what each of the four that it follows was told since the last call."""
        probes = (self.pods, self.secrets, self.config_maps, self.statuses)
        return [[type(message) for message in probe.drain()] for probe in probes]


@contextmanager
def feed_stage(
    runtime: Runtime | None = None, secrets: Probe[Any] | None = None
) -> Iterator[FeedStage]:
    memory = FeedMemory()
    probes: dict[str, Probe[Any]] = {
        "pods": Probe(),
        "secrets": secrets or Probe(),
        "config maps": Probe(),
        "statuses": Probe(),
        "file": Probe(),
        "probes": Probe(),
    }

    def make_feed(play: Stage) -> EventFeed:
        me: Port[Any] = play.port(EVENT_FEED)
        pods, secrets, config_maps, statuses, file, prober = probes.values()
        ports = FeedPorts(
            pod_manager=pods,
            managers={ObjectKind.SECRET: secrets, ObjectKind.CONFIG_MAP: config_maps},
            me=me,
            sources={FILE: file},
            statuses=statuses,
            probes=prober,
        )
        return EventFeed(ports, memory)

    with stage_of((EVENT_FEED, make_feed), runtime=runtime) as play:
        yield FeedStage(play, memory, probes)
