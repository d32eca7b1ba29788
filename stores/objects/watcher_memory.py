"""What a watcher remembers, its rules, the effects that its actor carries out, and what followers are told.

A value is new enough for a pod if a list has come that was asked for at the mark of the pod's reference, or
later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from messages.api import ApiFailure, FailureKind
from messages.holders import NO_MARK, HolderFact, Mark
from messages.objects import (
    ChangeMissed,
    HeldObject,
    ObjectAvailability,
    ObjectDescribed,
    ObjectId,
    ObjectState,
    ReadVerdict,
)
from messages.units import Instant, Seconds
from stores.objects.knowledge import FORBIDDEN_GRACE, LastKnown, ObjectKnowledge
from stores.objects.paths import can_exist

NO_SUCH_NAME: Final = "no object can have this name"

Delay: TypeAlias = Callable[[int], Seconds]
"""Returns how long to wait after so many failures in a row, the first being 1."""

_SLACK: Final = 0.001
"""Seconds. A timer may fire this much before the moment that it was set for."""


def is_reached(moment: float, now: Instant) -> bool:
    """Return whether ``moment``, on the monotonic clock, has come."""
    return moment <= now.monotonic + _SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherRules:
    """All limits of a watcher."""

    idle_limit: Seconds
    """The watch of an object is stopped when nobody has followed it for so long. From ``idle_limit_for``."""
    open_within: Delay
    """A failing watch that has listed and is not open by then is asked for anew: the failure may be that of
    an earlier watch, told while that one was being stopped. Each further attempt waits longer, since a node
    that may list but not watch would list for ever."""
    retry: Delay
    """Between lists that fail."""
    forbidden_grace: Seconds = FORBIDDEN_GRACE
    """A 403 does not count for so long after the newest reference: the Node authorizer learns of a pod a
    little later than the node."""
    answer_within: Seconds = Seconds(70.0)
    """A list that is not answered by then is lost, since ``Watches`` crashed. It gives up a request itself
    after 65 s."""


def idle_limit_for(sync_frequency: Seconds) -> Seconds:
    """Return the idle limit: 5 x the sync frequency, at least a minute (rule W10)."""
    return Seconds(max(60.0, 5.0 * sync_frequency))


class StartWatch(NamedTuple):
    """Watch the object; if it is watched already, list it anew."""

    mark: Mark


class StopWatch(NamedTuple):
    """Stop the watch."""


class AskList(NamedTuple):
    """List the object once, beside its watch."""

    mark: Mark


class Inform(NamedTuple):
    """Tell the manager a fact."""

    fact: HolderFact | ChangeMissed


Effect: TypeAlias = StartWatch | StopWatch | AskList | Inform


@dataclass(slots=True)
class WatcherMemory:
    """What outlives a life of a watcher. Made anew for an object that was let go and is needed again."""

    object: ObjectId
    can_exist: bool = field(init=False)
    """Whether the API server accepts objects of this name."""
    knowledge: ObjectKnowledge = field(init=False)
    has_lived: bool = False
    """Whether there was a life before the present one."""
    state: ObjectState = ObjectState.STOPPED
    references: int = 0
    letting_go: Mark | None = None
    """The mark of the message that nobody references the object, until it is answered."""
    newest: Mark = NO_MARK
    """The highest mark heard of."""
    newest_at: Seconds = Seconds(0.0)
    is_followed: bool = False
    last_used: Seconds = Seconds(0.0)
    """When a look was last wanted, when it was newly referenced, or when the last follower went."""
    wanted: int = 0
    """The number of the last look that a follower wants; 0 while nobody follows the object's level."""
    looks: dict[int, Mark] = field(default_factory=dict)
    """The marks that prove looks that are wanted and not done yet, by their numbers in ascending order."""
    looked: int = 0
    """The number of the last look that is done."""
    proven: Mark = NO_MARK
    """The highest mark at which a list was asked for that has come."""
    watch_mark: Mark = NO_MARK
    """The mark with which the watch was asked for last."""
    failure: ApiFailure | None = None
    """Why the watch fails; None while it does not."""
    late_at: Seconds | None = None
    """When a watch that has listed but is failing is asked for anew; None if it is not."""
    late: int = 0
    """How often it was asked for anew for that reason, since it was last open."""
    asked: Mark | None = None
    """The mark of the list that is under way; None if none is."""
    asked_at: Seconds = Seconds(0.0)
    asked_over: str = ""
    """The version that was seen when it was asked for: its answer should not be older."""
    lists_failed: int = 0
    """In a row."""
    list_error: str = ""
    retry_at: Seconds = Seconds(0.0)
    told: ObjectDescribed | None = None
    """What the manager was told last."""
    is_told_idle: bool = False
    """Whether the manager was told that the object is idle, and nothing has happened since."""
    stop_asked: int = 0
    """The number of the manager's question whether it may stop the holder; 0 if there is none."""
    outgoing: list[Effect] = field(default_factory=list)
    """What the actor has to do, in order. It removes each effect once that is done."""

    def __post_init__(self) -> None:
        """Know nothing at first."""
        self.can_exist = can_exist(self.object)
        self.forget()

    def note_wanted(self, wanted: int) -> bool:
        """Note the last look that a follower wants, for the newest mark. Return whether it is another one."""
        is_another = wanted > max(self.wanted, self.looked)
        if is_another:
            self.looks[wanted] = self.newest
        elif not wanted:
            self.looks.clear()
        self.wanted = wanted
        return is_another

    def forget(self) -> None:
        """Forget the object, and the list under way."""
        self.looks.clear()
        self.knowledge = ObjectKnowledge(self.object)
        self.proven, self.asked = NO_MARK, None
        self.lists_failed, self.list_error = 0, ""

    def fail(self, failure: ApiFailure | None) -> None:
        """Note why the watch fails; None: it does not."""
        self.failure, self.late_at = failure, None

    @property
    def is_watching(self) -> bool:
        """Whether the object is watched, or is about to be."""
        return self.state in {ObjectState.INITIALISING, ObjectState.SYNCED}

    @property
    def is_certain(self) -> bool:
        """Whether what is known is certain: it is usable, and a change would be heard of or is impossible."""
        is_watched = self.state is ObjectState.SYNCED and self.failure is None
        is_held = is_watched or self.state is ObjectState.IMMUTABLE
        return is_held and not self.knowledge.known.flaw

    @property
    def is_forbidden(self) -> bool:
        """Whether the watch fails because of a 403."""
        return self.failure is not None and self.failure.kind is FailureKind.FORBIDDEN

    @property
    def is_immutable(self) -> bool:
        """Whether the object cannot change, so that there is nothing to watch."""
        return self.knowledge.known.is_immutable or not self.can_exist

    @property
    def described(self) -> ObjectDescribed:
        """How the object is held, as the manager is told."""
        knowledge = self.knowledge
        # Nobody watches an immutable object: nobody would hear if it were deleted, or made anew.
        is_unwatched = self.state is ObjectState.IMMUTABLE
        known = knowledge.known_before() if is_unwatched else knowledge.known
        described = known.described(self.object, self.state, self.error)
        if self.is_forbidden and described.availability is ObjectAvailability.UNKNOWN:
            return replace(described, availability=ObjectAvailability.FORBIDDEN)
        return described

    @property
    def error(self) -> str:
        """What is wrong at present; empty if nothing is."""
        if not self.can_exist:
            return NO_SUCH_NAME
        failure = self.failure.sentence if self.failure else ""
        return self.knowledge.known.flaw or failure or self.list_error or self.knowledge.remark


