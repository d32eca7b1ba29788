"""Which events are posted, and how equal and similar ones are combined. Pure.

The numbers are client-go's. Equal events within ten minutes become one event with a count. More than ten
similar ones become one that says so. At most 25 events about one object are posted at once, and after
that one in five minutes.

A series holds what the API server should know and what it knows. So while it cannot be reached, equal
events cost nothing but a higher count.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from kernel import TokenBucket
from manifests.times import rfc3339
from messages.api import ApiRequest, Verb
from messages.events import ObjectReference, PostEvent
from messages.units import Seconds, Timestamp

WINDOW = Seconds(600.0)
"""Equal or similar events are combined if the last one was no longer ago."""
SIMILAR_LIMIT = 10
"""How many different messages of similar events are posted one by one."""
BURST = 25
REFILL = Seconds(300.0)
"""After a burst, one more event about an object may be posted in each such span."""
MEMORY_LEN = 4096
"""How many events, kinds of events and objects are remembered, each."""
MESSAGE_LEN = 1024
"""Bytes of a message that the API server accepts."""
_NAME_LEN = 253 - 17
"""How many characters of an object's name an event's name may have."""

_FULL: Final = TokenBucket(rate=1 / REFILL, burst=BURST)

COMBINED = "(combined from similar events): "
COMPONENT = "actorlet"

_DEFAULT_NAMESPACE = "default"
"""The namespace of events about objects that have none."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True, eq=False)
class EventSeries:
    """Equal events, which are one Event object at the API server."""

    post: PostEvent
    """The newest of them."""
    message: str
    name: str
    first: Timestamp
    last: Timestamp
    count: int = 0
    posted: int = 0
    """How many of them the API server knows."""
    is_known: bool = False
    """The API server has the Event object, with whatever count."""
    attempts: int = 0
    """How many requests about it failed in a row."""

    @property
    def namespace(self) -> str:
        """The namespace of the Event object."""
        return self.post.regarding.namespace or _DEFAULT_NAMESPACE

    @property
    def is_told(self) -> bool:
        """Whether the API server knows all of them."""
        return self.is_known and self.posted == self.count


@dataclass(slots=True)
class _Similar:
    """Messages of events that differ in nothing else."""

    last: Timestamp
    messages: set[str] = field(default_factory=set)


class Lru(Generic[K, V]):
    """The most recently used entries."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the entry of ``key``, or a new one from ``make``, which may push out the oldest entry."""
        if key not in self._entries:
            self._entries[key] = make()
            if len(self._entries) > self._length:
                self._entries.popitem(last=False)
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Set the entry of ``key`` to ``value``."""
        self._entries.pop(key, None)
        self.get(key, lambda: value)


class EventCorrelator:
    """Remembers recent events, and combines new ones with them."""

    def __init__(self, length: int = MEMORY_LEN) -> None:
        self._series: Lru[Hashable, EventSeries] = Lru(length)
        self._similar: Lru[Hashable, _Similar] = Lru(length)
        self._buckets: Lru[Hashable, TokenBucket] = Lru(length)
        self._last_name = 0

    def series_of(self, post: PostEvent, now: Timestamp) -> EventSeries | None:
        """Count ``post`` in its series and return the series; None if the object has too many events."""
        if not self._may_post(post, now):
            return None
        kind = (_whole(post.regarding), post.type, post.reason)
        message = _cut(post.message)
        key: Hashable = (kind, post.regarding.field_path, message)
        if self._is_one_of_many(kind, message, now):
            key, message = kind, _cut(COMBINED + post.message)
        series = self._series.get(key, lambda: self._begun(post, message, now))
        if now - series.last > WINDOW:
            series = self._begun(post, message, now)
            self._series.put(key, series)
        series.post, series.message, series.last = post, message, now
        series.count += 1
        return series

    def rename(self, series: EventSeries) -> None:
        """Give ``series`` a new name: the API server has deleted its Event object."""
        series.name = self._name(series.post, series.last)
        series.is_known = False

    def _begun(self, post: PostEvent, message: str, now: Timestamp) -> EventSeries:
        name = self._name(post, now)
        return EventSeries(post=post, message=message, name=name, first=now, last=now)

    def _name(self, post: PostEvent, now: Timestamp) -> str:
        # As client-go's: the time in nanoseconds, which has sixteen hex digits. Never the same twice.
        self._last_name = max(self._last_name + 1, int(now * 1e9))
        return f"{post.regarding.name[:_NAME_LEN].rstrip('-.')}.{self._last_name:016x}"

    def _is_one_of_many(self, kind: Hashable, message: str, now: Timestamp) -> bool:
        similar = self._similar.get(kind, lambda: _Similar(now))
        if now - similar.last > WINDOW:
            similar.messages.clear()
        similar.last = now
        if len(similar.messages) <= SIMILAR_LIMIT:
            similar.messages.add(message)
        return len(similar.messages) > SIMILAR_LIMIT

    def _may_post(self, post: PostEvent, now: Timestamp) -> bool:
        whole = _whole(post.regarding)
        bucket, wait = self._buckets.get(whole, lambda: _FULL).take(now)
        self._buckets.put(whole, bucket)
        return not wait


def posting(series: EventSeries, host: str) -> ApiRequest:
    """Return the request that brings the Event object of ``series`` up to date, or creates it."""
    collection = f"/api/v1/namespaces/{series.namespace}/events"
    if not series.is_known:
        return ApiRequest(verb=Verb.CREATE, path=collection, body=_event(series, host))
    return ApiRequest(
        verb=Verb.PATCH,
        path=f"{collection}/{series.name}",
        body={
            "count": series.count,
            "lastTimestamp": rfc3339(series.last),
            "message": series.message,
        },
    )


def _whole(regarding: ObjectReference) -> Hashable:
    """Return what is the same for all parts of an object: limits are for it as a whole."""
    return regarding.kind, regarding.namespace, regarding.name, regarding.uid, regarding.api_version


def _event(series: EventSeries, host: str) -> dict[str, Any]:
    post = series.post
    regarding = {
        "apiVersion": post.regarding.api_version,
        "kind": post.regarding.kind,
        "namespace": post.regarding.namespace,
        "name": post.regarding.name,
        "uid": post.regarding.uid,
        "fieldPath": post.regarding.field_path,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": series.name, "namespace": series.namespace},
        "involvedObject": {key: value for key, value in regarding.items() if value},
        "type": post.type.value,
        "reason": post.reason,
        "message": series.message,
        "source": {"component": COMPONENT, "host": host},
        "reportingComponent": COMPONENT,
        "reportingInstance": host,
        "firstTimestamp": rfc3339(series.first),
        "lastTimestamp": rfc3339(series.last),
        "count": series.count,
    }


def _cut(message: str) -> str:
    return message.encode()[:MESSAGE_LEN].decode(errors="ignore")
