"""ServiceKeeper: follows the cluster's Services, and tells workers of pods what their containers are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.services.known_services import KnownServices
from kernel import Key, PooledActor, Port, Timer
from messages.api import ApiFailure, FailureKind
from messages.events import EventType, ObjectReference, PostEvent
from messages.services import (
    ClusterServices,
    FollowServices,
    ServicesAre,
    ServicesMessage,
    UnfollowServices,
)
from messages.units import Seconds
from messages.watches import (
    ObjectsAre,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)

SERVICES: Final = WatchTarget(path="/api/v1/services")
UNUSED_FOR: Final = Seconds(600.0)
"""How long the watch goes on after the last pod."""

_FOR_GOOD: Final = frozenset({FailureKind.FORBIDDEN, FailureKind.NOT_FOUND})
"""Failures that last until somebody changes the cluster."""

_log = structlog.get_logger("services")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesTellDue:
    """It is time to tell what has changed: every event that was waiting has been taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedDue:
    """Timer: nobody may have followed any Service for long."""


ServiceKeeperMessage: TypeAlias = ServicesMessage | WatchFact | ServicesTellDue | UnusedDue

SERVICE_KEEPER: Final = Key[ServiceKeeperMessage]("services")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePorts:
    """Whom the keeper of Services talks to."""

    watches: Port[Watch | Unwatch]
    events: Port[PostEvent]
    me: Port[WatchFact]
    """Its own address, which stays valid when it is restarted."""


@dataclass(slots=True)
class ServiceMemory:
    """What outlives a life of the keeper of Services."""

    known: KnownServices = field(default_factory=KnownServices)
    is_listed: bool = False
    is_watched: bool = False
    trouble: str = ""
    """Why this node may not know them; empty if that was not told."""
    followers: dict[str, dict[Port[ServicesAre], None]] = field(default_factory=dict)
    """By namespace."""
    told: dict[str, ClusterServices] = field(default_factory=dict)
    """What the followers of a namespace were told last."""


