"""Answers of actors, or why there is none, and the state of all that deals with the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    ActorSystem,
    AskTimeoutError,
    Port,
    asking,
)
from messages.api import CallsDescribed, CallsMessage, DescribeCalls
from messages.events import DescribeEvents, EventsDescribed, EventsMessage
from messages.mirrors import DescribeMirrors, MirrorsDescribed
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed, WatchesMessage

A = TypeVar("A")
M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """An actor that was asked did not answer in time."""

    name: str
    reason: str


async def or_unanswered(name: str, answer: Awaitable[A]) -> A | Unanswered:
    """Return the answer of the actor called ``name``, or why there is none. Never raises for that."""
    try:
        return await answer
    except (AskTimeoutError, ActorDeadError, ActorCrashedError) as error:
        return Unanswered(name=name, reason=str(error))


async def ask(
    name: str,
    system: ActorSystem,
    port: Port[M],
    question: Callable[[Port[A]], M],
    within: Seconds,
) -> A | Unanswered:
    """Return the answer of the actor called ``name`` at ``port``, or why there is none in time."""
    return await or_unanswered(name, asking.ask(system, port, question, within))


def answered(answer: A | Unanswered) -> A:
    """Return an answer. Raises HTTPServiceUnavailable if there is none."""
    if isinstance(answer, Unanswered):
        raise web.HTTPServiceUnavailable(text=f"{answer.name}: {answer.reason}")
    return answer


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
