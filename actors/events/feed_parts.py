"""Whom EventFeed talks to, what outlives it, and what it tells itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, TypeAlias

from kernel import Key, Port
from messages.event_feed import ActorIs, EventFeedMessage, FeedTelling
from messages.events import FollowPosts, UnfollowPosts
from messages.objects import (
    DescribeObjects,
    FollowObjects,
    ObjectKind,
    UnfollowObjects,
)
from messages.pod_manager import DescribePods, Subscribe, Unsubscribe
from messages.pods import PodUid, SourceName
from messages.probing import DescribeProbes
from messages.sources import DescribeSource, ManifestVerdict
from messages.statuses import DescribeStatuses, FollowStatuses, UnfollowStatuses
from messages.units import Seconds
from messages.volumes import VolumeTroublesAre
from stores.pods.comparison import SeenPods

MOST_EVENTS: Final = 20_000
"""Two for each pod of a large node."""
MOST_BYTES: Final = 8 * 2**20
"""Events of pods with many containers are long."""


class StatePart(NamedTuple):
    """Something that somebody is asked for, to tell the present state: the pods, one source, one kind."""

    about: str
    which: str = ""


class KeptEvent(NamedTuple):
    """One event as it was told."""

    number: int
    part: StatePart | None
    """Which part of the present state says the same and more; None if none does."""
    text: bytes


class EventRing:
    """The last events. Each has a number, and an id with it for those who read.

    An id names the time since which events are numbered as well. So an id of another process, or of a time
    before nobody followed, is not taken for one of now.
    """

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._events: deque[KeptEvent] = deque()
        self._bytes = 0
        self._epoch = ""
        self.newest = 0
        """The number of the last event that there was."""

    def begin(self, epoch: str) -> None:
        """Forget all events, and number others from here on."""
        self._events.clear()
        self._bytes, self.newest, self._epoch = 0, 0, epoch

    def add(self, part: StatePart | None, text: bytes) -> bytes:
        """Keep an event, and return it with its id."""
        self.newest += 1
        told = with_id(text, self.id_of(self.newest))
        self._events.append(KeptEvent(self.newest, part, told))
        self._bytes += len(told)
        while len(self._events) > self._most_events or self._bytes > self._most_bytes:
            self._bytes -= len(self._events.popleft().text)
        return told

    def id_of(self, number: int) -> str:
        """Return the id of an event."""
        return f"{self._epoch}-{number}"

    def after(self, number: int) -> Sequence[KeptEvent] | None:
        """Return the events after that of a number; None if some of them are forgotten."""
        missing = self.newest - number
        if missing > len(self._events):
            return None
        return [each for each in self._events if each.number > number]

    def since(self, event_id: str) -> Sequence[KeptEvent] | None:
        """Return the events after that of an id; None if some are forgotten, or it is no id of now."""
        epoch, _, digits = event_id.rpartition("-")
        # No more digits than a number has: they come from outside.
        if epoch != self._epoch or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            return None
        number = int(digits)
        return self.after(number) if number <= self.newest else None


def with_id(text: bytes, event_id: str) -> bytes:
    """Return one server-sent event with an id."""
    return b"%bid: %b\n\n" % (text[:-1], event_id.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedGoesOn:
    """To itself: more is to be told than was told in one turn."""


FeedMessage: TypeAlias = EventFeedMessage | FeedGoesOn

EVENT_FEED = Key[FeedMessage]("event-feed")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPorts:
    """The ports that EventFeed uses."""

    pod_manager: Port[Subscribe | Unsubscribe | DescribePods]
    managers: Mapping[ObjectKind, Port[FollowObjects | UnfollowObjects | DescribeObjects]]
    """The managers of Secrets and of ConfigMaps."""
    me: Port[FeedMessage]
    """Its own address, which outlives a crash: what it subscribes with."""
    sources: Mapping[SourceName, Port[DescribeSource]] = field(default_factory=dict)
    """Everything that has verdicts on manifests."""
    statuses: Port[FollowStatuses | UnfollowStatuses | DescribeStatuses] | None = None
    """The keeper of statuses; None where no pods are run."""
    recorder: Port[FollowPosts | UnfollowPosts] | None = None
    """Who hears all events that are posted."""
    probes: Port[DescribeProbes] | None = None
    """The keeper of probes; None where no pods are run."""

    def parts(self) -> frozenset[StatePart]:
        """Return the parts of the present state that others are asked for."""
        return frozenset(
            (
                PODS,
                *((STATUSES,) if self.statuses is not None else ()),
                *((PROBES,) if self.probes is not None else ()),
                *map(verdicts_part, self.sources),
                *map(objects_part, self.managers),
            )
        )


PODS = StatePart("pods")
STATUSES = StatePart("statuses")
PROBES = StatePart("probes")
ACTORS = StatePart("actors")
VOLUMES = StatePart("volumes")


def verdicts_part(source: SourceName) -> StatePart:
    """Return the part that a source is asked for."""
    return StatePart("verdicts", source)


def objects_part(kind: ObjectKind) -> StatePart:
    """Return the part that a manager of objects is asked for."""
    return StatePart("objects", kind.value)


@dataclass(slots=True)
class FeedReader:
    """How far a reader is."""

    wants_state: bool
    awaited: set[StatePart] = field(default_factory=set)
    """The parts of the present state that it has not been told yet."""
    fences: dict[StatePart, int] = field(default_factory=dict)
    """The number of the last event before each part: what such events said is in the part."""
    began_at: int = 0
    """The number of the last event before its present state was begun."""
    began: Seconds = Seconds(-inf)
    """When that was, by the monotonic clock."""
    is_live: bool = True
    """It is told what happens, as it happens."""


@dataclass(slots=True)
class FeedMemory:
    """What outlives a life of EventFeed."""

    readers: dict[Port[FeedTelling], FeedReader] = field(default_factory=dict)
    dropped: int = 0
    """How many readers did not keep up."""
    is_following: bool = False
    """It may be subscribed somewhere."""
    told_to_stop: Seconds = Seconds(-inf)
    """When it last unsubscribed, by the monotonic clock."""
    seen: SeenPods = field(default_factory=SeenPods)
    """The pods that readers were told of. So changes during a crash can be told afterwards."""
    ring: EventRing = field(default_factory=EventRing)
    epochs: int = 0
    """How often it began to number events."""
    verdicts: dict[SourceName, Mapping[str, ManifestVerdict]] = field(default_factory=dict)
    """What readers were told of the manifests of each source, by path."""
    actors: dict[str, ActorIs] = field(default_factory=dict)
    """Those that have failed and do not run again yet."""
    volumes: dict[PodUid, VolumeTroublesAre] = field(default_factory=dict)
    """What is wrong with volumes, for each pod where something is."""


class FeedSubscriptions:
    """Tells others that the feed follows them while somebody reads, and asks them for the present state."""

    def __init__(self, ports: FeedPorts, memory: FeedMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._asked: set[StatePart] = set()
        """Parts that somebody was asked for and has not told yet."""

    def follow(self) -> None:
        """Follow everybody, and learn what there is: it is no news."""
        ports = self._ports
        self._memory.is_following = True
        ports.pod_manager.tell(Subscribe(subscriber=ports.me))
        for manager in ports.managers.values():
            manager.tell(FollowObjects(subscriber=ports.me))
        if ports.statuses is not None:
            ports.statuses.tell(FollowStatuses(subscriber=ports.me))
        if ports.recorder is not None:
            ports.recorder.tell(FollowPosts(subscriber=ports.me))
        # The answer comes after the present listings, so it separates them from later ones.
        self.ask({PODS, *map(verdicts_part, ports.sources)})

    def unfollow(self) -> None:
        """Follow nobody."""
        ports = self._ports
        ports.pod_manager.tell(Unsubscribe(subscriber=ports.me))
        for manager in ports.managers.values():
            manager.tell(UnfollowObjects(subscriber=ports.me))
        if ports.statuses is not None:
            ports.statuses.tell(UnfollowStatuses(subscriber=ports.me))
        if ports.recorder is not None:
            ports.recorder.tell(UnfollowPosts(subscriber=ports.me))
        self._asked.clear()
        self._memory.is_following = False

    def ask(self, parts: AbstractSet[StatePart], *, again: bool = False) -> None:
        """Ask for parts of the present state.

        Who has been asked and has not answered is not asked ``again`` otherwise: its answer will be as new.
        """
        wanted = parts if again else parts - self._asked
        self._asked |= wanted
        ports = self._ports
        if PODS in wanted:
            ports.pod_manager.tell(DescribePods(reply_to=ports.me))
        if STATUSES in wanted and ports.statuses is not None:
            ports.statuses.tell(DescribeStatuses(reply_to=ports.me))
        if PROBES in wanted and ports.probes is not None:
            ports.probes.tell(DescribeProbes(reply_to=ports.me))
        for kind, manager in ports.managers.items():
            if objects_part(kind) in wanted:
                manager.tell(DescribeObjects(reply_to=ports.me))
        for name, source in ports.sources.items():
            if verdicts_part(name) in wanted:
                source.tell(DescribeSource(reply_to=ports.me))

    def note_answer(self, part: StatePart) -> None:
        """Note that a part was told."""
        self._asked.discard(part)


def names_of(parts: Sequence[StatePart] | set[StatePart]) -> list[str]:
    """Return the names of parts for people."""
    return sorted("/".join(filter(None, each)) for each in parts)
