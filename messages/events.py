"""Events that the agent posts at the API server, for people who look at the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from messages.objects import ObjectFact, ObjectId
from messages.pods import JsonObject, Pod, PodUid
from messages.port import Port
from messages.units import Timestamp


class EventType(StrEnum):
    """The API's two kinds of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReference:
    """What an event is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"
    field_path: str = ""
    """The part of the object that it is about, such as ``spec.containers{main}``; empty for the whole."""

    @classmethod
    def of_pod(cls, pod: Pod, field_path: str = "") -> ObjectReference:
        """Return the reference of a pod, or of a part of it."""
        return cls(
            kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid, field_path=field_path
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PostEvent:
    """Asks for an event to be posted, soon or never; there is no answer. Equal events are counted as one."""

    regarding: ObjectReference
    type: EventType
    reason: str
    """One word in CamelCase, for programs."""
    message: str
    """For people; cut at 1,024 bytes, as the API demands. Never contains values of Secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeEvents:
    """Asks for the counts of posted events. Answered by one ``EventsDescribed``."""

    reply_to: Port[EventsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDescribed:
    """Counts of events since the process began."""

    posted: int
    dropped: Mapping[str, int]
    """Events that were never posted, by reason: ``spam``, ``queue_full``, ``refused``, ``given_up``."""


EventsMessage: TypeAlias = PostEvent | DescribeEvents


class NotedEvent(NamedTuple):
    """An event of a pod as it is remembered here. Equal ones are one, with a count."""

    first: Timestamp
    last: Timestamp
    times: int
    type: EventType
    reason: str
    message: str
    field_path: str
    """The part of the pod that it is about, such as ``spec.containers{main}``."""
    before: tuple[Timestamp, ...] = ()
    """When it was before its last time, as far as that is remembered."""


class NotedChange(NamedTuple):
    """A change of an object as it is remembered here, or what a pod wanted done about one."""

    at: Timestamp
    fact: ObjectFact


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNoted:
    """Tells that an event was posted or, without a cluster, would have been."""

    post: PostEvent
    at: Timestamp
    count: int
    """How often it was, as far as that is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowPosts:
    """Subscribes to every ``EventNoted`` from now on. Outlives crashes on both sides. May repeat."""

    subscriber: Port[EventNoted]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfollowPosts:
    """Ends a subscription. What is under way may still arrive. May repeat."""

    subscriber: Port[EventNoted]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePodEvents:
    """Asks what is remembered of a pod's events and objects. Answered by one ``PodEventsDescribed``."""

    uid: PodUid
    objects: frozenset[ObjectId] = frozenset()
    """Those that the pod references."""
    reply_to: Port[PodEventsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEventsDescribed:
    """What is remembered of a pod, the oldest first."""

    events: tuple[NotedEvent, ...]
    changes: tuple[NotedChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeEventsOfPods:
    """Asks what is remembered of the events of several pods. Answered by one ``EventsOfPods``."""

    uids: tuple[PodUid, ...]
    reply_to: Port[EventsOfPods]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOfPods:
    """What is remembered of each pod that had events, the oldest first."""

    events: Mapping[PodUid, tuple[NotedEvent, ...]]


class PastEvent(NamedTuple):
    """Something that happened on the node. Equal ones are one, with a count."""

    number: int
    """Counts everything that happened: a later one has a greater number."""
    first: Timestamp
    last: Timestamp
    times: int
    kind: str
    """``event``, ``object`` or ``decision``, as readers of ``/events`` are told it."""
    data: JsonObject
    """What they are told of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePastEvents:
    """Asks what is remembered of all that happened on the node. Answered by one ``PastEventsDescribed``."""

    reply_to: Port[PastEventsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEventsDescribed:
    """What is remembered of the node, the newest first."""

    since: Timestamp
    """When the agent started. What was before nobody remembers."""
    forgotten: int
    """How many were remembered since then, and are not any more."""
    events: tuple[PastEvent, ...]


EventRecorderMessage: TypeAlias = (
    PostEvent
    | ObjectFact
    | FollowPosts
    | UnfollowPosts
    | DescribePodEvents
    | DescribeEventsOfPods
    | DescribePastEvents
)
"""What the recorder of events hears."""
