"""What is known of one object: its last good value, whether that may be outdated, and how that follows.

Every holder keeps one ``LastKnown`` of each object, and it alone says how an object is described and what
followers are told. The holders decide when their knowledge is certain.

What lists and events say of it knows nothing of watches, followers and references: the caller says when doubt
begins and ends. Versions decide what is new: an event older than what was seen is a repeat, and a list
replaces everything (rules W4 to W6).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from manifests.objects.values import UnusableObjectError, object_value
from manifests.versions import is_older, resource_version
from messages.holders import Mark
from messages.objects import (
    HeldObject,
    ObjectAvailability,
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectState,
    ObjectValue,
    ReadVerdict,
)
from messages.pods import JsonObject
from messages.units import Instant, Seconds
from messages.watches import ObjectOp, ObjectsAre, WatchEvent
from stores.objects.changes import Usage, object_change

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


FORBIDDEN_GRACE: Final = Seconds(5.0)
"""How long a 403 does not count after a new reference. The Node authorizer, which decides about it, learns of
pods by a watch of its own, a little later than this node."""

_SHOWN_LEN = 64


class Learned(NamedTuple):
    """A change that has to be told."""

    changed: ObjectChanged
    concerns: Mark
    """As in ``HolderIs``."""


@dataclass(slots=True)
class ObjectKnowledge:
    """What is known of one object, and what has to be told of it."""

    object: ObjectId
    known: LastKnown = NOTHING_KNOWN
    remark: str = ""
    """What was ignored last, because it is not about this object."""
    seen: str = ""
    """The version of the API server's data that this is the state of."""
    confirmed: Instant | None = None
    """When a list or an event last told that it is so."""
    usage: Usage = field(default_factory=Usage)
    """Who may have used what is known."""
    untold: list[Learned] = field(default_factory=list)
    """Written before the change is made, so that no crash loses it."""

    def known_before(self) -> LastKnown:
        """Return what is known as certain only until it was last told."""
        if self.known.current_until is not None or self.confirmed is None:
            return self.known
        return replace(self.known, current_until=self.confirmed)

    def doubt(self, since: Instant) -> None:
        """Make what is known uncertain since ``since``, or since it was last confirmed if that was later.

        What is uncertain already stays so since then.
        """
        if self.known.current_until is None and self.known.is_learned:
            self.known = replace(self.known, current_until=max(since, self.confirmed or since))

    def trust(self) -> None:
        """Make what is known certain."""
        if self.known.current_until is not None:
            self.known = replace(self.known, current_until=None)

    def learn_absence(self) -> None:
        """Know that there is no such object, without having asked."""
        if not self.known.is_known:
            self.known = replace(self.known, is_known=True)

    def take_list(self, listed: ObjectsAre, now: Instant) -> None:
        """Replace what is known by a complete list, even one of a lower version than was seen."""
        ours = [each for each in listed.objects if self._is_meant(each)]
        self.seen = listed.resource_version
        if listed.objects and not ours:
            name = _name_of(listed.objects[0])
            self._note_flaw(f"the API server lists another object instead of it: {name}", now)
        else:
            self._take(ours[0] if ours else None, now)
        if not self.known.flaw:
            self.trust()

    def take_event(self, event: WatchEvent, now: Instant) -> None:
        """Note one change; ignore it if it is older than what was seen, or about another object."""
        if not self._is_meant(event.object):
            name = _name_of(event.object)
            self.remark = f"the API server told of another object, which was ignored: {name}"
            return
        version = resource_version(event.object)
        if version and is_older(version, self.seen):
            return
        self.seen = version or self.seen
        self._take(None if self._is_gone(event) else event.object, now)

    def _take(self, document: JsonObject | None, now: Instant) -> None:
        try:
            after = object_value(document, self.object) if document is not None else None
        except UnusableObjectError as error:
            self._note_flaw(str(error), now)
            return
        before = self.known.value
        if after != before:
            changed = object_change(self.object, before, after, self.seen)
            self.untold.append(Learned(changed, self.usage.concerned(before, after)))
            before = after
        self.known = replace(self.known, value=before, is_known=True, flaw="")
        self.remark = ""
        self.confirmed = now

    def _note_flaw(self, flaw: str, now: Instant) -> None:
        self.known = replace(self.known, flaw=flaw)
        self.doubt(now)

    def _is_gone(self, event: WatchEvent) -> bool:
        # What it was when it was deleted may be broken, as long as it is the object.
        is_named = bool(_metadata(event.object))
        is_kind = event.object.get("kind") in {None, self.object.kind}
        return event.op is ObjectOp.DELETED and is_named and is_kind

    def _is_meant(self, document: JsonObject) -> bool:
        metadata = _metadata(document)
        place = (metadata.get("namespace"), metadata.get("name"))
        # What has no metadata is a broken version of the only object that was asked for.
        return not metadata or place == (self.object.namespace, self.object.name)


def _metadata(document: JsonObject) -> dict[str, Any]:
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _name_of(document: JsonObject) -> str:
    metadata = _metadata(document)
    return f"{metadata.get('namespace')}/{metadata.get('name')}"[:_SHOWN_LEN]
