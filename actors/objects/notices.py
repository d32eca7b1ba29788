"""What people are told of objects: lines of the log, and events of pods. A part of the manager.

A change, a decision and a trouble are one line each, never with a value. A trouble, and its end, are an event
of each pod that the API server bound to this node. Static pods have lines alone: the API server refuses
mirrors of pods that reference anything, so there is no pod in the cluster that an event could be about.

That an object of a container's variables does not exist is said by the runtime, when it cannot create the
container. So it is no event here, and neither is what volumes lack, where somebody makes volumes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

import structlog

from kernel import Port, Timer
from manifests.references import Use
from messages.events import EventType, ObjectReference, PostEvent
from messages.objects import (
    ChangeAction,
    ChangeDecided,
    ObjectAvailability,
    ObjectChanged,
    ObjectDescribed,
    ObjectFact,
    ObjectId,
    Origin,
)
from messages.units import Seconds
from stores.objects.reference_index import PodNeeds, ReferenceIndex
from stores.objects.troubles import ObjectTroubles, TroubleMemory, TroubleNews

SAID_EVERY: Final = Seconds(1.0)
"""Between two looks for what is to be said, while there is anything."""
MAX_LINES: Final = 100
"""How many lines may be written between two such looks. What exceeds them is one line, with a count."""
MAX_NAMES: Final = 20
"""How many pods a line names. It counts all."""

RESOLVED: Final = "ReferenceResolved"
"""The reason of the event that a trouble is over; a kubelet has none."""

_OF_VOLUMES: Final = "FailedMount"
_OF_VARIABLES: Final = "Failed"

_TROUBLES: Final = {
    ObjectAvailability.MISSING: "a pod requires an object that does not exist",
    ObjectAvailability.FORBIDDEN: "a pod requires an object that this node may not read",
    ObjectAvailability.UNUSABLE: "a pod requires an object that cannot be used",
    ObjectAvailability.AVAILABLE: "an object that a pod requires can be used now",
}
_DECISIONS: Final = {
    ChangeAction.RESTART: "a change asks for a restart",
    ChangeAction.SIGNAL: "a change asks for a signal",
}

_log = structlog.get_logger("objects")


@dataclass(frozen=True, slots=True, kw_only=True)
class SayDue:
    """Timer: it is time to look for what is to be said."""


class _Line(NamedTuple):
    event: str
    fields: Mapping[str, str]
    is_warning: bool = False


@dataclass(slots=True)
class NoticeMemory:
    """What outlives a life of the manager."""

    troubles: TroubleMemory = field(default_factory=TroubleMemory)


class ObjectNotices:
    """Tells people of objects of one kind. The manager says what happens, and has it look when it is time."""

    def __init__(
        self,
        references: ReferenceIndex,
        events: Port[PostEvent] | None,
        after: Callable[[Seconds, SayDue], Timer],
        memory: NoticeMemory,
        *,
        volumes_are_made: bool = False,
        recorder: Port[ObjectFact] | None = None,
    ) -> None:
        """With ``volumes_are_made``, what volumes lack is told by whoever makes them.

        ``recorder`` remembers changes for people.
        """
        self._recorder = recorder
        self._volumes_are_made = volumes_are_made
        self._references = references
        self._events = events
        self._after = after
        self._troubles = ObjectTroubles(memory.troubles)
        self._timer: Timer | None = None
        self._lines = 0
        """How many lines were to be written since the last look."""

    # --- what happens ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Go on with what an earlier life had to say."""
        self._look_later()

    def note_change(self, changed: ObjectChanged, decided: Iterable[ChangeDecided]) -> None:
        """Write what happened to a referenced object, and what pods want done about it."""
        decided = tuple(decided)
        if self._recorder is not None:
            self._recorder.tell(changed)
            for each in decided:
                self._recorder.tell(each)
        version = {"version": changed.resource_version}
        pods = self._references.pods_of(changed.object)
        names = [pod.name for pod in islice(pods, MAX_NAMES)]
        count = self._references.count_of(changed.object)
        what = _Line("an object changed", {"change": changed.change.value, **version})
        self._write(what, changed.object, names, count)
        wanting: dict[tuple[ChangeAction, str], list[str]] = {}
        for each in decided:
            wanting.setdefault((each.action, each.signal), []).append(each.pod_name)
        for (action, signal), names in wanting.items():
            what = _Line(_DECISIONS[action], {"signal": signal, **version})
            self._write(what, changed.object, names, len(names))

    def note_state(self, described: ObjectDescribed, now: Seconds) -> None:
        """Note how an object is held, or that other pods reference it. May repeat."""
        self._troubles.note(described, self._references.pods_of(described.object), now)
        self._look_later()

    def is_in_trouble(self, wanted: ObjectId) -> bool:
        """Return whether an object has to be followed, so that people are told when its trouble is over."""
        return self._troubles.has(wanted)

    # --- what is told ----------------------------------------------------------------------------------

    def say(
        self, describe: Callable[[ObjectId], ObjectDescribed], now: Seconds
    ) -> Sequence[ObjectId]:
        """Tell what has lasted long enough to be told; return the objects whose trouble is over now."""
        self._timer = None
        left_out, self._lines = self._lines - MAX_LINES, 0
        if left_out > 0:
            _log.warning("lines about objects were left out", lines=left_out)
        told: list[ObjectId] = []
        for news in self._troubles.due(now):
            if self._lines >= MAX_LINES:
                break  # the others are told after the next look
            self._tell(news, describe(news.object).error)
            told.append(news.object)
        self._look_later()
        return [wanted for wanted in told if not self._troubles.has(wanted)]

    def _tell(self, news: TroubleNews, reason: str) -> None:
        found = (self._references.get(uid) for uid in news.pods)
        pods = [pod for pod in found if pod is not None]
        is_over = news.state is ObjectAvailability.AVAILABLE
        fields = {} if is_over else {"reason": reason}
        what = _Line(_TROUBLES[news.state], fields, is_warning=not is_over)
        self._write(what, news.object, [pod.name for pod in pods], len(pods))
        if self._events is not None and news.object.origin is Origin.API:
            for pod in pods:
                uses = pod.references[news.object]
                if not (self._is_said_of_volume(uses) or _is_said_by_runtime(news.state, uses)):
                    self._events.tell(event_of(pod, news.object, news.state, reason))

    def _is_said_of_volume(self, uses: Collection[Use]) -> bool:
        return self._volumes_are_made and trouble_reason(uses) == _OF_VOLUMES

    def _write(self, what: _Line, about: ObjectId, names: Sequence[str], pods: int) -> None:
        self._lines += 1
        self._look_later()
        if self._lines <= MAX_LINES:
            emit = _log.warning if what.is_warning else _log.info
            emit(
                what.event,
                kind=about.kind.value,
                object=about.display_name,
                pods=pods,
                names=names[:MAX_NAMES],
                **what.fields,
            )

    def _look_later(self) -> None:
        if self._timer is None and (self._lines or self._troubles.is_waiting):
            self._timer = self._after(SAID_EVERY, SayDue())


