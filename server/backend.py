"""What the endpoints show: the state of the actors, asked for each request.

An actor that does not answer does not keep the others from being shown: its answer is ``Unanswered``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from kernel import ActorDescription, ActorSystem, Port, TreeSummary, asking
from messages.objects import (
    DescribeObjects,
    ObjectId,
    ObjectKind,
    ObjectManagerMessage,
    ObjectsDescribed,
)
from messages.pods import JsonObject, SourceName
from messages.releases import ReleaseState
from messages.sources import DescribeSource, SourceDescribed
from messages.units import Seconds
from server import questions
from server.limits import ConnectionLimits
from server.questions import ClusterState, Question, Unanswered, ask, or_unanswered

A = TypeVar("A")

ANSWER_WITHIN = Seconds(1.8)
"""An actor that takes longer is not well. Handlers take milliseconds, and the longest wait between two lives
of an actor, before its supervisor gives up, is 1.7 s. The command waits for an answer for 2 s: so it is told
which actor is not well, instead of nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStreamTimeouts:
    """The timeouts of readers of events."""

    keep_alive: Seconds = Seconds(15.0)
    """After so long without events a reader is sent a comment, which also detects readers that are gone.
    Proxies take a connection for dead after half a minute or more."""
    closing: Seconds = Seconds(5.0)
    """How long a reader may take for the rest when its stream ends. Then the connection is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointBackend:
    """The actors that the endpoints ask, and the settings that they show or obey.

    No method takes longer than ``answer_within``, and none raises if an actor does not answer.
    """

    system: ActorSystem
    answering: Mapping[Question[Any], Port[Any]]
    """Who answers each question. One that no actor of the agent answers is missing."""
    sources: Mapping[SourceName, Port[DescribeSource]]
    objects: Mapping[ObjectKind, Port[ObjectManagerMessage]]
    """The managers of Secrets and of ConfigMaps."""
    node_name: str
    configuration: JsonObject
    """The answer of ``/configz``."""
    chaos: bool
    """Whether actors may be crashed on request."""
    releases: Callable[[], ReleaseState]
    """Tells which release runs, and which one is installed."""
    runtime_kind: str = ""
    """Which kind of runtime runs the pods: ``cri``, ``hollow`` or ``provider``."""
    answer_within: Seconds = ANSWER_WITHIN
    """How long an actor may take to answer. After that it is shown as not answering."""
    timeouts: EventStreamTimeouts = field(default_factory=EventStreamTimeouts)
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    """How many connections the ports may have."""
    hosts: Collection[str] = ()
    """Names and addresses of this machine beside those of loopback, for which requests are answered."""

    async def ask(self, question: Question[A], **details: object) -> A | Unanswered:
        """Return the answer to a question with these details."""
        port = self.answering.get(question)
        if port is None:
            return cast(A, None)  # which is among the answers of such a question

        def asked(reply_to: Port[A]) -> object:
            return question.message(reply_to=reply_to, **details)

        return await ask(question.actor, self.system, port, asked, self.answer_within)

    async def tree(self) -> tuple[ActorDescription, ...] | Unanswered:
        """Return the actors, parents before their children."""
        return await or_unanswered("tree", asking.describe(self.system, self.answer_within))

    async def summary(self) -> TreeSummary | Unanswered:
        """Return the actors. Dynamic ones are only counted."""
        return await or_unanswered("tree", asking.summarize(self.system, self.answer_within))

    async def crash(self, name: str) -> bool | Unanswered:
        """Crash an actor. Return False if there is none of that name."""
        return await or_unanswered("tree", asking.crash(self.system, name, self.answer_within))

    async def source(self, name: SourceName) -> SourceDescribed | Unanswered:
        """Return the state of a source."""

        def asked(reply_to: Port[SourceDescribed]) -> DescribeSource:
            return DescribeSource(reply_to=reply_to)

        return await ask(name, self.system, self.sources[name], asked, self.answer_within)

    async def all_sources(self) -> tuple[SourceDescribed | Unanswered, ...]:
        """Return the state of all sources, asked at the same time."""
        return tuple(await asyncio.gather(*(self.source(name) for name in self.sources)))

    async def cluster_state(self) -> ClusterState | None:
        """Return the state of calls, failing watches, mirrors and events; None for a standalone agent."""
        calls, watches, mirrors, events = await asyncio.gather(
            self.ask(questions.CALLS),
            self.ask(questions.WATCHES, in_detail=False),
            self.ask(questions.MIRRORS),
            self.ask(questions.POSTED_EVENTS),
        )
        if calls is None or watches is None or mirrors is None or events is None:
            return None
        return ClusterState(calls=calls, watches=watches, mirrors=mirrors, events=events)

    async def all_objects(
        self, *, in_detail: bool, only: frozenset[ObjectId] | None = None
    ) -> tuple[ObjectsDescribed | Unanswered, ...]:
        """Return the state of the objects of all kinds: of each of them, or of ``only`` some, in detail."""
        kinds = (self._objects(kind, only, in_detail=in_detail) for kind in self.objects)
        return tuple(await asyncio.gather(*kinds))

    async def _objects(
        self, kind: ObjectKind, only: frozenset[ObjectId] | None, *, in_detail: bool
    ) -> ObjectsDescribed | Unanswered:
        def asked(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
            return DescribeObjects(reply_to=reply_to, in_detail=in_detail, only=only)

        name, port = f"the manager of {kind}s", self.objects[kind]
        return await ask(name, self.system, port, asked, self.answer_within)
