"""What is known of an object, wherever it comes from: its last good value, and whether that may be outdated.

Every holder keeps this one record of each object, and it alone says how an object is described and what
followers are told. The holders decide when their knowledge is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from messages.objects import (
    HeldObject,
    ObjectAvailability,
    ObjectDescribed,
    ObjectId,
    ObjectState,
    ObjectValue,
    ReadVerdict,
)
from messages.units import Instant

_LOOKED_FOR: Final = frozenset({ObjectState.INITIALISING, ObjectState.STOPPED})
"""An object in these states may have come into being since it was last seen to be absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastKnown:
    """What is known of one object. By default nothing is."""

    value: ObjectValue | None = None
    """The last good version; None when there is no object, and while nothing is known."""
    is_known: bool = False
    """It was learned what the object is, or that there is none."""
    flaw: str = ""
    """Why the newest version cannot be used or seen; ``value`` is then an earlier one."""
    current_until: Instant | None = None
    """When it was last certain that this is so; None while it is certain, and while nothing is known."""

    @property
    def is_learned(self) -> bool:
        """Whether anything was learned, even if only that the object cannot be used."""
        return self.is_known or bool(self.flaw)

    @property
    def is_absent(self) -> bool:
        """Whether it is known that there is no such object."""
        return self.is_known and self.value is None and not self.flaw

    @property
    def is_immutable(self) -> bool:
        """Whether the newest version says that it will not change."""
        return self.value is not None and self.value.immutable and not self.flaw

    @property
    def availability(self) -> ObjectAvailability:
        """What a pod gets that wants the object; UNKNOWN also if it was absent when that was last known."""
        if self.value is not None:
            return ObjectAvailability.AVAILABLE
        if self.flaw:
            return ObjectAvailability.UNUSABLE
        is_missing = self.is_absent and self.current_until is None
        return ObjectAvailability.MISSING if is_missing else ObjectAvailability.UNKNOWN

    def described(self, wanted: ObjectId, state: ObjectState, error: str) -> ObjectDescribed:
        """Return the description of ``wanted``, held in ``state``: ABSENT instead if there is no object."""
        value, since = self.value, self.current_until
        return ObjectDescribed(
            object=wanted,
            state=ObjectState.ABSENT if self.is_absent and state not in _LOOKED_FOR else state,
            uid=value.uid if value else "",
            resource_version=value.resource_version if value else "",
            current_until=since.wall if since else None,
            is_known=self.is_known,
            error=error,
            availability=self.availability,
        )

    def held(self, *, reason: str, otherwise: ReadVerdict = ReadVerdict.NOT_SYNCED) -> HeldObject:
        """Return what followers are told: FOUND, or STALE, or NOT_FOUND, or ``otherwise``.

        ``otherwise`` is the verdict when nothing is known. ``reason`` tells people why it is not FOUND.
        """
        since = self.current_until
        if self.value is not None and since is None:
            return HeldObject(verdict=ReadVerdict.FOUND, value=self.value)
        if self.value is None and not self.is_absent:
            return HeldObject(verdict=otherwise, reason=reason)
        return HeldObject(
            verdict=ReadVerdict.NOT_FOUND if self.value is None else ReadVerdict.STALE,
            value=self.value,
            is_current=since is None,
            known_at=None if since is None else since.monotonic,
            reason=reason,
        )


NOTHING_KNOWN: Final = LastKnown()
"""What is known of an object at first. Thousands of holders share it."""
