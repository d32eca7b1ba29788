"""What the endpoints show: the state of the actors, asked for each request.

An actor that does not answer does not keep the others from being shown: its answer is ``Unanswered``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kernel import ActorDescription, ActorSystem, Port, TreeSummary, asking
from messages.change_hooks import ChangeHooksDescribed, DescribeChangeHooks
from messages.container_logs import ContainerLogsDescribed, DescribeContainerLogs
from messages.container_runtime_health import (
    ContainerRuntimeDescribed,
    DescribeContainerRuntime,
)
from messages.event_feed import (
    AttachReader,
    DescribeFeed,
    EventFeedMessage,
    FeedDescribed,
    FeedTelling,
    ReaderAttached,
)
from messages.events import (
    DescribeEventsOfPods,
    DescribePastEvents,
    DescribePodEvents,
    EventsOfPods,
    PastEventsDescribed,
    PodEventsDescribed,
)
from messages.images import DescribeImages, ImagesDescribed
from messages.objects import (
    DescribeObjects,
    ObjectId,
    ObjectKind,
    ObjectManagerMessage,
    ObjectsDescribed,
)
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pod_manager import (
    DescribePod,
    DescribePods,
    PodDescribed,
    PodManagerMessage,
    PodsDescribed,
)
from messages.pod_runtime import DescribeRuntime, RuntimeDescribed
from messages.pods import JsonObject, PodUid, SourceName
from messages.probing import (
    AnswersDescribed,
    DescribeAnswers,
    DescribeProbes,
    ProbesDescribed,
)
from messages.releases import ReleaseState
from messages.sources import DescribeSource, SourceDescribed
from messages.statuses import DescribeStatuses, StatusesDescribed
from messages.tokens import DescribeTokens, TokensDescribed
from messages.units import Seconds
from messages.volume_state import DescribeVolumes, VolumesDescribed
from messages.watches import WatchesDescribed
from server.answers import ClusterPorts, ClusterState, Unanswered, ask, or_unanswered
from server.limits import ConnectionLimits

A = TypeVar("A")
M = TypeVar("M")

ANSWER_WITHIN = Seconds(1.8)
"""An actor that takes longer is not well. Handlers take milliseconds, and the longest wait between two lives
of an actor, before its supervisor gives up, is 1.7 s. The command waits for an answer for 2 s: so it is told
which actor is not well, instead of nothing."""


_RECORDER = "event-recorder"


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
    pod_manager: Port[PodManagerMessage]
    sources: Mapping[SourceName, Port[DescribeSource]]
    node_name: str
    configuration: JsonObject
    """The answer of ``/configz``."""
    chaos: bool
    """Whether actors may be crashed on request."""
    releases: Callable[[], ReleaseState]
    """Tells which release runs, and which one is installed."""
    objects: Mapping[ObjectKind, Port[ObjectManagerMessage]]
    """The managers of Secrets and of ConfigMaps."""
    feed: Port[EventFeedMessage]
    """The event feed."""
    recorder: Port[DescribePodEvents | DescribeEventsOfPods | DescribePastEvents]
    """Who remembers what happened to each pod, and on the node."""
    statuses: Port[DescribeStatuses] | None = None
    """The keeper of statuses. This port and the next two are None where no pods are run."""
    lives: Port[DescribePodLives] | None = None
    """The keeper of pods."""
    runtime: Port[DescribeRuntime] | None = None
    """What runs the pods."""
    runtime_kind: str = ""
    """Which kind of runtime that is: ``cri``, ``hollow`` or ``provider``."""
    containers: Port[DescribeContainerRuntime] | None = None
    """Who speaks with a container runtime; None where there is none outside of the agent."""
    images: Port[DescribeImages] | None = None
    """Who keeps their images; None where nobody does."""
    logs: Port[DescribeContainerLogs] | None = None
    """The keeper of the logs of containers; None where they are not on disk."""
    volumes: Port[DescribeVolumes] | None = None
    """Who makes the volumes of pods; None where nobody does."""
    tokens: Port[DescribeTokens] | None = None
    """Who keeps tokens of service accounts; None where nobody shows them."""
    rollouts: Port[DescribeChangeHooks] | None = None
    """Who counts what change hooks did; None where no pods are run."""
    probes: Port[DescribeProbes] | None = None
    """Who knows which probes there are. This port and the next one are None where no pods are run."""
    answers: Port[DescribeAnswers] | None = None
    """Who knows what probes answered."""
    cluster: ClusterPorts | None = None
    """The actors that deal with the API server; None for a standalone agent."""
    answer_within: Seconds = ANSWER_WITHIN
    """How long an actor may take to answer. After that it is shown as not answering."""
    timeouts: EventStreamTimeouts = field(default_factory=EventStreamTimeouts)
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    """How many connections the ports may have."""
    hosts: Collection[str] = ()
    """Names and addresses of this machine beside those of loopback, for which requests are answered."""

    async def tree(self) -> tuple[ActorDescription, ...] | Unanswered:
        """Return the actors, parents before their children."""
        return await or_unanswered("tree", asking.describe(self.system, self.answer_within))

    async def summary(self) -> TreeSummary | Unanswered:
        """Return the actors. Dynamic ones are only counted."""
        return await or_unanswered("tree", asking.summarize(self.system, self.answer_within))

    async def pods(self) -> PodsDescribed | Unanswered:
        """Return everything that PodManager knows."""
        return await self._ask(
            "pod-manager", self.pod_manager, lambda reply_to: DescribePods(reply_to=reply_to)
        )

    async def sign_of_life(self) -> PodDescribed | Unanswered:
        """Ask PodManager the cheapest question, to see whether it answers."""
        return await self._ask(
            "pod-manager", self.pod_manager, lambda reply_to: DescribePod(reply_to=reply_to)
        )

    async def source(self, name: SourceName) -> SourceDescribed | Unanswered:
        """Return the state of a source."""
        return await self._ask(
            name, self.sources[name], lambda reply_to: DescribeSource(reply_to=reply_to)
        )

    async def pod_statuses(self) -> StatusesDescribed | Unanswered | None:
        """Return the statuses of all pods; None where no pods are run."""
        if self.statuses is None:
            return None
        return await self._ask(
            "status-keeper", self.statuses, lambda reply_to: DescribeStatuses(reply_to=reply_to)
        )

    async def pod_lives(self) -> PodLivesDescribed | Unanswered | None:
        """Return where each pod is in its life; None where no pods are run."""
        if self.lives is None:
            return None
        return await self._ask(
            "pod-keeper", self.lives, lambda reply_to: DescribePodLives(reply_to=reply_to)
        )

    async def runtime_state(self) -> RuntimeDescribed | Unanswered | None:
        """Return how the runtime is; None where no pods are run."""
        if self.runtime is None:
            return None
        return await self._ask(
            "runtime", self.runtime, lambda reply_to: DescribeRuntime(reply_to=reply_to)
        )

    async def container_runtime(self) -> ContainerRuntimeDescribed | Unanswered | None:
        """Return how the container runtime is; None where there is none outside of the agent."""
        if self.containers is None:
            return None
        return await self._ask(
            "runtime/containers",
            self.containers,
            lambda reply_to: DescribeContainerRuntime(reply_to=reply_to),
        )

    async def image_state(self) -> ImagesDescribed | Unanswered | None:
        """Return how images are pulled and removed; None where nobody does that."""
        if self.images is None:
            return None
        return await self._ask(
            "images", self.images, lambda reply_to: DescribeImages(reply_to=reply_to)
        )

    async def container_logs(self) -> ContainerLogsDescribed | Unanswered | None:
        """Return how much room the logs of containers take; None where they are not on disk."""
        if self.logs is None:
            return None
        return await self._ask(
            "runtime/logs", self.logs, lambda reply_to: DescribeContainerLogs(reply_to=reply_to)
        )

    async def volume_state(self, *, in_detail: bool) -> VolumesDescribed | Unanswered | None:
        """Return how volumes are, and each of them ``in_detail``; None where nobody makes any."""
        if self.volumes is None:
            return None
        return await self._ask(
            "volume-keeper",
            self.volumes,
            lambda reply_to: DescribeVolumes(reply_to=reply_to, in_detail=in_detail),
        )

    async def token_state(self) -> TokensDescribed | Unanswered | None:
        """Return how it is with tokens of service accounts; None where nobody shows them."""
        if self.tokens is None:
            return None
        return await self._ask(
            "tokens", self.tokens, lambda reply_to: DescribeTokens(reply_to=reply_to)
        )

    async def change_hooks(self) -> ChangeHooksDescribed | Unanswered | None:
        """Return what came of change hooks; None where no pods are run."""
        if self.rollouts is None:
            return None
        return await self._ask(
            "rollouts", self.rollouts, lambda reply_to: DescribeChangeHooks(reply_to=reply_to)
        )

    async def probes_wanted(self) -> ProbesDescribed | Unanswered | None:
        """Return which probes there are; None where no pods are run."""
        if self.probes is None:
            return None
        return await self._ask(
            "probe-keeper", self.probes, lambda reply_to: DescribeProbes(reply_to=reply_to)
        )

    async def probe_answers(self) -> AnswersDescribed | Unanswered | None:
        """Return what probes answered; None where no pods are run."""
        if self.answers is None:
            return None
        return await self._ask(
            "probe-loop", self.answers, lambda reply_to: DescribeAnswers(reply_to=reply_to)
        )

    async def all_sources(self) -> tuple[SourceDescribed | Unanswered, ...]:
        """Return the state of all sources, asked at the same time."""
        return tuple(await asyncio.gather(*(self.source(name) for name in self.sources)))

    async def cluster_state(self) -> ClusterState | None:
        """Return the state of calls, watches, mirrors and events; None for a standalone agent."""
        if self.cluster is None:
            return None
        return await self.cluster.state(self.system, self.answer_within)

    async def watches(self) -> WatchesDescribed | Unanswered | None:
        """Return the state of each watch at the API server; None for a standalone agent."""
        if self.cluster is None:
            return None
        return await self.cluster.described_watches(self.system, self.answer_within)

    async def all_objects(
        self, *, in_detail: bool, only: frozenset[ObjectId] | None = None
    ) -> tuple[ObjectsDescribed | Unanswered, ...]:
        """Return the state of the objects of all kinds: of each of them, or of ``only`` some, in detail."""
        kinds = (self._objects(kind, only, in_detail=in_detail) for kind in self.objects)
        return tuple(await asyncio.gather(*kinds))

    async def feed_state(self) -> FeedDescribed | Unanswered:
        """Return the state of the event feed."""
        return await self._ask(
            "event-feed", self.feed, lambda reply_to: DescribeFeed(reply_to=reply_to)
        )

    async def attach(
        self, reader: Port[FeedTelling], *, wants_state: bool, since: str
    ) -> ReaderAttached | Unanswered:
        """Subscribe a reader to the present state, or what it missed since, and every event from here on."""
        return await self._ask(
            "event-feed",
            self.feed,
            lambda reply_to: AttachReader(
                reader=reader, reply_to=reply_to, wants_state=wants_state, since=since
            ),
        )

    async def remembered_of(
        self, uid: PodUid, objects: frozenset[ObjectId]
    ) -> PodEventsDescribed | Unanswered:
        """Return what is remembered of a pod, and of these objects."""
        return await self._ask(
            _RECORDER,
            self.recorder,
            lambda reply_to: DescribePodEvents(uid=uid, objects=objects, reply_to=reply_to),
        )

    async def events_of(self, uids: Iterable[PodUid]) -> EventsOfPods | Unanswered:
        """Return what is remembered of the events of pods."""
        return await self._ask(
            _RECORDER,
            self.recorder,
            lambda reply_to: DescribeEventsOfPods(uids=tuple(uids), reply_to=reply_to),
        )

    async def past_events(self) -> PastEventsDescribed | Unanswered:
        """Return what is remembered of all that happened on the node."""
        return await self._ask(
            _RECORDER, self.recorder, lambda reply_to: DescribePastEvents(reply_to=reply_to)
        )

    async def pod(self, uid: PodUid) -> PodDescribed | Unanswered:
        """Return the pod of a UID, if there is one."""
        return await self._ask(
            "pod-manager",
            self.pod_manager,
            lambda reply_to: DescribePod(uid=uid, reply_to=reply_to),
        )

    async def crash(self, name: str) -> bool | Unanswered:
        """Crash an actor. Return False if there is none of that name."""
        return await or_unanswered("tree", asking.crash(self.system, name, self.answer_within))

    async def _objects(
        self, kind: ObjectKind, only: frozenset[ObjectId] | None, *, in_detail: bool
    ) -> ObjectsDescribed | Unanswered:
        return await self._ask(
            f"the manager of {kind}s",
            self.objects[kind],
            lambda reply_to: DescribeObjects(reply_to=reply_to, in_detail=in_detail, only=only),
        )

    async def _ask(
        self, name: str, port: Port[M], question: Callable[[Port[A]], M]
    ) -> A | Unanswered:
        return await ask(name, self.system, port, question, self.answer_within)
