"""What a watcher remembers, the numbers that it goes by, and what it can have carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from messages.api import ApiFailure, FailureKind
from messages.holders import NO_MARK, HolderFact, Mark
from messages.objects import ObjectDescribed, ObjectId, ObjectRead, ObjectState
from messages.port import Port
from messages.units import Seconds
from stores.objects.cached_object import FORBIDDEN_GRACE
from stores.objects.knowledge import ObjectKnowledge
from stores.objects.last_known import Moment
from stores.objects.paths import can_exist
from stores.objects.waiting_reads import WaitingReads

NO_SUCH_NAME: Final = "no object can have this name"

Delay: TypeAlias = Callable[[int], Seconds]
"""Returns how long to wait after so many failures in a row, the first being 1."""

_SLACK: Final = 0.001
"""A timer may fire a hair before the moment that it was set for."""


def is_reached(moment: float, now: Moment) -> bool:
    """Return whether it is time for what is due at ``moment``, on the monotonic clock."""
    return moment <= now.at + _SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherRules:
    """Every number that a watcher goes by."""

    idle_limit: Seconds
    """Nobody read it for so long: its watch is stopped. From ``idle_limit_for``."""
    open_within: Delay
    """A failing watch that has listed and is not open by then is asked for anew: the failure may be that of
    an earlier watch, told while that one was being stopped. Each further attempt waits longer, since a node
    that may list but not watch would list for ever."""
    retry: Delay
    """Between lists that fail."""
    forbidden_grace: Seconds = FORBIDDEN_GRACE
    """A 403 does not count so long after the newest reference: the Node authorizer learns of a pod a
    little after the node does."""
    answer_within: Seconds = Seconds(70.0)
    """A list that was asked for and is not answered by then is lost: the keeper of watches crashed. It
    gives a request 65 s itself."""


def idle_limit_for(sync_frequency: Seconds) -> Seconds:
    """Return how long an object may be unread: 5 x the sync frequency, at least a minute (rule W10)."""
    return Seconds(max(60.0, 5.0 * sync_frequency))


class StartWatch(NamedTuple):
    """Watch the object, or list it anew."""

    mark: Mark


class StopWatch(NamedTuple):
    """Watch it no longer."""


class AskList(NamedTuple):
    """List it once, beside its watch."""

    mark: Mark


class AnswerRead(NamedTuple):
    """Answer a read."""

    reply_to: Port[ObjectRead]
    answer: ObjectRead


class Inform(NamedTuple):
    """Tell the manager."""

    fact: HolderFact


Effect: TypeAlias = StartWatch | StopWatch | AskList | AnswerRead | Inform


@dataclass(slots=True)
class WatcherMemory:
    """What outlives a life of a watcher. Made anew for an object that was let go and is wanted again."""

    object: ObjectId
    can_exist: bool = field(init=False)
    """Else the API server has no object of its name, and takes none."""
    knowledge: ObjectKnowledge = field(init=False)
    has_lived: bool = False
    """There was a life before the present one."""
    state: ObjectState = ObjectState.STOPPED
    references: int = 0
    letting_go: Mark | None = None
    """Of the word that nobody references it, until that is answered."""
    newest: Mark = NO_MARK
    """The highest mark that was heard of."""
    newest_at: Seconds = Seconds(0.0)
    is_followed: bool = False
    last_used: Seconds = Seconds(0.0)
    """When it was read, or newly referenced, or when the last follower went."""
    reads: WaitingReads = field(default_factory=WaitingReads)
    proven: Mark = NO_MARK
    """A list that was asked for at this mark has come."""
    watch_mark: Mark = NO_MARK
    """With which the watch was asked for last."""
    failure: ApiFailure | None = None
    """Of the watch, as long as it stands."""
    late_at: Seconds | None = None
    """When the watch, which has listed but fails since before, is asked for anew."""
    late: int = 0
    """How often it was for that reason, since it was last followed."""
    asked: Mark | None = None
    """Of the list that is under way."""
    asked_at: Seconds = Seconds(0.0)
    asked_over: str = ""
    """The version that was seen when it was asked for: it cannot be older."""
    lists_failed: int = 0
    """In a row."""
    list_error: str = ""
    retry_at: Seconds = Seconds(0.0)
    told: ObjectDescribed | None = None
    """What the manager was told last."""
    outgoing: list[Effect] = field(default_factory=list)
    """To be carried out from the front; what was carried out is taken away."""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.can_exist = can_exist(self.object)
        self.forget()

    def forget(self) -> None:
        """Know nothing of the object, and have no list under way."""
        self.knowledge = ObjectKnowledge(self.object)
        self.proven, self.asked = NO_MARK, None
        self.lists_failed, self.list_error = 0, ""

    def fail(self, failure: ApiFailure | None) -> None:
        """Note that the watch fails, or does not."""
        self.failure, self.late_at = failure, None

    @property
    def is_watching(self) -> bool:
        """Whether its watch was asked for."""
        return self.state in {ObjectState.INITIALISING, ObjectState.SYNCED}

    @property
    def is_vouched(self) -> bool:
        """Whether a change would be heard of, or cannot be, and the present version can be used."""
        is_watched = self.state is ObjectState.SYNCED and self.failure is None
        is_held = is_watched or self.state is ObjectState.IMMUTABLE
        return is_held and not self.knowledge.known.flaw

    @property
    def is_forbidden(self) -> bool:
        """Whether the watch fails because of a 403."""
        return self.failure is not None and self.failure.kind is FailureKind.FORBIDDEN

    @property
    def is_immutable(self) -> bool:
        """Whether the object will not change, so that there is nothing to watch."""
        return self.knowledge.known.is_immutable or not self.can_exist

    @property
    def described(self) -> ObjectDescribed:
        """How the object is held, as the manager is told."""
        knowledge = self.knowledge
        # Nobody watches an immutable object: nobody would hear if it were deleted, or made anew.
        is_unwatched = self.state is ObjectState.IMMUTABLE
        known = knowledge.known_before() if is_unwatched else knowledge.known
        return known.described(self.object, self.state, self.error)

    @property
    def error(self) -> str:
        """What is wrong at present; empty when nothing is."""
        if not self.can_exist:
            return NO_SUCH_NAME
        failure = self.failure.sentence if self.failure else ""
        return self.knowledge.known.flaw or failure or self.list_error or self.knowledge.remark
