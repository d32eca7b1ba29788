"""ServiceKeeper: follows the cluster's Services, and tells workers of pods what their containers are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.cluster.known_services import KnownServices
from kernel import Key, KeyFollowed, Level, PooledActor, Port
from messages.api import FOR_GOOD, ApiFailure
from messages.cluster import ClusterServices, ServicesIn
from messages.events import EventType, ObjectReference, PostEvent
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


_log = structlog.get_logger("services")

ServiceKeeperMessage: TypeAlias = KeyFollowed[ServicesIn] | WatchFact

SERVICE_KEEPER: Final = Key[ServiceKeeperMessage]("services")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePorts:
    """Whom the keeper of Services talks to."""

    watches: Port[Watch | Unwatch]
    events: Port[PostEvent]
    me: Port[WatchFact]
    """Its own address, which stays valid when it is restarted."""
    services: Level[ServicesIn, ClusterServices | None]
    """What it owns, and workers follow."""


@dataclass(slots=True)
class ServiceMemory:
    """What outlives a life of the keeper of Services."""

    known: KnownServices = field(default_factory=KnownServices)
    is_listed: bool = False
    is_watched: bool = False
    trouble: str = ""
    """Why this node may not know them; empty if that was not told."""


class ServiceKeeper(PooledActor[ServiceKeeperMessage]):
    """Follows all Services of the cluster by one watch, as long as any pod may be told of them.

    Owns: what is known of the Services, and the level of those that pods of each namespace are told of.
    Hears: ``KeyFollowed`` of that level; ``WatchFact``.
    Tells: the keeper of watches ``Watch`` at the first follower, and ``Unwatch`` ten minutes after the last
    one; followers by the level; an event on the Node when Services may not be read, once until they may.
    Fails when: there is a bug. A Service that cannot be read is as if it were not there.

    Order: what is told is complete, and of one moment. Events that wait together are told together.
    Repetition: every message may repeat. A life that begins has everything listed anew. While the API server
    is away the last Services stand.
    """

    def __init__(self, node_name: str, ports: ServicePorts, memory: ServiceMemory) -> None:
        self._node = ObjectReference(kind="Node", name=node_name, uid=node_name)
        self._ports = ports
        self._level = ports.services
        self._memory = memory

    @override
    def started(self) -> None:
        # A change may have waited for its turn when the life before ended: everything is listed anew.
        self._changed = self.portions(self._set)
        self._disuse = self.alarm(self._stop_watching)
        self._level.own(self._ports.me)
        if self._memory.is_watched:
            self._watch()
        for followed in self._level.followed():
            self._is_followed(followed)
        self._watch_for_disuse()

    @override
    def receive(self, message: ServiceKeeperMessage, /) -> None:
        match message:
            case KeyFollowed(key=key, followers=0):
                self._level.remove(key)
                self._watch_for_disuse()
            case KeyFollowed(key=key):
                self._is_followed(key)
            case _:
                self._take(message)

    # --- who follows -----------------------------------------------------------------------------------

    def _is_followed(self, followed: ServicesIn) -> None:
        self._disuse.at(None)
        if not self._memory.is_watched:
            self._watch()
        self._set(followed)

    def _watch_for_disuse(self) -> None:
        if self._memory.is_watched and not self._level.followed() and self._disuse.due is None:
            self._disuse.at(Seconds(self.clock.monotonic() + UNUSED_FOR))

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
                self._changed.add(self._level.followed())
            case WatchEvent(op=op, object=document):
                if memory.known.change(op, document):
                    self._changed.add(self._level.followed())
            case WatchFailed(failure=failure):
                if failure.kind in FOR_GOOD and not memory.trouble:
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
        self._changed.add(self._level.followed())

    def _set(self, followed: ServicesIn) -> None:
        """Say what pods are told. What changed has its turn after all that waited: a burst is told once."""
        memory = self._memory
        if memory.is_listed:
            self._level.set(followed, memory.known.of(followed.namespace))
        elif memory.trouble:
            self._level.set(followed, None)