def is_proven(mark: Mark, memory: WatcherMemory, rules: WatcherRules, now: Instant) -> bool:
    """Return whether waiting would improve nothing for a pod whose reference has ``mark``."""
    is_known = mark <= memory.proven and memory.knowledge.known.is_learned
    return is_known or is_refused(memory, rules, now)


def held_object(memory: WatcherMemory, rules: WatcherRules, now: Instant) -> HeldObject:
    """Return what followers of a referenced object are told at ``now``."""
    name = f"{memory.object.kind} {memory.object.display_name}"
    known = memory.knowledge.known
    return known.held(reason=_reason(name, known, memory), otherwise=_otherwise(memory, rules, now))


def _otherwise(memory: WatcherMemory, rules: WatcherRules, now: Instant) -> ReadVerdict:
    """Return the verdict where no value is known, and not that there is none."""
    if memory.knowledge.known.flaw:
        return ReadVerdict.UNUSABLE
    return ReadVerdict.FORBIDDEN if is_refused(memory, rules, now) else ReadVerdict.NOT_SYNCED


def _reason(name: str, known: LastKnown, memory: WatcherMemory) -> str:
    """Return why followers do not have a current value."""
    if known.is_absent and known.current_until is None and memory.can_exist:
        return f"there is no {name}"
    if memory.error:
        return memory.error
    if known.value is not None:
        return f"{name} may have changed"
    return f"there may be a {name} by now" if known.is_known else f"{name} was not listed in time"


def is_refused(memory: WatcherMemory, rules: WatcherRules, now: Instant) -> bool:
    """Return whether a 403 counts, so that waiting makes no sense."""
    return memory.is_forbidden and is_reached(grace_ends(memory, rules), now)


def grace_ends(memory: WatcherMemory, rules: WatcherRules) -> Seconds:
    """Return until when a 403 does not count, on the monotonic clock."""
    return Seconds(memory.newest_at + rules.forbidden_grace)
