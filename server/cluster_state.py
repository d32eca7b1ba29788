"""The state of everything that deals with the API server, asked of the actors for each request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from kernel import ActorSystem, Port
from messages.api import CallsDescribed, CallsMessage, DescribeCalls
from messages.events import DescribeEvents, EventsDescribed, EventsMessage
from messages.mirrors import DescribeMirrors, MirrorsDescribed
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed, WatchesMessage
from server.answers import Unanswered, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """The answers of the actors that deal with the API server."""

    calls: CallsDescribed | Unanswered
    watches: WatchesDescribed | Unanswered
    """Only the watches that fail."""
    mirrors: MirrorsDescribed | Unanswered
    events: EventsDescribed | Unanswered


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPorts:
    """The actors to ask. A standalone agent has none of them."""

    calls: Port[CallsMessage]
    watches: Port[WatchesMessage]
    mirrors: Port[DescribeMirrors]
    events: Port[EventsMessage]

    async def state(self, system: ActorSystem, within: Seconds) -> ClusterState:
        """Return the state. Actors that do not answer ``within`` that time appear as ``Unanswered``."""
        calls, watches, mirrors, events = await asyncio.gather(
            ask("api-calls", system, self.calls, _calls, within),
            ask("watches", system, self.watches, _failing_watches, within),
            ask("mirror-keeper", system, self.mirrors, _mirrors, within),
            ask("events", system, self.events, _events, within),
        )
        return ClusterState(calls=calls, watches=watches, mirrors=mirrors, events=events)

    async def described_watches(
        self, system: ActorSystem, within: Seconds
    ) -> WatchesDescribed | Unanswered:
        """Return the state of each watch."""
        return await ask("watches", system, self.watches, _watches, within)


def _calls(reply_to: Port[CallsDescribed]) -> DescribeCalls:
    return DescribeCalls(reply_to=reply_to)


def _watches(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
    return DescribeWatches(reply_to=reply_to)


def _failing_watches(reply_to: Port[WatchesDescribed]) -> DescribeWatches:
    return DescribeWatches(reply_to=reply_to, in_detail=False)


def _mirrors(reply_to: Port[MirrorsDescribed]) -> DescribeMirrors:
    return DescribeMirrors(reply_to=reply_to)


def _events(reply_to: Port[EventsDescribed]) -> DescribeEvents:
    return DescribeEvents(reply_to=reply_to)
