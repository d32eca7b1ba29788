"""Which pods cannot have an object that they require, and which of them people were told of. Pure.

A trouble counts when it has lasted: an object is often created a moment after the pod that needs it, and a
403 means nothing at first. So does its end. Each pod is told of by itself, once for each change of state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from messages.objects import ObjectAvailability, ObjectDescribed, ObjectId
from messages.pods import PodUid
from messages.units import Seconds
from stores.objects.knowledge import FORBIDDEN_GRACE
from stores.objects.reference_index import PodNeeds

COUNTS_AFTER: Final = Seconds(1.0)
"""How long a state lasts before it is told."""

_FINE: Final = ObjectAvailability.AVAILABLE
_UNKNOWN: Final = ObjectAvailability.UNKNOWN


@dataclass(slots=True)
class _PodTrouble:
    """One pod, and what it cannot have."""

    since: Seconds
    """When the present state began for this pod, on the monotonic clock."""
    told: ObjectAvailability = _FINE
    """What people were told last."""


@dataclass(slots=True)
class _ObjectTrouble:
    """One object that some pod cannot have, or could not have a moment ago."""

    state: ObjectAvailability
    """Never UNKNOWN: what was known last stands."""
    pods: dict[PodUid, _PodTrouble] = field(default_factory=dict)
    """Those in trouble, and those of whose trouble people have yet to be told that it is over."""

    def untold(self) -> Iterator[tuple[PodUid, _PodTrouble]]:
        return ((uid, pod) for uid, pod in self.pods.items() if pod.told is not self.state)


@dataclass(slots=True)
class TroubleMemory:
    """What outlives a life of the manager. No larger than the references to objects in trouble."""

    objects: dict[ObjectId, _ObjectTrouble] = field(default_factory=dict)
    untold: dict[ObjectId, None] = field(default_factory=dict)
    """Those of which something is still to be told."""


class TroubleNews(NamedTuple):
    """What to tell people of one object."""

    object: ObjectId
    state: ObjectAvailability
    """AVAILABLE: the trouble is over."""
    pods: tuple[PodUid, ...]


class ObjectTroubles:
    """The troubles with objects of one kind. ``memory`` outlives it."""

    def __init__(self, memory: TroubleMemory) -> None:
        self._memory = memory

    @property
    def is_waiting(self) -> bool:
        """Whether something is still to be told."""
        return bool(self._memory.untold)

    def has(self, wanted: ObjectId) -> bool:
        """Return whether a pod cannot have the object, or people have yet to be told that it can again."""
        return wanted in self._memory.objects

    def note(self, described: ObjectDescribed, pods: Iterable[PodNeeds], now: Seconds) -> None:
        """Note how an object is held and which pods reference it. May repeat."""
        wanted, state = described.object, described.availability
        trouble = self._memory.objects.get(wanted)
        if trouble is None:
            if state in {_FINE, _UNKNOWN}:
                return
            trouble = self._memory.objects[wanted] = _ObjectTrouble(state)
        if state not in {_UNKNOWN, trouble.state}:
            trouble.state = state
            for pod in trouble.pods.values():
                pod.since = now
        self._note_pods(trouble, {pod.uid for pod in pods if pod.requires(wanted)}, state, now)
        self._file(wanted, trouble)

    def _note_pods(
        self,
        trouble: _ObjectTrouble,
        uids: set[PodUid],
        state: ObjectAvailability,
        now: Seconds,
    ) -> None:
        for uid, pod in tuple(trouble.pods.items()):
            is_over = trouble.state is _FINE and pod.told is _FINE
            if uid not in uids or is_over:
                del trouble.pods[uid]
        if state not in {_FINE, _UNKNOWN}:
            for uid in uids - trouble.pods.keys():
                trouble.pods[uid] = _PodTrouble(now)

    def due(self, now: Seconds) -> Iterator[TroubleNews]:
        """Yield what to tell by now, and note each as told when the caller comes back for the next.

        A crash of the caller in between repeats one and loses none.
        """
        for wanted in tuple(self._memory.untold):
            trouble = self._memory.objects[wanted]
            lasting = FORBIDDEN_GRACE if trouble.state is ObjectAvailability.FORBIDDEN else 0.0
            ripe = now - lasting - COUNTS_AFTER
            pods = tuple(uid for uid, pod in trouble.untold() if pod.since <= ripe)
            if pods:
                yield TroubleNews(wanted, trouble.state, pods)
                for uid in pods:
                    trouble.pods[uid].told = trouble.state
                    if trouble.state is _FINE:
                        del trouble.pods[uid]
                self._file(wanted, trouble)

    def _file(self, wanted: ObjectId, trouble: _ObjectTrouble) -> None:
        """Remember whether anything is still to be told of an object, and forget one without trouble."""
        if not trouble.pods:
            del self._memory.objects[wanted]
        if any(True for _ in trouble.untold()):
            self._memory.untold[wanted] = None
        else:
            self._memory.untold.pop(wanted, None)
