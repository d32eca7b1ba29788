"""EventFeed: tells the readers of ``/events`` what happens to pods and objects.

It formats each fact once and tells all readers the same bytes. It knows no sockets: a reader is a port
that takes what it is told and never makes the feed wait. Without readers it subscribes to nothing, since
objects that somebody follows have to be watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import assert_never

from typing_extensions import override

from actors.events.lines import object_event, pod_event, status_event
from kernel import Key, PooledActor, Port
from messages.changes import PodChange
from messages.event_feed import (
    AttachReader,
    DescribeFeed,
    DetachReader,
    EventChunk,
    EventFeedMessage,
    FeedDescribed,
    ReaderAttached,
    comment,
)
from messages.objects import (
    ChangeDecided,
    FollowObjects,
    ObjectChanged,
    ObjectFact,
    UnfollowObjects,
)
from messages.pod_manager import (
    DescribePods,
    PodFact,
    PodsAre,
    PodsChanged,
    PodsDescribed,
    Subscribe,
    Unsubscribe,
)
from messages.statuses import FollowStatuses, PodStatusChanged, UnfollowStatuses
from messages.units import Seconds
from stores.pods.seen_pods import SeenPods

RESTARTED = comment("the event feed was restarted: a change of an object may be missing here")

UNDER_WAY = Seconds(30.0)
"""How long facts may still arrive after the feed unsubscribed. After that it unsubscribes again."""


EVENT_FEED = Key[EventFeedMessage]("event-feed")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPorts:
    """The ports that EventFeed uses."""

    pod_manager: Port[Subscribe | Unsubscribe | DescribePods]
    managers: Sequence[Port[FollowObjects | UnfollowObjects]]
    """The managers of Secrets and of ConfigMaps."""
    me: Port[PodFact | PodsDescribed | ObjectFact | PodStatusChanged]
    """Its own address, which outlives a crash: what it subscribes with."""
    statuses: Port[FollowStatuses | UnfollowStatuses] | None = None
    """The keeper of statuses; None where no pods are run."""


@dataclass(slots=True)
class FeedMemory:
    """What outlives a life of EventFeed."""

    readers: dict[Port[EventChunk], None] = field(default_factory=dict)
    dropped: int = 0
    """How many readers did not keep up."""
    is_following: bool = False
    """It may be subscribed somewhere."""
    told_to_stop: Seconds = Seconds(-inf)
    """When it last unsubscribed, by the monotonic clock."""
    seen: SeenPods = field(default_factory=SeenPods)
    """The pods that readers were told of. So changes during a crash can be told afterwards."""


class EventFeed(PooledActor[EventFeedMessage]):
    """Tells every reader what happens to pods and objects.

    Owns: the readers, and what they have been told of pods.
    Hears: ``AttachReader``, ``DetachReader``, ``DescribeFeed``, ``PodFact``, ``PodsDescribed``,
    ``ObjectFact``, ``PodStatusChanged``.
    Tells: readers ``EventChunk``. With the first reader and after the last: PodManager ``Subscribe``,
    ``DescribePods`` and ``Unsubscribe``, the managers of objects ``FollowObjects`` and ``UnfollowObjects``,
    the keeper of statuses ``FollowStatuses`` and ``UnfollowStatuses``.
    Fails when: it has a bug. Readers stay attached; they are told that it was restarted.

    Order: the facts of one manager stay in their order. The pods that exist when the first reader comes
    are no events, if their source had listed by then. Pods of later first listings are events, and so are
    changes while PodManager or the feed was down. A change of an object or of a status
    that the feed crashed on is lost.
    Facts that arrive while there are no readers are dropped.
    """

    def __init__(self, ports: FeedPorts, memory: FeedMemory) -> None:
        self._ports = ports
        self._memory = memory

    @override
    def started(self) -> None:
        if self._memory.readers:
            self._follow()
            self._tell(RESTARTED)
        elif self._memory.is_following:
            self._unfollow()

    @override
    def receive(self, message: EventFeedMessage, /) -> None:
        match message:
            case AttachReader(reader=reader, reply_to=reply_to):
                self._attach(reader)
                reply_to.tell(ReaderAttached())
            case DetachReader():
                self._detach(message)
            case DescribeFeed(reply_to=reply_to):
                memory = self._memory
                reply_to.tell(FeedDescribed(readers=len(memory.readers), dropped=memory.dropped))
            case PodsDescribed(listed=listed):
                if self._memory.readers:
                    self._memory.seen.note_all(listed)
            case PodsAre() | PodsChanged() | ObjectChanged() | ChangeDecided() | PodStatusChanged():
                self._take(message)
            case _:
                assert_never(message)

    def _attach(self, reader: Port[EventChunk]) -> None:
        is_first = not self._memory.readers
        self._memory.readers[reader] = None
        if is_first:
            self._follow()

    def _detach(self, message: DetachReader) -> None:
        memory = self._memory
        if message.reader not in memory.readers:
            return
        del memory.readers[message.reader]
        memory.dropped += message.was_slow
        if not memory.readers:
            memory.seen.forget()
            self._unfollow()

    def _take(self, fact: PodFact | ObjectFact | PodStatusChanged) -> None:
        if not self._memory.readers:
            self._note_stray()
            return
        match fact:
            case PodsAre(source=source, pods=pods):
                self._tell_pods(self._memory.seen.replace(source, pods))
            case PodsChanged(changes=changes):
                self._tell_pods(self._memory.seen.apply(changes))
            case PodStatusChanged():
                self._tell(status_event(fact))
            case _:
                self._tell(object_event(fact))

    def _tell_pods(self, changes: Sequence[PodChange]) -> None:
        if changes:
            self._tell(b"".join(map(pod_event, changes)))

    def _tell(self, text: bytes) -> None:
        told = EventChunk(text=text)
        for reader in self._memory.readers:
            reader.tell(told)

    def _note_stray(self) -> None:
        """Drop a fact that nobody reads. Unsubscribe again if it comes late: the first time may be lost."""
        if self.clock.monotonic() >= self._memory.told_to_stop + UNDER_WAY:
            self._unfollow()

    def _follow(self) -> None:
        ports = self._ports
        self._memory.is_following = True
        ports.pod_manager.tell(Subscribe(subscriber=ports.me))
        # The answer comes after the present listings, so it separates them from later ones.
        ports.pod_manager.tell(DescribePods(reply_to=ports.me))
        for manager in ports.managers:
            manager.tell(FollowObjects(subscriber=ports.me))
        if ports.statuses is not None:
            ports.statuses.tell(FollowStatuses(subscriber=ports.me))

    def _unfollow(self) -> None:
        ports = self._ports
        ports.pod_manager.tell(Unsubscribe(subscriber=ports.me))
        for manager in ports.managers:
            manager.tell(UnfollowObjects(subscriber=ports.me))
        if ports.statuses is not None:
            ports.statuses.tell(UnfollowStatuses(subscriber=ports.me))
        self._memory.told_to_stop = self.clock.monotonic()
        self._memory.is_following = False
