"""What a fetcher remembers, what it tells of that, and when it fetches although nobody asks.

A followed object is fetched once per time to live, so that its changes are noticed. Each fetcher does so at a
random phase of its own: thousands of objects that are referenced or followed from one moment on are then
fetched one after another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import random
from typing import Final

from messages.holders import NO_MARK, HolderIs, Mark, ReferencesAre
from messages.objects import (
    HeldObject,
    ObjectAvailability,
    ObjectId,
    ObjectState,
    ObjectValue,
    ReadVerdict,
)
from messages.units import Seconds
from stores.objects.cached import CachedObject, change_between
from stores.objects.changes import Usage

UNREAD_EVERY: Final = Seconds(60.0)
"""How often a followed object is fetched if the time to live is 0."""
UNREAD_AT_LEAST_EVERY: Final = Seconds(24 * 3600.0)
"""How often a followed object is fetched at least, however long the time to live is."""
_SPREAD: Final = 0.2
"""The time between two fetches is shorter for some objects than for others, by up to this fraction."""


@dataclass(slots=True)
class FetcherMemory:
    """What outlives a life of a fetcher. Times are those of a monotonic clock."""

    has_lived: bool = False
    """Whether there was a life before the present one."""
    references: int | None = None
    """How many pods reference the object. None until that is told. 0 until the manager was told that the
    object was let go."""
    newest_told: Mark = NO_MARK
    """The mark that was told with ``references``."""
    newest: Mark = NO_MARK
    """The highest mark heard of."""
    newest_since: Seconds = Seconds(0.0)
    """When it was heard of."""
    followed_every: Seconds | None = None
    """How often to fetch although nobody asks; None if nobody follows the object."""
    followed_since: Seconds = Seconds(0.0)
    asked_at: Seconds | None = None
    """When the request began that was answered last."""
    cached: CachedObject = field(default_factory=CachedObject)
    availability: ObjectAvailability = ObjectAvailability.UNKNOWN
    """By the last fetch that said anything of the object."""
    told: ObjectValue | None = None
    """The version that the manager was told of last; None if it was told that there is no object."""
    is_told: bool = False
    """Whether the manager was told of a version, or that there is no object."""
    usage: Usage = field(default_factory=Usage)
    """Who may have used what the manager was told of."""
    wanted: int = 0
    """The number of the last look that a follower wants; 0 while nobody follows the object's level."""
    wanted_for: Mark = NO_MARK
    """The mark that proves it."""
    looked: int = 0
    """The number of the last look that is done."""
    time_to_live: Seconds = Seconds(60.0)
    """How old a value may be."""
    phase: float = field(default_factory=random)
    """From 0 to 1: which part of the time between two fetches passes before the first one."""

    def note_mark(self, mark: Mark, now: Seconds) -> bool:
        """Note the mark of a reference at ``now``; return whether it is higher than all before."""
        if mark <= self.newest:
            return False
        self.newest, self.newest_since = mark, now
        return True

    def note_followers(self, told: ReferencesAre, now: Seconds) -> None:
        """Note whether anybody follows the object, and how often to fetch it then."""
        every = min(told.time_to_live or UNREAD_EVERY, UNREAD_AT_LEAST_EVERY)
        followed_every = every if told.is_followed and told.references else None
        if followed_every != self.followed_every:
            self.followed_every, self.followed_since = followed_every, now

    def note_wanted(self, told: ReferencesAre) -> None:
        """Note the last look that a follower wants."""
        if told.wanted > self.wanted:
            self.wanted_for = told.newest
        self.wanted, self.time_to_live = told.wanted, told.time_to_live

    @property
    def is_wanted(self) -> bool:
        """Whether a follower waits for a look."""
        return self.wanted > self.looked

    def note_use(self, held: HeldObject, mark: Mark | None) -> None:
        """Note that followers were told what is held. Pods up to ``mark`` had waited for it, if it is one."""
        if mark is not None:
            self.usage.note_answer(mark, held.verdict)
        if self.wanted and held.verdict is ReadVerdict.NOT_FOUND:
            self.usage.note_absence()

    def is_fresh(self, now: Seconds) -> bool:
        """Return whether what is known is good enough for the followers that wait."""
        return self.cached.is_fresh(self.wanted_for, self.time_to_live, now)

    def due_unread(self) -> Seconds | None:
        """Return when to fetch although nobody asks; None if never.

        That is at the latest one time to live after the last request, or after somebody began to follow.
        """
        every = self.followed_every
        if every is None:
            return None
        first = Seconds(self.followed_since + every * self.phase)
        if self.asked_at is None:
            return first
        return max(first, Seconds(self.asked_at + every * (1.0 - _SPREAD * self.phase)))

    def is_due_unread(self, now: Seconds) -> bool:
        """Return whether it is time to fetch for the followers."""
        due = self.due_unread()
        return due is not None and due <= now

    def next_due(self, now: Seconds) -> Seconds | None:
        """Return when a fetch for followers is due; None if it is, and if it never is."""
        return None if self.is_due_unread(now) else self.due_unread()

    def forget(self) -> None:
        """Forget the object, and what was told of it, since nobody needs it any more."""
        self.cached, self.told, self.is_told = CachedObject(), None, False
        self.availability = ObjectAvailability.UNKNOWN
        self.followed_every = self.asked_at = None
        self.usage = Usage()

    # --- what the manager is told ----------------------------------------------------------------------

    def news(self, wanted: ObjectId, state: ObjectState) -> HolderIs:
        """Return how ``wanted`` is held, and what changed since the manager was told last."""
        changed, concerns, known = None, NO_MARK, self.cached.known
        if known.is_known:
            changed = change_between(wanted, self.told, known.value)
        if changed is not None and self.is_told:
            concerns = self.usage.concerned(self.told, known.value)
        described = replace(
            known.described(wanted, state, self.cached.error), availability=self.availability
        )
        return HolderIs(described=described, changed=changed, concerns=concerns)

    def note_told(self) -> None:
        """Note that the ``news`` were told. A crash before that repeats them and loses nothing."""
        if self.cached.known.is_known:
            self.told, self.is_told = self.cached.known.value, True
