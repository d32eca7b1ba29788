"""What the endpoints show, asked of the actors anew for each request.

Nobody who does not answer keeps the others from being shown: that is an answer as well, ``Unanswered``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kernel import ActorDescription, ActorSystem, Port, TreeSummary, asking
from messages.event_feed import (
    AttachReader,
    DescribeFeed,
    EventChunk,
    EventFeedMessage,
    FeedDescribed,
    ReaderAttached,
)
from messages.objects import (
    DescribeObjects,
    ObjectKind,
    ObjectManagerMessage,
    ObjectsDescribed,
)
from messages.pod_manager import (
    DescribePod,
    DescribePods,
    PodDescribed,
    PodManagerMessage,
    PodsDescribed,
)
from messages.pods import JsonObject, SourceName
from messages.sources import DescribeSource, SourceDescribed
from messages.units import Seconds
from messages.watches import WatchesDescribed
from server.answers import Unanswered, or_unanswered
from server.cluster_state import ClusterPorts, ClusterState

A = TypeVar("A")

ANSWER_WITHIN = Seconds(2.0)
"""An actor that takes longer is not well: their handlers take milliseconds, and the longest wait
between two of its lives, before its supervisor gives up, is 1.7 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStreamTimeouts:
    """How long readers of events are waited for."""

    keep_alive: Seconds = Seconds(15.0)
    """After so long without events a reader is told that there are none, which finds those that are
    gone. Proxies take a connection for dead after half a minute at the least."""
    closing: Seconds = Seconds(5.0)
    """To read what is left when it is over. Who takes longer is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointBackend:
    """Whom the endpoints ask, and what they were told to show and to allow.

    No question takes longer than ``answer_within``, and none raises.
    """

    system: ActorSystem
    pod_manager: Port[PodManagerMessage]
    sources: Mapping[SourceName, Port[DescribeSource]]
    node_name: str
    configuration: JsonObject
    """What ``/configz`` answers."""
    chaos: bool
    """Actors may be crashed on request."""
    objects: Mapping[ObjectKind, Port[ObjectManagerMessage]]
    """Who manages the objects of each kind."""
    feed: Port[EventFeedMessage]
    """Who tells of events."""
    cluster: ClusterPorts | None = None
    """Who deals with the API server; None for a standalone agent."""
    answer_within: Seconds = ANSWER_WITHIN
    """How long an actor may take to answer. Whoever takes longer is shown as not answering."""
    timeouts: EventStreamTimeouts = field(default_factory=EventStreamTimeouts)

    async def tree(self) -> tuple[ActorDescription, ...] | Unanswered:
        """Return the actors, parents before their children."""
        return await or_unanswered("tree", asking.describe(self.system, self.answer_within))

    async def summary(self) -> TreeSummary | Unanswered:
        """Return the actors, those that come and go only counted."""
        return await or_unanswered("tree", asking.summarize(self.system, self.answer_within))

    async def pods(self) -> PodsDescribed | Unanswered:
        """Return all that PodManager knows."""
        return await self._of_pod_manager(
            asking.ask(
                self.system,
                self.pod_manager,
                lambda reply_to: DescribePods(reply_to=reply_to),
                self.answer_within,
            )
        )

    async def sign_of_life(self) -> PodDescribed | Unanswered:
        """Return the least that PodManager can answer."""
        return await self._of_pod_manager(
            asking.ask(
                self.system,
                self.pod_manager,
                lambda reply_to: DescribePod(reply_to=reply_to),
                self.answer_within,
            )
        )

    async def source(self, name: SourceName) -> SourceDescribed | Unanswered:
        """Return how a source is."""
        return await or_unanswered(
            name,
            asking.ask(
                self.system,
                self.sources[name],
                lambda reply_to: DescribeSource(reply_to=reply_to),
                self.answer_within,
            ),
        )

    async def all_sources(self) -> tuple[SourceDescribed | Unanswered, ...]:
        """Return how all sources are, asked side by side."""
        return tuple(await asyncio.gather(*(self.source(name) for name in self.sources)))

    async def cluster_state(self) -> ClusterState | None:
        """Return how the agent and its cluster get on; None for a standalone agent."""
        if self.cluster is None:
            return None
        return await self.cluster.state(self.system, self.answer_within)

    async def watches(self) -> WatchesDescribed | Unanswered | None:
        """Return how the watches at the API server are; None for a standalone agent."""
        if self.cluster is None:
            return None
        return await self.cluster.described_watches(self.system, self.answer_within)

    async def all_objects(self, *, in_detail: bool) -> tuple[ObjectsDescribed | Unanswered, ...]:
        """Return how the objects of all kinds are held, asked side by side."""
        kinds = (self._objects(kind, in_detail=in_detail) for kind in self.objects)
        return tuple(await asyncio.gather(*kinds))

    async def _objects(self, kind: ObjectKind, *, in_detail: bool) -> ObjectsDescribed | Unanswered:
        return await or_unanswered(
            f"the manager of {kind}s",
            asking.ask(
                self.system,
                self.objects[kind],
                lambda reply_to: DescribeObjects(reply_to=reply_to, in_detail=in_detail),
                self.answer_within,
            ),
        )

    async def feed_state(self) -> FeedDescribed | Unanswered:
        """Return how the event feed is."""
        return await or_unanswered(
            "event-feed",
            asking.ask(
                self.system,
                self.feed,
                lambda reply_to: DescribeFeed(reply_to=reply_to),
                self.answer_within,
            ),
        )

    async def attach(self, reader: Port[EventChunk]) -> ReaderAttached | Unanswered:
        """Have a reader told every event from here on."""
        return await or_unanswered(
            "event-feed",
            asking.ask(
                self.system,
                self.feed,
                lambda reply_to: AttachReader(reader=reader, reply_to=reply_to),
                self.answer_within,
            ),
        )

    async def crash(self, name: str) -> bool | Unanswered:
        """Make an actor fail; return False if there is none of that name."""
        return await or_unanswered("tree", asking.crash(self.system, name, self.answer_within))

    async def _of_pod_manager(self, answer: Awaitable[A]) -> A | Unanswered:
        return await or_unanswered("pod-manager", answer)
