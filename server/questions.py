"""What the endpoints ask actors, their answers or why there is none, and all that deals with the API server.

The row of an actor in ``agent/tree.py`` names the questions that it answers. So the server knows actors by
their messages alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from aiohttp import web

from kernel import (
    ActorCrashedError,
    ActorDeadError,
    ActorSystem,
    AskTimeoutError,
    Port,
    asking,
)
from messages.api import CallsDescribed, DescribeCalls
from messages.change_hooks import ChangeHooksDescribed, DescribeChangeHooks
from messages.container_logs import ContainerLogsDescribed, DescribeContainerLogs
from messages.container_runtime_health import (
    ContainerRuntimeDescribed,
    DescribeContainerRuntime,
    DescribeImages,
    ImagesDescribed,
)
from messages.event_feed import AttachReader, DescribeFeed, FeedDescribed, ReaderAttached
from messages.events import (
    DescribeEvents,
    DescribeEventsOfPods,
    DescribePastEvents,
    DescribePodEvents,
    EventsDescribed,
    EventsOfPods,
    PastEventsDescribed,
    PodEventsDescribed,
)
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pod_manager import DescribePod, DescribePods, PodDescribed, PodsDescribed
from messages.pod_runtime import DescribeRuntime, RuntimeDescribed
from messages.probing import AnswersDescribed, DescribeAnswers, DescribeProbes, ProbesDescribed
from messages.sources import DescribeMirrors, MirrorsDescribed
from messages.statuses import DescribeStatuses, StatusesDescribed
from messages.streams import DescribeStreams, StreamsDescribed
from messages.tokens import DescribeTokens, TokensDescribed
from messages.units import Seconds
from messages.volumes import DescribeVolumes, VolumesDescribed
from messages.watches import DescribeWatches, WatchesDescribed

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


A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True)  # one with slots cannot be called as Question[A](...)
class Question(Generic[A_co]):
    """A question to one actor. Its answers are None where the agent has no actor that answers it."""

    actor: str
    """What people are told did not answer."""
    message: Callable[..., object]
    """What is told to the actor: made with ``reply_to``, and with details."""


PODS: Final = Question[PodsDescribed]("pod-manager", DescribePods)
POD: Final = Question[PodDescribed]("pod-manager", DescribePod)
"""About the pod of one ``uid``. Without one it is the cheapest question: is there any answer?"""
PAST_EVENTS: Final = Question[PastEventsDescribed]("event-recorder", DescribePastEvents)
POD_EVENTS: Final = Question[PodEventsDescribed]("event-recorder", DescribePodEvents)
EVENTS_OF_PODS: Final = Question[EventsOfPods]("event-recorder", DescribeEventsOfPods)
FEED: Final = Question[FeedDescribed]("event-feed", DescribeFeed)
ATTACH: Final = Question[ReaderAttached]("event-feed", AttachReader)
"""Subscribes a reader to the present state, or what it missed since, and every event from here on."""
CALLS: Final = Question[CallsDescribed | None]("api-calls", DescribeCalls)
WATCHES: Final = Question[WatchesDescribed | None]("watches", DescribeWatches)
POSTED_EVENTS: Final = Question[EventsDescribed | None]("events", DescribeEvents)
MIRRORS: Final = Question[MirrorsDescribed | None]("mirror-keeper", DescribeMirrors)
RUNTIME: Final = Question[RuntimeDescribed | None]("runtime", DescribeRuntime)
CONTAINER_RUNTIME: Final = Question[ContainerRuntimeDescribed | None](
    "runtime/containers", DescribeContainerRuntime
)
"""About what is outside of the agent: hollow containers are not."""
IMAGES: Final = Question[ImagesDescribed | None]("images", DescribeImages)
LOGS: Final = Question[ContainerLogsDescribed | None]("runtime/logs", DescribeContainerLogs)
STATUSES: Final = Question[StatusesDescribed | None]("status-keeper", DescribeStatuses)
LIVES: Final = Question[PodLivesDescribed | None]("pod-keeper", DescribePodLives)
CHANGE_HOOKS: Final = Question[ChangeHooksDescribed | None]("rollouts", DescribeChangeHooks)
TOKENS: Final = Question[TokensDescribed | None]("tokens", DescribeTokens)
VOLUMES: Final = Question[VolumesDescribed | None]("volume-keeper", DescribeVolumes)
PROBES: Final = Question[ProbesDescribed | None]("probe-keeper", DescribeProbes)
PROBE_ANSWERS: Final = Question[AnswersDescribed | None]("probe-loop", DescribeAnswers)
STREAMS: Final = Question[StreamsDescribed | None]("node-server", DescribeStreams)
