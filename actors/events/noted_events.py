"""What is remembered of events and of changes of objects: the last ones of each, and of the node. Pure."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from messages.events import NotedChange, NotedEvent, PostEvent
from messages.objects import ChangeDecided, ObjectFact, ObjectId
from messages.pods import PodUid
from messages.units import Timestamp

MOST_OF_A_POD: Final = 40
MOST_MOMENTS: Final = 10
"""Moments before its last one that are remembered of an event that came again and again."""
MOST_PODS: Final = 20_000
"""Pods whose events are remembered. Those that had none for the longest time are forgotten first."""
MOST_OF_AN_OBJECT: Final = 10
MOST_OBJECTS: Final = 2_000
MOST_OF_THE_NODE: Final = 1_000
"""Entries of the list of all that happened: 0.7 MB at most (measured)."""


class NotedEvents:
    """The last events of each pod."""

    def __init__(self, most_pods: int = MOST_PODS, most_of_a_pod: int = MOST_OF_A_POD) -> None:
        self._most_pods = most_pods
        self._most_of_a_pod = most_of_a_pod
        self._pods: OrderedDict[str, list[NotedEvent]] = OrderedDict()

    def note(self, post: PostEvent, now: Timestamp) -> int:
        """Note an event; return how often it was. Only those of pods are remembered."""
        uid = post.regarding.uid
        if post.regarding.kind != "Pod" or not uid:
            return 1
        events = self._pods.setdefault(uid, [])
        self._pods.move_to_end(uid)
        known = next((each for each in events if _is_like(each, post)), None)
        if known is not None:
            events.remove(known)
            noted = known._replace(
                last=now,
                times=known.times + 1,
                before=(*known.before, known.last)[-MOST_MOMENTS:],
            )
        else:
            noted = _noted(post, now)
        events.append(noted)
        del events[: -self._most_of_a_pod]
        if len(self._pods) > self._most_pods:
            self._pods.popitem(last=False)
        return noted.times

    def of(self, uid: PodUid) -> tuple[NotedEvent, ...]:
        """Return what is remembered of a pod, the oldest first."""
        return tuple(self._pods.get(uid, ()))


def _is_like(noted: NotedEvent, post: PostEvent) -> bool:
    return (noted.reason, noted.message, noted.field_path, noted.type) == (
        post.reason,
        post.message,
        post.regarding.field_path,
        post.type,
    )


def _noted(post: PostEvent, now: Timestamp) -> NotedEvent:
    # Thousands of pods say the same: it is kept once.
    reason, message = sys.intern(str(post.reason)), sys.intern(str(post.message))
    path = sys.intern(str(post.regarding.field_path))
    return NotedEvent(now, now, 1, post.type, reason, message, path)


class NotedChanges:
    """The last changes of each object, and what pods wanted done about them."""

    def __init__(self, most_objects: int = MOST_OBJECTS) -> None:
        self._most_objects = most_objects
        self._objects: OrderedDict[ObjectId, deque[NotedChange]] = OrderedDict()

    def note(self, fact: ObjectFact, now: Timestamp) -> None:
        """Note what happened to an object."""
        changed = fact.changed.object if isinstance(fact, ChangeDecided) else fact.object
        self._objects.setdefault(changed, deque(maxlen=MOST_OF_AN_OBJECT)).append(
            NotedChange(now, fact)
        )
        self._objects.move_to_end(changed)
        if len(self._objects) > self._most_objects:
            self._objects.popitem(last=False)

    def of(self, uid: PodUid, objects: Iterable[ObjectId]) -> tuple[NotedChange, ...]:
        """Return what is remembered of ``objects`` that concerns a pod, the oldest first."""
        noted = (each for wanted in objects for each in self._objects.get(wanted, ()))
        return tuple(
            sorted((each for each in noted if _concerns(each.fact, uid)), key=lambda each: each.at)
        )


class RecurringFact(NamedTuple):
    """A fact, and when it was."""

    number: int
    first: Timestamp
    last: Timestamp
    times: int


class NodeEvents:
    """The last things that happened on the node, whatever they were about. Equal ones are one."""

    def __init__(self, most: int = MOST_OF_THE_NODE) -> None:
        self._most = most
        self._facts: OrderedDict[PostEvent | ObjectFact, RecurringFact] = OrderedDict()
        self._newest = 0
        self.forgotten = 0
        """Facts that were remembered once."""

    def note(self, fact: PostEvent | ObjectFact, now: Timestamp) -> None:
        """Note a fact, as the newest of all."""
        self._newest += 1
        known = self._facts.pop(fact, None)
        first, times = (now, 0) if known is None else (known.first, known.times)
        self._facts[fact] = RecurringFact(self._newest, first, now, times + 1)
        if len(self._facts) > self._most:
            self._facts.popitem(last=False)
            self.forgotten += 1

    def newest_first(self) -> Iterator[tuple[PostEvent | ObjectFact, RecurringFact]]:
        """Yield each fact that is remembered, and when it was."""
        yield from reversed(self._facts.items())


def _concerns(fact: ObjectFact, uid: PodUid) -> bool:
    return not isinstance(fact, ChangeDecided) or fact.pod == uid
