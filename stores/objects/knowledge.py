"""What is known of one object: its last good version, how far that can be trusted, and since when not.

Fed with lists and events of the API server. Knows nothing of watches, reads and references: who does
says when doubt begins and ends. Versions decide what is news: an event that is older than what was
seen is a repeat, and a list replaces everything (rules W4 to W6).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from manifests.objects.values import UnusableObjectError, object_value
from manifests.versions import is_older
from messages.holders import Mark
from messages.objects import ObjectChanged, ObjectId, ObjectValue
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp
from messages.watches import ObjectOp, ObjectsAre, WatchEvent
from stores.objects.changes import object_change
from stores.objects.usage import Usage

_SHOWN_LEN = 64


class Moment(NamedTuple):
    """A moment on both clocks: ages are differences of ``at``, people are shown ``wall``."""

    at: Seconds
    """Monotonic."""
    wall: Timestamp

    def earlier(self, at: Seconds) -> Moment:
        """Return the moment that was ``at`` on the monotonic clock, as this one sees it."""
        return Moment(at, Timestamp(self.wall - (self.at - at)))


class Learned(NamedTuple):
    """A change that was learned of, and has to be told."""

    changed: ObjectChanged
    concerns: Mark
    """As in ``HolderIs``."""


@dataclass(slots=True)
class ObjectKnowledge:
    """See the module."""

    object: ObjectId
    value: ObjectValue | None = None
    """The last good version; None when there is none, and while nothing is known."""
    is_known: bool = False
    """It was learned what the object is, or that there is none."""
    flaw: str = ""
    """Why the present version cannot be used; then ``value`` is an earlier one."""
    remark: str = ""
    """What was ignored last, because it is not about this object."""
    seen: str = ""
    """The version of the API server's that this is the state of."""
    confirmed: Moment | None = None
    """When a list or an event told last that it is so."""
    doubtful_since: Moment | None = None
    """When it was last certain that it is so; None while that is certain."""
    usage: Usage = field(default_factory=Usage)
    """Of what is known."""
    untold: list[Learned] = field(default_factory=list)
    """Written before the change is made, so that no crash loses it."""

    @property
    def is_learned(self) -> bool:
        """Whether anything was learned, be it that the object cannot be used."""
        return self.is_known or bool(self.flaw)

    @property
    def is_absent(self) -> bool:
        """Whether it is known that there is none."""
        return self.is_known and self.value is None and not self.flaw

    @property
    def is_immutable(self) -> bool:
        """Whether the present version says that it will not change."""
        return self.value is not None and self.value.immutable and not self.flaw

    def age(self, now: Moment) -> Seconds:
        """Return how long ago it was last known to be so."""
        since = self.doubtful_since or self.confirmed or now
        return Seconds(max(0.0, now.at - since.at))

    def doubt(self, since: Moment) -> None:
        """Have what is known be uncertain, unless it was before: ``since`` then, or the last word of it."""
        if self.doubtful_since is None and self.is_learned:
            self.doubtful_since = max(since, self.confirmed or since)

    def trust(self) -> None:
        """Have what is known be certain."""
        self.doubtful_since = None

    def take_list(self, listed: ObjectsAre, now: Moment) -> None:
        """Take a complete list for what there is, also one of a lower version than was seen."""
        ours = [each for each in listed.objects if self._is_meant(each)]
        self.seen = listed.resource_version
        if listed.objects and not ours:
            name = _name_of(listed.objects[0])
            self._mar(f"the API server lists another object instead of it: {name}", now)
        else:
            self._take(ours[0] if ours else None, now)
        if not self.flaw:
            self.trust()

    def take_event(self, event: WatchEvent, now: Moment) -> None:
        """Take one change; what is older than what was seen, or of another object, is ignored."""
        if not self._is_meant(event.object):
            name = _name_of(event.object)
            self.remark = f"the API server told of another object, which was ignored: {name}"
            return
        version = _version_of(event.object)
        if version and is_older(version, self.seen):
            return
        self.seen = version or self.seen
        self._take(None if self._is_gone(event) else event.object, now)

    def _take(self, document: JsonObject | None, now: Moment) -> None:
        try:
            after = object_value(document, self.object) if document is not None else None
        except UnusableObjectError as error:
            self._mar(str(error), now)
            return
        if after != self.value:
            changed = object_change(self.object, self.value, after, self.seen)
            self.untold.append(Learned(changed, self.usage.concerned(self.value, after)))
            self.value = after
        self.is_known = True
        self.flaw = self.remark = ""
        self.confirmed = now

    def _mar(self, flaw: str, now: Moment) -> None:
        self.flaw = flaw
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


def _version_of(document: JsonObject) -> str:
    version = _metadata(document).get("resourceVersion")
    return version if isinstance(version, str) else ""


def _name_of(document: JsonObject) -> str:
    metadata = _metadata(document)
    return f"{metadata.get('namespace')}/{metadata.get('name')}"[:_SHOWN_LEN]
