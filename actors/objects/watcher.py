"""ObjectWatcher: watches one Secret or ConfigMap of the API server, and tells its followers.

It is the holder of an object under the strategy Watch; there may be thousands.
``stores.objects.watched`` decides what to do. The actor tells others, and sets the one timer that it
has.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Backoff, Key, Level, PooledActor, Port, Timer
from messages.holders import (
    HolderBegan,
    HolderFact,
    HolderMessage,
    ReferencesAre,
    StopIfIdle,
    UnprovenUsed,
)
from messages.objects import ChangeMissed, HeldObject, ObjectId
from messages.units import Instant, Seconds
from messages.watches import (
    ListTarget,
    ObjectsAre,
    TargetListed,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
)
from stores.objects.paths import holder_path, object_target
from stores.objects.watched import WatchedObject
from stores.objects.watcher_memory import (
    AskList,
    Effect,
    Inform,
    StartWatch,
    StopWatch,
    WatcherMemory,
    WatcherRules,
    idle_limit_for,
)

__all__ = [
    "ObjectWatcher",
    "ObjectWatcherMessage",
    "WatcherMemory",
    "WatcherPorts",
    "WatcherRules",
    "watcher_key",
    "watcher_rules",
]

OPEN_WITHIN: Final = Backoff(initial=Seconds(30.0), cap=Seconds(3600.0), jitter=Seconds(1.0))
LIST_BACKOFF: Final = Backoff(initial=Seconds(0.1), cap=Seconds(5.0), jitter=Seconds(0.1))

_log = structlog.get_logger("objects")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleDue:
    """Timer: a deadline has come, of a list, of idleness or of the grace after a 403."""


ObjectWatcherMessage: TypeAlias = HolderMessage | WatchFact | TargetListed | SettleDue


def watcher_rules(sync_frequency: Seconds) -> WatcherRules:
    """Return the rules of watchers for a sync frequency, in seconds."""
    return WatcherRules(
        idle_limit=idle_limit_for(sync_frequency),
        open_within=OPEN_WITHIN.delay,
        retry=LIST_BACKOFF.delay,
    )


def watcher_key(wanted: ObjectId) -> Key[ObjectWatcherMessage]:
    """Return the key of the watcher of an object."""
    return Key[ObjectWatcherMessage](holder_path(wanted), coalesce=_name_of_newest)


def _name_of_newest(message: ObjectWatcherMessage) -> Hashable | None:
    return ReferencesAre if isinstance(message, ReferencesAre) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherPorts:
    """The ports of a watcher."""

    watches: Port[Watch | Unwatch | ListTarget]
    manager: Port[HolderFact | ChangeMissed]
    objects: Level[ObjectId, HeldObject]
    """Its manager's. The watcher sets the key of its object."""
    me: Port[WatchFact | TargetListed]
    """Its own address, which stays valid while it is restarted."""


class ObjectWatcher(PooledActor[ObjectWatcherMessage]):
    """Keeps one object of the API server current as long as pods reference it, and tells its followers.

    Owns: what is known of the object, its key in the level of its manager, and whether it is watched.
    Hears: ``ReferencesAre`` (coalesced), ``UnprovenUsed``, ``StopIfIdle``; ``WatchFact``, ``TargetListed``;
    its own timer.
    Tells: ``Watches`` the messages ``Watch``, ``Unwatch`` and ``ListTarget``; followers by the level; its
    manager ``HolderIs`` whenever it is held in another way or has changed and in answer to each
    ``ReferencesAre``, ``ChangeMissed`` for a pod that has begun with what changed meanwhile, ``HolderDone``
    in answer to each ``ReferencesAre`` without references, and ``HolderIdle`` when nobody has wanted a look
    for long and in answer to ``StopIfIdle``.
    Fails when: there is a bug. If the API server tells something that cannot be used, the error is shown
    and the last good version kept.

    Looks: one that followers want is done once a list has come that was asked for at its mark or later, or
    once a 403 counts, which is when the newest reference is a few seconds old. It waits for nothing else, so
    for a mark that was proven before it is done at once. The value is STALE while the watch fails, restarts
    or is stopped for idleness, and while the newest version is broken.
    Watching: the first list is waited for, however slow it is. The watch of an object that nobody follows is
    stopped when the idle limit has passed; it starts again when a look is wanted, or when the object is newly
    referenced or followed. An immutable object is not watched; it is listed once for each new mark, as a
    watched one is. When the actor is stopped, it stops the watch. The next life goes on with the record: an
    object that was idle is so until it is needed.
    Order: changes are told in the order of versions, and may skip versions; a list of the watch counts
    whatever its version is.
    Repetition: a crash loses only the message that caused it, which a new list makes up for; whatever was
    being told is told again.
    """

    def __init__(self, ports: WatcherPorts, rules: WatcherRules, memory: WatcherMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._watched = WatchedObject(memory, rules)
        self._target = object_target(memory.object)
        self._timer: Timer | None = None
        self._timer_at = Seconds(0.0)

    @override
    def started(self) -> None:
        if self._memory.has_lived:
            self._ports.manager.tell(HolderBegan(object=self._memory.object))
        self._memory.has_lived = True
        now = self.clock.now()
        self._watched.revive(now)
        self._carry_out(now)

    @override
    def receive(self, message: ObjectWatcherMessage, /) -> None:
        now, watched = self.clock.now(), self._watched
        complaint = watched.complaint
        match message:
            case ReferencesAre():
                watched.take_references(message, now)
            case UnprovenUsed():
                watched.take_use(message)
            case StopIfIdle():
                watched.take_stop(message)
            case ObjectsAre() | WatchEvent() | WatchFailed() | WatchRecovered():
                watched.take_watched(message, now)
            case TargetListed():
                watched.take_listed(message, now)
            case SettleDue():
                self._timer = None
            case _:
                assert_never(message)
        watched.settle(now)
        if watched.complaint not in {"", complaint}:
            _log.warning("cannot be used", actor=self.name, reason=watched.complaint)
        self._carry_out(now)

    @override
    def stopping(self) -> None:
        now = self.clock.now()
        self._watched.give_up(now)
        self._carry_out(now)

    def _carry_out(self, now: Instant) -> None:
        """Set what is known first: whoever hears of a change then knows the new value."""
        held = self._watched.held(now)
        if held is not None:
            self._ports.objects.set(self._memory.object, held, proven=self._memory.looked)
        outgoing = self._memory.outgoing
        while outgoing:
            self._tell(outgoing[0])
            del outgoing[0]
        self._set_timer(now)

    def _tell(self, effect: Effect) -> None:
        me, target, watches = self._ports.me, self._target, self._ports.watches
        match effect:
            case StartWatch(mark=mark):
                watches.tell(Watch(target=target, subscriber=me, mark=mark))
            case StopWatch():
                watches.tell(Unwatch(target=target, subscriber=me))
            case AskList(mark=mark):
                watches.tell(ListTarget(target=target, reply_to=me, mark=mark))
            case Inform(fact=fact):
                self._ports.manager.tell(fact)
            case _:
                assert_never(effect)

    def _set_timer(self, now: Instant) -> None:
        """Set a timer that fires no later than the next deadline. If it fires too early, it is set again."""
        due = self._watched.due(now)
        if due is None or (self._timer is not None and self._timer_at <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.after(Seconds(max(0.0, due - now.monotonic)), SettleDue())
        self._timer_at = due
