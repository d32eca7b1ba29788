"""Endpoints over loopback sockets, in this process: of a whole agent, or of a tree made for one test."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from actors.events.feed import EventFeed
from actors.events.feed_parts import EVENT_FEED, FeedMemory, FeedPorts
from actors.pod_manager import POD_MANAGER
from agent.app import Agent
from kernel import (
    ActorDescription,
    ActorSystem,
    ChildSpec,
    Key,
    PooledActor,
    Port,
    SupervisorSpec,
)
from messages.api import CallsDescribed, DescribeCalls
from messages.events import DescribeEvents, EventsDescribed
from messages.objects import DescribeObjects, ObjectsDescribed
from messages.pod_manager import (
    DescribePod,
    DescribePods,
    PodDescribed,
    PodManagerMessage,
    PodsDescribed,
)
from messages.pods import JsonObject, SourceName
from messages.sources import DescribeMirrors, MirrorsDescribed
from messages.units import Seconds
from messages.watches import DescribeWatches, WatchesDescribed
from server import questions
from server.actor import HTTP_SERVER, HttpServer, Listeners
from server.backend import EndpointBackend, EventStreamTimeouts
from server.questions import Question
from settings.agent import Settings
from settings.command_line import parse
from settings.load import settings_of
from settings.version import Releases
from tests.support.patience import PATIENCE
from tests.support.wire.client import Answer, NotYet, fetch

AMPLE = Seconds(PATIENCE)
"""An actor that is not stuck answers within this time, even if it is restarted."""
SOON = Seconds(0.25)
"""For tests with a stuck actor: each question to it takes this long."""

NO_PODS = PodsDescribed(
    pods=(),
    mirrors=(),
    static_to_mirror={},
    shadowed={},
    listed=frozenset(),
    static_pods=0,
    regular_pods=0,
    ephemeral_containers=0,
)

QUIET_CLUSTER: Mapping[type, object] = {
    DescribeCalls: CallsDescribed(
        server="", user="", troubles=(), requests={}, waiting=0, in_flight=0
    ),
    DescribeMirrors: MirrorsDescribed(wanted=0, present=0, troubles={}, create_errors={}),
    DescribeEvents: EventsDescribed(posted=0, dropped={}),
}

OF_CLUSTER = (
    questions.CALLS,
    questions.WATCHES,
    questions.MIRRORS,
    questions.POSTED_EVENTS,
)


def _nothing(_message: object) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIns:
    """What ``served_tree`` puts in place of the other actors, and its timeouts."""

    objects: tuple[ObjectsDescribed, ...] = ()
    """What the manager of each kind answers."""
    before: Callable[[Any], None] = _nothing
    """What they, and the actors that deal with the API server, do before they answer."""
    watches: WatchesDescribed | None = None
    """What the keeper of watches answers. None for an agent without a cluster."""
    pods: PodsDescribed | None = None
    """What PodManager answers: no pods unless given."""
    running: Mapping[type, object] | None = None
    """What those who run pods answer, by the question. None for an agent that runs none."""
    timeouts: EventStreamTimeouts = field(default_factory=EventStreamTimeouts)
    """For readers of events."""
    answer_within: Seconds = AMPLE
    """How long each actor is waited for."""


ALONE = StandIns()
IMPATIENT = StandIns(answer_within=SOON)


def settings_for(*flags: str) -> Settings:
    """Return the settings of ``flags`` on a machine called ``node1``. Hollow unless they say otherwise."""
    return settings_of(parse(["--runtime=hollow", *flags]), [], hostname="node1")


class Served:
    """A system that serves its endpoints."""

    def __init__(self, system: ActorSystem, listeners: Listeners) -> None:
        self.system = system
        self.port: int = listeners.read_only[0].getsockname()[1]
        self.health_port: int = listeners.healthz[0].getsockname()[1]

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Return what the read-only port answers."""
        return fetch(self.port, path, method, **headers)

    def get_health(self, path: str) -> Answer:
        """Return what the healthz port answers."""
        return fetch(self.health_port, path)

    def actor(self, name: str) -> ActorDescription:
        """Return how one actor is, from inside; raises ``NotYet`` when there is none of that name."""
        for actor in self.system.describe():
            if actor.name == name:
                return actor
        raise NotYet(f"there is no {name}")


@contextmanager
def served_agent(manifests: Path, *flags: str) -> Iterator[Served]:
    """Run an agent on a directory of manifests."""
    settings = settings_for(f"--pod-manifest-path={manifests}", *flags)
    with _listeners() as listeners:
        yield from _run(Agent(settings, listeners).system, listeners)


