"""Endpoints over loopback sockets, in this process: of a whole agent, or of a tree made for a story."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from actors.app import Agent
from actors.http.server import HTTP_SERVER, HttpServer, Listeners
from actors.http.state import Surroundings
from actors.kernel import (
    ActorDescription,
    ActorSystem,
    ChildSpec,
    PooledActor,
    Port,
    SupervisorSpec,
)
from actors.messages.pod_manager import (
    DescribePod,
    DescribePods,
    PodDescribed,
    PodManagerMessage,
    PodsDescribed,
)
from actors.messages.pods import JsonObject, SourceName
from actors.messages.sources import SourceMessage
from actors.messages.units import Seconds
from actors.pod_manager import POD_MANAGER
from sources.command_line import parse
from sources.load_settings import settings_of
from sources.settings import Settings
from tests.support.http_client import PATIENCE, Answer, fetch

SOON = Seconds(0.25)
"""Within this the actors of ``served_tree`` answer, unless they are stuck."""

NO_PODS = PodsDescribed(
    pods=(),
    mirrors=(),
    orphaned_mirrors=(),
    mirror_to_static={},
    shadowed={},
    listed=frozenset(),
    static_pods=0,
    regular_pods=0,
    ephemeral_containers=0,
)


def settings_for(*flags: str) -> Settings:
    """Return the settings of ``flags`` on a machine called ``node1``."""
    return settings_of(parse(flags), [], hostname="node1")


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
        """Return how one actor is, from inside."""
        return next(actor for actor in self.system.describe() if actor.name == name)


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
) -> Iterator[Served]:
    """Run a tree of ``children``, a stand-in for PodManager and the endpoints.

    ``pod_manager`` is what PodManager does before it answers. The sources are those of ``children``
    that have their names.
    """
    with _listeners() as listeners:
        before = pod_manager or (lambda _message: None)
        keys = {child.name: child.key for child in children if isinstance(child, ChildSpec)}
        systems: list[ActorSystem] = []

        def http_server() -> HttpServer:
            (system,) = systems
            ports = {name: system.address(keys[name]) for name in sources}
            return HttpServer(_surroundings(system, ports, configuration or {}), listeners)

        root = SupervisorSpec(
            name="root",
            children=(
                ChildSpec(key=POD_MANAGER, factory=lambda: StandIn(before)),
                *children,
                ChildSpec(key=HTTP_SERVER, factory=http_server),
            ),
        )
        systems.append(ActorSystem(root))
        yield from _run(systems[0], listeners)


class StandIn(PooledActor[PodManagerMessage]):
    """A PodManager without pods."""

    def __init__(self, before: Callable[[PodManagerMessage], None]) -> None:
        self._before = before

    @override
    def receive(self, message: PodManagerMessage, /) -> None:
        self._before(message)
        if isinstance(message, DescribePods):
            message.reply_to.tell(NO_PODS)
        elif isinstance(message, DescribePod):
            message.reply_to.tell(PodDescribed(pod=None, mirror=None))


def _surroundings(
    system: ActorSystem,
    sources: dict[SourceName, Port[SourceMessage]],
    configuration: JsonObject,
) -> Surroundings:
    return Surroundings(
        system=system,
        pod_manager=system.address(POD_MANAGER),
        sources=sources,
        node_name="node1",
        configuration=configuration,
        chaos=True,
        answer_within=SOON,
    )


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