class ServiceKeeper(PooledActor[ServiceKeeperMessage]):
    """Follows all Services of the cluster by one watch, as long as any pod may be told of them.

    Owns: what is known of the Services, and who follows which namespace.
    Hears: ``FollowServices``, ``UnfollowServices``; ``WatchFact``; its own timer, and ``ServicesTellDue``
    from itself.
    Tells: the keeper of watches ``Watch`` at the first follower, and ``Unwatch`` ten minutes after the last
    one; followers ``ServicesAre``; an event on the Node when Services may not be read, once until they may.
    Fails when: there is a bug. A Service that cannot be read is as if it were not there.

    Order: what is told is complete, and of one moment. Events that wait together are told together.
    Repetition: every message may repeat. A life that begins has everything listed anew, and tells everybody
    what is known; a follower whose message was lost in a crash asks again, and one that was about to leave is
    told more than it reads. While the API server is away the last Services stand.
    """

    def __init__(self, node_name: str, ports: ServicePorts, memory: ServiceMemory) -> None:
        self._node = ObjectReference(kind="Node", name=node_name, uid=node_name)
        self._ports = ports
        self._memory = memory
        self._is_tell_due = False
        self._timer: Timer | None = None

    @override
    def started(self) -> None:
        if self._memory.is_watched:
            self._watch()
            self._tell_namespaces(self._memory.followers)
            self._watch_for_disuse()

    @override
    def receive(self, message: ServiceKeeperMessage, /) -> None:
        match message:
            case FollowServices(subscriber=subscriber, namespace=namespace):
                self._follow(subscriber, namespace)
            case UnfollowServices(subscriber=subscriber, namespace=namespace):
                self._unfollow(subscriber, namespace)
            case ObjectsAre() | WatchEvent() | WatchFailed() | WatchRecovered():
                self._take(message)
            case ServicesTellDue():
                self._is_tell_due = False
                self._tell_changes()
            case UnusedDue():
                self._timer = None
                if not self._memory.followers:
                    self._stop_watching()
            case _:
                assert_never(message)

    # --- who follows -----------------------------------------------------------------------------------

    def _follow(self, subscriber: Port[ServicesAre], namespace: str) -> None:
        memory = self._memory
        memory.followers.setdefault(namespace, {})[subscriber] = None
        if not memory.is_watched:
            self._watch()
        if memory.is_listed and namespace not in memory.told:
            memory.told[namespace] = memory.known.of(namespace)
        self._tell(namespace, (subscriber,))

    def _unfollow(self, subscriber: Port[ServicesAre], namespace: str) -> None:
        memory = self._memory
        followers = memory.followers.get(namespace)
        if followers is None:
            return
        followers.pop(subscriber, None)
        if not followers:
            del memory.followers[namespace]
            memory.told.pop(namespace, None)
            self._watch_for_disuse()

    def _watch_for_disuse(self) -> None:
        if not self._memory.followers and self._timer is None:
            self._timer = self.after(UNUSED_FOR, UnusedDue())

    def _watch(self) -> None:
        self._memory.is_watched = True
        self._ports.watches.tell(Watch(target=SERVICES, subscriber=self._ports.me))

    def _stop_watching(self) -> None:
        memory = self._memory
        self._ports.watches.tell(Unwatch(target=SERVICES, subscriber=self._ports.me))
        memory.is_watched = memory.is_listed = False
        memory.known, memory.trouble = KnownServices(), ""

    # --- what is known ---------------------------------------------------------------------------------

    def _take(self, fact: WatchFact) -> None:
        memory = self._memory
        if not memory.is_watched:
            return  # it was on its way when the watch was stopped
        match fact:
            case ObjectsAre(objects=objects):
                memory.known.replace(objects)
                memory.is_listed, memory.trouble = True, ""
                _log.debug("the services are known", services=len(memory.known))
                self._plan_to_tell()
            case WatchEvent(op=op, object=document):
                if memory.known.change(op, document):
                    self._plan_to_tell()
            case WatchFailed(failure=failure):
                if failure.kind in _FOR_GOOD and not memory.trouble:
                    self._note_trouble(failure)
            case WatchRecovered():
                memory.trouble = ""
            case _:
                assert_never(fact)

    def _note_trouble(self, failure: ApiFailure) -> None:
        memory = self._memory
        memory.trouble = failure.sentence
        _log.warning("containers start without the variables of services", reason=failure.sentence)
        message = f"Containers start without the variables of Services: {failure.sentence}"
        self._ports.events.tell(
            PostEvent(
                regarding=self._node,
                type=EventType.WARNING,
                reason="FailedToListServices",
                message=message,
            )
        )
        self._tell_namespaces(memory.followers)

    # --- what is told ----------------------------------------------------------------------------------

    def _plan_to_tell(self) -> None:
        # Its turn comes after everything that waits now, so a burst of events is told at once.
        if not self._is_tell_due:
            self._is_tell_due = True
            self.me.tell(ServicesTellDue())

    def _tell_changes(self) -> None:
        memory = self._memory
        if not memory.is_listed:
            return
        for namespace, followers in memory.followers.items():
            services = memory.known.of(namespace)
            if services != memory.told.get(namespace):
                memory.told[namespace] = services
                self._tell(namespace, followers)

    def _tell_namespaces(self, namespaces: Iterable[str]) -> None:
        for namespace in namespaces:
            self._tell(namespace, self._memory.followers[namespace])

    def _tell(self, namespace: str, followers: Iterable[Port[ServicesAre]]) -> None:
        services = self._memory.told.get(namespace)
        if services is None and not self._memory.trouble:
            return  # they are told as soon as they are known
        fact = ServicesAre(
            namespace=namespace, services=services or (), is_known=services is not None
        )
        for follower in followers:
            follower.tell(fact)
