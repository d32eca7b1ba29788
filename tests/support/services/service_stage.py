"""The keeper of Services on a stage, with probes in place of the actors that it talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from actors.cluster.service_keeper import (
    SERVICE_KEEPER,
    SERVICES,
    ServiceKeeper,
    ServiceKeeperMessage,
    ServiceMemory,
    ServicePorts,
)
from kernel import Level, Runtime, SupervisorSpec, isolated
from messages.api import ApiFailure, FailureKind, Retry
from messages.cluster import ClusterServices, ServicesIn
from messages.events import PostEvent
from messages.pods import JsonObject
from messages.watches import ObjectOp, ObjectsAre, Unwatch, Watch, WatchEvent, WatchFailed
from tests.support.kernel.followers import Followers
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage

FORBIDDEN = ApiFailure(
    kind=FailureKind.FORBIDDEN,
    retry=Retry.NEVER,
    sentence="cannot list services at https://127.0.0.1:6443 as n1: forbidden",
)
AWAY = ApiFailure(
    kind=FailureKind.UNREACHABLE, retry=Retry.AFTER_DELAY, sentence="connection refused"
)


Told: TypeAlias = ClusterServices | None


class ServiceStage:
    """The keeper at work, and what it told each of the others."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.watches: Probe[Watch | Unwatch] = Probe()
        self.events: Probe[PostEvent] = Probe()
        self.memory = ServiceMemory()
        self._followers = Followers()
        self.play = Stage(
            SupervisorSpec(
                name="root",
                children=(
                    isolated(SERVICE_KEEPER, self._make),
                    *self._followers.actors(),
                ),
            ),
            runtime,
        )
        self.level: Level[ServicesIn, Told] = Level()
        self.me = self.play.port(SERVICE_KEEPER)

    def _make(self) -> ServiceKeeper:
        ports = ServicePorts(
            watches=self.watches, events=self.events, me=self.me, services=self.level
        )
        return ServiceKeeper("n1", ports, self.memory)

    def hears(self, *messages: ServiceKeeperMessage) -> None:
        """Tell all of them before any is handled."""
        self.play.tell_all(SERVICE_KEEPER, *messages)

    def follow(self, namespace: str = "shop") -> Probe[Told]:
        """Return what a new follower of a namespace hears."""
        return self._followers.follow(self.play, self.level, ServicesIn(namespace))

    def unfollow(self, follower: Probe[Told], namespace: str = "shop") -> None:
        """Have a follower follow this namespace no more."""
        self._followers.leave(self.play, self.level, ServicesIn(namespace), follower)

    def lists(self, *services: JsonObject) -> None:
        """Have the watch list these Services."""
        self.hears(ObjectsAre(target=SERVICES, objects=services, resource_version="10"))

    def fails(self, failure: ApiFailure) -> None:
        """Have the watch fail."""
        self.hears(WatchFailed(target=SERVICES, failure=failure))

    def crashes(self) -> None:
        """Have the keeper crash, and begin its next life."""
        self.play.system.crash(SERVICE_KEEPER.path)
        self.play.advance(1.0)


@contextmanager
def service_stage(runtime: Runtime | None = None) -> Iterator[ServiceStage]:
    """Start the keeper. Nobody follows anything yet."""
    stage = ServiceStage(runtime)
    stage.play.start()
    try:
        yield stage
    finally:
        stage.play.stop()


def service(
    name: str, address: str | None = "10.0.0.1", namespace: str = "shop", **spec: Any
) -> JsonObject:
    """Return a Service as the API server tells it."""
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 8080}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"clusterIP": address, "ports": ports, "selector": {"app": name}, **spec},
        "status": {"loadBalancer": {}},
    }


def event(op: ObjectOp, document: JsonObject) -> WatchEvent:
    """Return what the watch tells of one Service."""
    return WatchEvent(target=SERVICES, op=op, object=document)


def told(follower: Probe[Told]) -> list[list[str]]:
    """Return what a follower was told since the last call: the Services of each message."""
    return [[f"{of.namespace}/{of.name}" for of in each or ()] for each in follower.drain()]
