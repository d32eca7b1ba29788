"""Which Secrets and ConfigMaps volumes show, and what was read of them, once for all pods. Pure.

The values are those that holders have: a holder and all volumes refer to the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from actors.volumes.kept_volumes import Version
from messages.objects import ObjectId, ObjectRead, ObjectValue, ReadVerdict
from messages.pods import PodUid
from messages.units import Seconds

_FOUND: Final = frozenset({ReadVerdict.FOUND, ReadVerdict.STALE})
_SENTENCES: Final = {
    ReadVerdict.NOT_REGISTERED: "is not registered",
    ReadVerdict.NOT_SYNCED: "is not read yet",
    ReadVerdict.FORBIDDEN: "may not be read by this node",
    ReadVerdict.UNUSABLE: "cannot be used",
}


class ReadAsked(NamedTuple):
    """Names a read, in its answer."""

    object: ObjectId
    number: int


@dataclass(slots=True, eq=False)
class ShownObject:
    """One object, who shows it, and what is known of it."""

    pods: dict[PodUid, None] = field(default_factory=dict)
    """In the order in which they came."""
    new_pods: frozenset[PodUid] = frozenset()
    """Those that no read was asked for since they came. What was known before may be older than they are."""
    read_for: frozenset[PodUid] = frozenset()
    """The new ones that the read under way is for."""
    reading: int = 0
    """The number of the read under way; 0 if there is none."""
    asked_at: Seconds = Seconds(0.0)
    is_changed: bool = False
    """It has changed since the read under way was asked for."""
    version: Version | None = None
    """None before the first answer."""
    value: ObjectValue | None = field(default=None, repr=False)
    trouble: str = ""
    """Why nobody knows what it is; empty if that is known. The last value stays."""

    @property
    def is_missing(self) -> bool:
        """Whether it has to be read again by the clock, in case nobody tells that it came."""
        return self.value is None or bool(self.trouble)

    def awaits_read(self, uid: PodUid) -> bool:
        """Return whether what is known may be older than a pod."""
        return self.version is None or uid in self.new_pods or uid in self.read_for


class ReadWanted(NamedTuple):
    """An object is to be read, in the name of a pod that shows it."""

    object: ObjectId
    pod: PodUid
    number: int


class ShownObjects:
    """All objects that any volume shows."""

    def __init__(self) -> None:
        self._objects: dict[ObjectId, ShownObject] = {}
        self._reads = 0
        self._versions = 0

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectId]:
        return iter(self._objects)

    def get(self, wanted: ObjectId) -> ShownObject | None:
        """Return what is known of an object; None if nobody shows it."""
        return self._objects.get(wanted)

    def add(self, uid: PodUid, objects: Iterable[ObjectId]) -> list[ObjectId]:
        """Note what a pod shows. Return those that nobody has shown yet."""
        first = []
        for wanted in objects:
            known = self._objects.get(wanted)
            if known is None:
                known = self._objects[wanted] = ShownObject()
                first.append(wanted)
            if uid not in known.pods:
                known.pods[uid] = None
                known.new_pods |= {uid}
        return first

    def drop(self, uid: PodUid, objects: Iterable[ObjectId]) -> list[ObjectId]:
        """Note what a pod shows no more. Return those that nobody shows any more."""
        last = []
        for wanted in objects:
            known = self._objects.get(wanted)
            if known is None:
                continue
            known.pods.pop(uid, None)
            known.new_pods -= {uid}
            known.read_for -= {uid}
            if not known.pods:
                del self._objects[wanted]
                last.append(wanted)
        return last

    def next_read(
        self, wanted: ObjectId, now: Seconds, *, again: bool = False
    ) -> ReadWanted | None:
        """Begin to read an object, if that is to be done now; ``again`` whatever is known of it."""
        known = self._objects.get(wanted)
        if known is None or known.reading:
            return None
        if not (again or known.is_changed or known.new_pods or known.version is None):
            return None
        self._reads += 1
        uid = next(iter(known.new_pods), None) or next(reversed(known.pods))
        known.reading, known.asked_at, known.is_changed = self._reads, now, False
        known.read_for, known.new_pods = known.new_pods, frozenset()
        return ReadWanted(wanted, uid, self._reads)

    def note_change(self, wanted: ObjectId) -> None:
        """Note that an object is not what was read of it."""
        known = self._objects.get(wanted)
        if known is not None:
            known.is_changed = True

    def note_read(self, read: ObjectRead) -> bool | None:
        """Note an answer. Return whether volumes show something else now; None if nobody waited for it."""
        asked = read.ref
        known = self._objects.get(asked.object) if isinstance(asked, ReadAsked) else None
        if known is None or not isinstance(asked, ReadAsked) or asked.number != known.reading:
            return None
        known.reading, known.read_for = 0, frozenset()
        before = known.version, known.value, known.trouble
        if read.verdict in _FOUND:
            self._take(known, read.value)
        elif read.verdict is ReadVerdict.NOT_FOUND:
            self._take(known, None)
        else:
            why = _SENTENCES.get(read.verdict, "cannot be read")
            known.trouble = f"{why}: {read.reason}" if read.reason else why
            if known.version is None:
                known.version = self._next_version("")
        return before != (known.version, known.value, known.trouble)

    def give_up(self, wanted: ObjectId) -> None:
        """Wait no longer for an answer: it may have been lost. Whoever waits for it goes on waiting."""
        known = self._objects.get(wanted)
        if known is not None and known.reading:
            known.reading = 0
            known.new_pods |= known.read_for
            known.read_for = frozenset()
            known.is_changed = True

    def unanswered(self, before: Seconds) -> list[ObjectId]:
        """Return those whose reading was asked for before that time, and is not answered."""
        return [
            wanted
            for wanted, known in self._objects.items()
            if known.reading and known.asked_at <= before
        ]

    def missing(self) -> list[ObjectId]:
        """Return those that are not there, or cannot be read."""
        return [wanted for wanted, known in self._objects.items() if known.is_missing]

    @property
    def is_any_open(self) -> bool:
        """Whether anything is to be looked at by the clock."""
        return any(known.reading or known.is_missing for known in self._objects.values())

    def _take(self, known: ShownObject, value: ObjectValue | None) -> None:
        known.trouble = ""
        if known.version is None or value != known.value:
            known.version = self._next_version(value.resource_version if value is not None else "")
        known.value = value

    def _next_version(self, name: str) -> Version:
        self._versions += 1
        return Version(self._versions, name)
