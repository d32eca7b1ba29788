"""RuntimeClassKeeper: follows the cluster's RuntimeClasses, and tells who runs containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Key, KeyFollowed, Level, PooledActor, Port
from messages.api import FOR_GOOD
from messages.cluster import RUNTIME_CLASSES, RuntimeClasses, RuntimeHandlers
from messages.pods import JsonObject
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)

WATCHED: Final = WatchTarget(path="/apis/node.k8s.io/v1/runtimeclasses")

_log = structlog.get_logger("runtime-classes")

RuntimeClassMessage: TypeAlias = KeyFollowed[RuntimeClasses] | WatchFact

RUNTIME_CLASS_KEEPER: Final = Key[RuntimeClassMessage]("runtime-classes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeClassPorts:
    """Whom the keeper of RuntimeClasses talks to."""

    watches: Port[Watch]
    me: Port[WatchFact]
    """Its own address, which stays valid when it is restarted."""
    classes: Level[RuntimeClasses, RuntimeHandlers]
    """What it owns, and who runs containers follows."""


@dataclass(slots=True)
class RuntimeClassMemory:
    """What outlives a life of the keeper of RuntimeClasses."""

    handlers: dict[str, str] | None = None
    """None until they were listed."""
    is_trouble_said: bool = False


class RuntimeClassKeeper(PooledActor[RuntimeClassMessage]):
    """Follows all RuntimeClasses of the cluster by one watch. There are few, and they hardly change.

    Owns: the level of what is known of them.
    Hears: ``KeyFollowed`` of that level; ``WatchFact``.
    Tells: the keeper of watches ``Watch`` at the first follower; followers by the level.
    Fails when: there is a bug. A RuntimeClass that cannot be read is as if it were not there.

    Order: what is told is complete, and the newest comes last. Repetition: every message may repeat. A life
    that begins has everything listed anew. While the API server is away what was listed last stands. A node
    that may not read them says so in its log, once until it may.
    """

    def __init__(self, ports: RuntimeClassPorts, memory: RuntimeClassMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._is_watched = False

    @override
    def started(self) -> None:
        self._ports.classes.own(self._ports.me)
        if self._ports.classes.followed():
            self._watch()

    @override
    def receive(self, message: RuntimeClassMessage, /) -> None:
        memory = self._memory
        match message:
            case KeyFollowed():
                self._watch()
            case ObjectsAre(objects=objects):
                memory.is_trouble_said = False
                found = (_class_of(each) for each in objects)
                self._take(dict(each for each in found if each is not None))
            case WatchEvent(op=op, object=document):
                self._take_change(op, document)
            case WatchFailed(failure=failure):
                if failure.kind in FOR_GOOD and not memory.is_trouble_said:
                    memory.is_trouble_said = True
                    _log.warning("pods with a runtime class cannot start", reason=failure.sentence)
            case WatchRecovered():
                memory.is_trouble_said = False
            case _:
                assert_never(message)

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._ports.watches.tell(Watch(target=WATCHED, subscriber=self._ports.me))

    def _take_change(self, op: ObjectOp, document: JsonObject) -> None:
        name = _name_of(document)
        if not name:
            return
        handlers = {
            known: handler
            for known, handler in (self._memory.handlers or {}).items()
            if known != name
        }
        found = _class_of(document)
        if op is not ObjectOp.DELETED and found is not None:
            handlers[name] = found[1]
        self._take(handlers)

    def _take(self, handlers: dict[str, str]) -> None:
        self._memory.handlers = handlers
        self._ports.classes.set(RUNTIME_CLASSES, handlers)


def _class_of(document: JsonObject) -> tuple[str, str] | None:
    """Return name and handler of a RuntimeClass; None if it cannot be read."""
    name, handler = _name_of(document), document.get("handler")
    return (name, handler) if name and isinstance(handler, str) and handler else None


def _name_of(document: JsonObject) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""