def _is_said_by_runtime(state: ObjectAvailability, uses: Collection[Use]) -> bool:
    return state is ObjectAvailability.MISSING and trouble_reason(uses) == _OF_VARIABLES


def event_of(pod: PodNeeds, wanted: ObjectId, state: ObjectAvailability, reason: str) -> PostEvent:
    """Return the event about a pod: it cannot have an object that it requires, or it can again."""
    name = f'{wanted.kind} "{wanted.name}"'
    match state:
        case ObjectAvailability.AVAILABLE:
            message = f"{name} can be used now"
        case ObjectAvailability.MISSING:
            message = f"{name} not found"
        case ObjectAvailability.FORBIDDEN:
            message = f"{name} may not be read by this node: {reason}"
        case _:
            message = f"{name} cannot be used: {reason}"
    is_over = state is ObjectAvailability.AVAILABLE
    _, _, pod_name = pod.name.partition("/")
    return PostEvent(
        regarding=ObjectReference(kind="Pod", name=pod_name, namespace=pod.namespace, uid=pod.uid),
        type=EventType.NORMAL if is_over else EventType.WARNING,
        reason=RESOLVED if is_over else trouble_reason(pod.references[wanted]),
        message=message,
    )


def trouble_reason(uses: Collection[Use]) -> str:
    """Return the reason that a kubelet gives for what the object is needed for.

    A kubelet mounts volumes first, then pulls images, then sets variables: the first of these that fails
    counts.
    """
    if not {Use.VOLUME, Use.PART, Use.MOUNT}.isdisjoint(uses):
        return _OF_VOLUMES
    if Use.PULL in uses:
        return "FailedToRetrieveImagePullSecret"
    return _OF_VARIABLES
