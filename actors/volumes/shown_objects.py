"""Which Secrets and ConfigMaps volumes show, and what is known of them, once for all pods. Pure.

The values are those that holders have: a holder and all volumes refer to the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from actors.volumes.kept_volumes import Version
from messages.objects import HeldObject, ObjectId, ObjectValue, ReadVerdict
from messages.pods import PodUid
from messages.units import Seconds

_FOUND: Final = frozenset({ReadVerdict.FOUND, ReadVerdict.STALE})
_SENTENCES: Final = {
    ReadVerdict.NOT_REGISTERED: "is not registered",
    ReadVerdict.NOT_SYNCED: "is not read yet",
    ReadVerdict.FORBIDDEN: "may not be read by this node",
    ReadVerdict.UNUSABLE: "cannot be used",
}
_NO_PODS: Final = frozenset[PodUid]()


@dataclass(slots=True, eq=False)
class ShownObject:
    """One object, who shows it, and what is known of it."""

    pods: dict[PodUid, None] = field(default_factory=dict)
    """In the order in which they came."""
    new_pods: frozenset[PodUid] = _NO_PODS
    """Those for which no fresh value was asked for yet. What is known may be older than they are."""
    waiting: frozenset[PodUid] = _NO_PODS
    """The new ones that wait for the fresh value that was asked for."""
    asked_at: Seconds = Seconds(0.0)
    """When a fresh value was asked for last."""
    verdict: ReadVerdict | None = None
    """None before anything was told."""
    version: Version | None = None
    """None as well."""
    value: ObjectValue | None = field(default=None, repr=False)
    trouble: str = ""
    """Why nobody knows what it is; empty if that is known. The last value stays."""

    @property
    def is_missing(self) -> bool:
        """Whether it has to be asked for again by the clock, in case nobody tells that it came."""
        return self.value is None or bool(self.trouble)

    def awaits_value(self, uid: PodUid) -> bool:
        """Return whether what is known may be older than a pod."""
        return self.version is None or uid in self.new_pods or uid in self.waiting


class Told(NamedTuple):
    """What follows from what was told of an object."""

    pods: Collection[PodUid]
    """Those that show something else now."""
    ready: Collection[PodUid]
    """Those that waited for it."""


class ShownObjects:
    """All objects that any volume shows."""

    def __init__(self) -> None:
        self._objects: dict[ObjectId, ShownObject] = {}
        self._asked: dict[ObjectId, Seconds] = {}
        """Those that pods wait for, and since when, the longest first."""
        self._missing: dict[ObjectId, None] = {}
        self._versions = 0

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectId]:
        return iter(self._objects)

    def get(self, wanted: ObjectId) -> ShownObject | None:
        """Return what is known of an object; None if nobody shows it."""
        return self._objects.get(wanted)

    def add(self, uid: PodUid, objects: Iterable[ObjectId]) -> None:
        """Note what a pod shows."""
        for wanted in objects:
            known = self._objects.get(wanted)
            if known is None:
                known = self._objects[wanted] = ShownObject()
                self._missing[wanted] = None
            if uid not in known.pods:
                known.pods[uid] = None
                known.new_pods |= {uid}

    def drop(self, uid: PodUid, objects: Iterable[ObjectId]) -> list[ObjectId]:
        """Note what a pod shows no more. Return those that nobody shows any more."""
        last = []
        for wanted in objects:
            known = self._objects.get(wanted)
            if known is None:
                continue
            known.pods.pop(uid, None)
            known.new_pods -= {uid}
            known.waiting -= {uid}
            if not known.pods:
                del self._objects[wanted]
                self._asked.pop(wanted, None)
                self._missing.pop(wanted, None)
                last.append(wanted)
        return last

    # --- asking for fresh values -----------------------------------------------------------------------

    def ask(self, wanted: ObjectId, now: Seconds, *, again: bool = False) -> bool:
        """Return whether to ask for a fresh value now: new pods need one, or ``again``; and note that.

        Pods that come while others wait for one have their turn after them: the others wait no longer.
        """
        known = self._objects.get(wanted)
        if known is None or wanted in self._asked or not (again or known.new_pods):
            return False
        known.waiting, known.new_pods = known.new_pods, _NO_PODS
        known.asked_at = self._asked[wanted] = now
        return True

    def asked_since(self) -> Seconds | None:
        """Return since when pods have waited the longest; None if none wait."""
        return next(iter(self._asked.values()), None)

    def asked_before(self, limit: Seconds) -> list[ObjectId]:
        """Return those that were asked for at ``limit`` or before, and are still waited for."""
        return [wanted for wanted, since in self._asked.items() if since <= limit]

    def end_wait(self, wanted: ObjectId) -> Collection[PodUid]:
        """Wait no longer for a fresh value. Return the pods that waited, in the order in which they came.

        They go on with what is known; if nothing was told at all, they wait for another look.
        """
        known = self._objects[wanted]
        del self._asked[wanted]
        waited, known.waiting = known.waiting, _NO_PODS
        if known.version is None:
            known.new_pods |= waited
            return ()
        return tuple(uid for uid in known.pods if uid in waited)

    def give_back(self, wanted: ObjectId) -> None:
        """Have pods wait for another look: the one that they waited for may not have been asked for."""
        known = self._objects[wanted]
        self._asked.pop(wanted, None)
        known.new_pods |= known.waiting
        known.waiting = _NO_PODS

    def missing(self) -> list[ObjectId]:
        """Return those that are not there, or cannot be read."""
        return list(self._missing)

    @property
    def is_any_missing(self) -> bool:
        """Whether ``missing`` returns any."""
        return bool(self._missing)

    # --- what is told ----------------------------------------------------------------------------------

    def note(self, wanted: ObjectId, held: HeldObject, *, is_fresh: bool) -> Told:
        """Note what an object is. If that ``is_fresh``, pods wait for it no longer."""
        known = self._objects.get(wanted)
        if known is None:
            return Told((), ())
        before = known.version, known.value, known.trouble
        self._take(known, held)
        if known.is_missing:
            self._missing[wanted] = None
        else:
            self._missing.pop(wanted, None)
        ready: Collection[PodUid] = ()
        if is_fresh and wanted in self._asked:
            ready = self.end_wait(wanted)
        is_news = before != (known.version, known.value, known.trouble)
        return Told(tuple(known.pods) if is_news else (), ready)

    def _take(self, known: ShownObject, held: HeldObject) -> None:
        known.verdict = held.verdict
        if held.verdict in _FOUND or held.verdict is ReadVerdict.NOT_FOUND:
            self._take_value(known, held.value)
            return
        why = _SENTENCES.get(held.verdict, "cannot be read")
        known.trouble = f"{why}: {held.reason}" if held.reason else why
        if known.version is None:
            known.version = self._next_version("")

    def _take_value(self, known: ShownObject, value: ObjectValue | None) -> None:
        known.trouble = ""
        if known.version is None or value != known.value:
            known.version = self._next_version(value.resource_version if value is not None else "")
        known.value = value

    def _next_version(self, name: str) -> Version:
        self._versions += 1
        return Version(self._versions, name)
