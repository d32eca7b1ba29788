"""What is known of one object from lists and events of the API server.

It knows nothing of watches, followers and references: the caller says when doubt begins and ends. Versions
decide what is new: an event older than what was seen is a repeat, and a list replaces everything (rules W4 to
W6).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from manifests.objects.values import UnusableObjectError, object_value
from manifests.versions import is_older, resource_version
from messages.holders import Mark
from messages.objects import ObjectChanged, ObjectId
from messages.pods import JsonObject
from messages.units import Instant, Seconds
from messages.watches import ObjectOp, ObjectsAre, WatchEvent
from stores.objects.changes import object_change
from stores.objects.last_known import NOTHING_KNOWN, LastKnown
from stores.objects.usage import Usage

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