@contextmanager
def served_tree(
    *children: ChildSpec[Any] | SupervisorSpec,
    sources: tuple[SourceName, ...] = (),
    pod_manager: Callable[[PodManagerMessage], None] | None = None,
    configuration: JsonObject | None = None,
    stand_ins: StandIns = ALONE,
) -> Iterator[Served]:
    """Run a tree of ``children``, the event feed and the endpoints among stand-ins.

    ``pod_manager`` is what PodManager does before it answers. The sources are those of ``children``
    that have their names.
    """
    actors = _StandInActors(pod_manager or _nothing, stand_ins)
    keys = {child.name: child.key for child in children if isinstance(child, ChildSpec)}
    memory = FeedMemory()
    with _listeners() as listeners:

        def event_feed() -> EventFeed:
            return EventFeed(actors.feed_ports(system), memory)

        def http_server() -> HttpServer:
            backend = actors.backend(system, configuration or {})
            ports = {name: system.address(keys[name]) for name in sources}
            return HttpServer(replace(backend, sources=ports), listeners)

        root = SupervisorSpec(
            name="root",
            children=(
                *actors.specs(),
                *children,
                ChildSpec(key=EVENT_FEED, factory=event_feed),
                ChildSpec(key=HTTP_SERVER, factory=http_server),
            ),
        )
        system = ActorSystem(root)
        yield from _run(system, listeners)


class StandIn(PooledActor[Any]):
    """An actor that answers questions with what it was given."""

    def __init__(self, before: Callable[[Any], None], answers: Mapping[type, object]) -> None:
        self._before = before
        self._answers = answers

    @override
    def receive(self, message: Any, /) -> None:
        self._before(message)
        if type(message) in self._answers:
            message.reply_to.tell(self._answers[type(message)])


class _StandInActors:
    """All stand-ins, and their addresses."""

    def __init__(self, before: Callable[[PodManagerMessage], None], stand_ins: StandIns) -> None:
        self._before = before
        self._stand_ins = stand_ins
        self._managers = {each.kind: Key[Any](f"manager/{each.kind}") for each in stand_ins.objects}
        self._cluster = Key[Any]("cluster")
        self._running = Key[Any]("running")

    def specs(self) -> tuple[ChildSpec[Any], ...]:
        stand_ins = self._stand_ins
        pods = {DescribePods: stand_ins.pods or NO_PODS, DescribePod: PodDescribed()}
        return (
            _spec(POD_MANAGER, self._before, pods),
            *(
                _spec(self._managers[each.kind], stand_ins.before, {DescribeObjects: each})
                for each in stand_ins.objects
            ),
            _spec(
                self._cluster,
                stand_ins.before,
                {**QUIET_CLUSTER, DescribeWatches: stand_ins.watches},
            ),
            _spec(self._running, stand_ins.before, stand_ins.running or {}),
        )

    def feed_ports(self, system: ActorSystem) -> FeedPorts:
        pod_manager: Port[Any] = system.address(POD_MANAGER)
        me: Port[Any] = system.address(EVENT_FEED)
        managers = {kind: system.address(key) for kind, key in self._managers.items()}
        return FeedPorts(pod_manager=pod_manager, managers=managers, me=me)

    def backend(self, system: ActorSystem, configuration: JsonObject) -> EndpointBackend:
        running: Port[Any] = system.address(self._running)
        recorder = (questions.PAST_EVENTS, questions.POD_EVENTS, questions.EVENTS_OF_PODS)
        answering: dict[Question[Any], Port[Any]] = {
            **dict.fromkeys((questions.PODS, questions.POD), system.address(POD_MANAGER)),
            **dict.fromkeys((questions.FEED, questions.ATTACH), system.address(EVENT_FEED)),
            **dict.fromkeys(recorder, running),
        }
        if self._stand_ins.running is not None:
            asked = (questions.STATUSES, questions.LIVES, questions.RUNTIME)
            answering.update(dict.fromkeys(asked, running))
        if self._stand_ins.watches:
            answering.update(dict.fromkeys(OF_CLUSTER, system.address(self._cluster)))
        return EndpointBackend(
            system=system,
            answering=answering,
            sources={},
            objects={kind: system.address(key) for kind, key in self._managers.items()},
            node_name="node1",
            configuration=configuration,
            releases=Releases(),
            chaos=True,
            answer_within=self._stand_ins.answer_within,
            timeouts=self._stand_ins.timeouts,
        )


def _spec(
    key: Key[Any], before: Callable[[Any], None], answers: Mapping[type, object]
) -> ChildSpec[Any]:
    return ChildSpec(key=key, factory=lambda: StandIn(before, answers))


@contextmanager
def _listeners() -> Iterator[Listeners]:
    with (
        socket.create_server(("127.0.0.1", 0)) as read_only,
        socket.create_server(("127.0.0.1", 0)) as healthz,
    ):
        yield Listeners(read_only=(read_only,), healthz=(healthz,))


def _run(system: ActorSystem, listeners: Listeners) -> Iterator[Served]:
    system.start()
    try:
        assert system.wait_started(Seconds(PATIENCE))
        yield Served(system, listeners)
    finally:
        system.stop()
        system.wait(Seconds(PATIENCE))
