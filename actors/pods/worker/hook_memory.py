"""What a pod has to have done about changes of objects, over crashes of its worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from messages.change_hooks import RolloutGroup
from messages.objects import ChangeAction, ObjectId
from messages.units import Seconds, Timestamp


@dataclass(slots=True, kw_only=True)
class WaitingHook:
    """Changes that nothing was done about yet. Several of them are one action."""

    action: ChangeAction
    signal: str
    due: Seconds
    """When something is done at the earliest, by the monotonic clock."""
    objects: dict[ObjectId, str] = field(default_factory=dict)
    """The ``resourceVersion`` of each that has to be seen first."""
    instances: Mapping[str, str] | None = None
    """Ids of those that ran when all of it was seen, by name. Whatever is made later needs nothing."""
    seen_at: Timestamp | None = None
    """When all of it was seen."""
    was_said: bool = False
    """People were told that it cannot be seen yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneHook:
    """The last changes that something was done about for one container."""

    hook: WaitingHook
    seen_at: Timestamp
    """An instance that was made before may have begun with what was there before."""
    instance: str
    """The one that something was done about, or that needed nothing. Empty if none was known to run."""


@dataclass(slots=True, kw_only=True)
class SentSignal:
    """A signal that is under way."""

    number: int
    signal: str
    instances: Mapping[str, str]
    objects: Mapping[ObjectId, str]
    attempts: int = 1
    again_at: Seconds


@dataclass(slots=True, kw_only=True)
class RestartsInTurn:
    """Containers that wait for their turn in the group of their pod."""

    group: RolloutGroup | None = None
    waiting: dict[str, str] = field(default_factory=dict)
    """Ids of the instances that are meant, by name."""
    granted: dict[str, str] = field(default_factory=dict)
    """Those that were named, by name: their turn lasts until another instance is ready."""
    objects: dict[ObjectId, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is still to be done."""
        return bool(self.waiting or self.granted)


@dataclass(slots=True, kw_only=True)
class HooksMemory:
    """Everything that is to be done about changes."""

    outdated: frozenset[str] = frozenset()
    """Ids of instances that are replaced, or were: they are named as long as people see them."""
    waiting: WaitingHook | None = None
    sent: SentSignal | None = None
    done: dict[str, DoneHook] = field(default_factory=dict)
    """By name of the container."""
    turns: RestartsInTurn = field(default_factory=RestartsInTurn)
    signals: int = 0
    """Counts them."""

    def unsettled(self) -> Mapping[ObjectId, str]:
        """Return the objects about whose changes not all is done."""
        found: dict[ObjectId, str] = {}
        if self.waiting is not None:
            found |= self.waiting.objects
        if self.sent is not None:
            found |= self.sent.objects
        if self.turns.waiting:
            found |= self.turns.objects
        return found
