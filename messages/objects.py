"""Secrets and ConfigMaps that pods reference: what is known of them, and how they are held.

Only the levels of objects carry values. All messages carry names and versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from messages.pod_manager import PodFact
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.units import Seconds, Timestamp


class ObjectKind(StrEnum):
    """What kind of object pods reference, as the API names it."""

    SECRET = "Secret"  # noqa: S105  # a kind, not one of them
    CONFIG_MAP = "ConfigMap"


class Origin(StrEnum):
    """Where an object is read from."""

    API = "api"
    """The API server, for pods that it bound to this node."""
    LOCAL = "local"
    """Files of this machine, for static pods, whether or not the agent belongs to a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectId:
    """Identifies an object. A local one and one of the API server are two, even if they have one name."""

    kind: ObjectKind
    namespace: str
    name: str
    origin: Origin = Origin.API

    @property
    def display_name(self) -> str:
        """``<namespace>/<name>``, for people and logs."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectValue:
    """One version of an object, without the parts that nobody needs. The ``repr`` shows no value."""

    uid: str
    resource_version: str
    data: Mapping[str, bytes] = field(repr=False)
    """Decoded: ``data`` of a Secret, ``data`` (as UTF-8) and ``binaryData`` of a ConfigMap."""
    immutable: bool = False
    type: str = ""
    """The type of a Secret; empty for a ConfigMap."""
    binary_keys: frozenset[str] = frozenset()
    """The keys of a ConfigMap's ``binaryData``. Volumes have them, and variables are never set from them."""


# What is known of them.


class ReadVerdict(StrEnum):
    """What is known of an object."""

    FOUND = "found"
    STALE = "stale"
    """The last known value, which may have changed since. ``age`` says how old that knowledge is."""
    NOT_FOUND = "not_found"
    """There is no such object. With an ``age``: there was none when that was last known."""
    NOT_REGISTERED = "not_registered"
    """No pod references the object."""
    NOT_SYNCED = "not_synced"
    """Nothing was learned of the object in time. ``reason`` says why, if that is known."""
    FORBIDDEN = "forbidden"
    """The API server does not let this node read the object."""
    UNUSABLE = "unusable"
    """The object exists but is broken, and no good version of it was ever seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldObject:
    """What is known of an object: what a level has for its key. The ``repr`` shows no value."""

    verdict: ReadVerdict
    value: ObjectValue | None = field(default=None, repr=False)
    """Set for FOUND and STALE."""
    is_current: bool = True
    """False for STALE, and if it is not certain any more that there is no such object."""
    known_at: Seconds | None = field(default=None, compare=False)
    """When it was last certain that this is so, on the monotonic clock; None if it is current, or unknown."""
    reason: str = ""
    """Why it was not found, for people. Never contains a value."""

    def age(self, now: Seconds) -> Seconds | None:
        """Return how long ago this was last certain, in seconds; None if it is, or if nothing is known."""
        return None if self.known_at is None else Seconds(max(0.0, now - self.known_at))


BEGUN_WITH: Final = frozenset({ReadVerdict.FOUND, ReadVerdict.STALE, ReadVerdict.NOT_FOUND})
"""A pod that is told one of these goes on with what is known: with a value, or without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenTaken:
    """Tells that a pod goes on with what was known of an object before the pod came.

    Nobody could say in time whether it is still so. It counts as what the pod has begun with. Told once for
    each time that a follower has waited in vain for a fresh value. Never carries a value.
    """

    pod: PodUid
    object: ObjectId
    verdict: ReadVerdict
    resource_version: str
    """Of the value that the pod goes on with; empty if it goes on without one."""


# Following.


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChanged:
    """Tells that an object is not what was told of it last. Never carries a value.

    Told in the order of versions, unless etcd was restored from a backup; may skip versions, and may repeat
    after a crash. ADDED if the object is learned of for the first time, and if it exists again. An object
    that was deleted and recreated between two looks is MODIFIED, with another UID.
    """

    object: ObjectId
    change: Change
    uid: str
    resource_version: str
    keys: tuple[str, ...]
    """The keys whose values changed, were added or removed; sorted. Empty if only metadata changed."""


class ChangeAction(StrEnum):
    """What a pod wants done about a change of an object that it references."""

    SIGNAL = "signal"
    RESTART = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDecided:
    """Tells that a pod wants something done about a change, by its annotation. Who runs the pod does it."""

    pod: PodUid
    pod_name: str
    """``<namespace>/<name>``."""
    action: ChangeAction
    signal: str
    """Such as ``SIGHUP``; empty for a restart."""
    delay: Seconds
    """How long to wait first: a random part of the pod's splay, so that not all pods act at once."""
    changed: ObjectChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMissed:
    """Tells that an object is not what a pod was started with: it changed while no agent was there.

    Nobody else heard of the change. What the pod wants done about it is decided and told as for any other
    change, for this pod alone. Its ``keys`` are all that the object has: what it was is not known any more.
    """

    pod: PodUid
    changed: ObjectChanged


ObjectFact: TypeAlias = ObjectChanged | ChangeDecided


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowObjects:
    """Subscribes to every ``ObjectFact`` of one object, or of all, from now on. May repeat.

    Nothing is told of the present state: whoever needs that follows the object's level. A followed
    object counts as read all the time, so that its watch is never stopped for idleness. A subscription
    outlives crashes on both sides, and may begin before any pod references the object.
    """

    subscriber: Port[ObjectFact]
    object: ObjectId | None = None
    """None: all objects of the kind."""
    pod: PodUid | None = None
    """Decisions about other pods are not told, and those about this one come before the change itself: who
    has heard of the change knows what is to be done about it. None: decisions about any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfollowObjects:
    """Ends the subscription of one ``FollowObjects``. Facts under way may still arrive. May repeat."""

    subscriber: Port[ObjectFact]
    object: ObjectId | None = None


# Registering.


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPod:
    """Keeps the objects that a pod references held until ``UnregisterPod``, whatever the sources list.

    May repeat. If the pod references other objects than before, those that it dropped are released. A
    mirror pod references nothing, nor does a pod in a terminal phase.
    """

    pod: Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterPod:
    """Undoes ``RegisterPod``. Does nothing for a pod that is not registered."""

    pod: PodUid


# How it all is.


class ObjectState(StrEnum):
    """How an object is held."""

    INITIALISING = "initialising"
    """Asked for, and not listed yet."""
    SYNCED = "synced"
    """Listed and watched; or it was, and the watch is being restored."""
    IDLE = "idle"
    """Nobody read it for long, so its watch was stopped. The last value is kept."""
    IMMUTABLE = "immutable"
    """It says that it will not change, so nobody watches it."""
    STOPPED = "stopped"
    """No pod references it any more."""
    CACHED = "cached"
    """Strategy Cache: fetched when it is read and too old."""
    DIRECT = "direct"
    """Strategy Get: fetched whenever it is read."""
    LOCAL = "local"
    """From a file of this machine."""
    ABSENT = "absent"
    """Pods reference it and, as far as is known, it does not exist, whether it is watched or not."""


class ObjectAvailability(StrEnum):
    """What a pod gets that wants an object now, as far as it is known."""

    UNKNOWN = "unknown"
    """Nothing certain is known, or nothing at all: what was known last stands."""
    AVAILABLE = "available"
    """A value, even if it is stale."""
    MISSING = "missing"
    """There is no such object."""
    FORBIDDEN = "forbidden"
    """The API server does not let this node read it, and no value was ever seen."""
    UNUSABLE = "unusable"
    """It exists but is broken, and no good version was ever seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDescribed:
    """How one object is held."""

    object: ObjectId
    state: ObjectState
    references: int = 0
    """How many pods reference it."""
    uid: str = ""
    """Empty if the object does not exist, or nothing is known of it. So is ``resource_version``."""
    resource_version: str = ""
    current_until: Timestamp | None = None
    """When it was last known to be so; None if it is so now, and while nothing is known. For an immutable
    object, which nobody watches, when it was looked at last."""
    is_known: bool = False
    """Whether it was ever learned what the object is, or that it does not exist."""
    error: str = ""
    """What is wrong at present; empty if nothing is."""
    availability: ObjectAvailability = ObjectAvailability.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeObjects:
    """Asks how all objects of the kind are held. Answered by one ``ObjectsDescribed``."""

    reply_to: Port[ObjectsDescribed]
    in_detail: bool = True
    """Whether to describe them one by one. That takes 50 ms for 5,000 objects; counting them takes 5 ms."""
    only: frozenset[ObjectId] | None = None
    """Which of them to describe one by one; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectsDescribed:
    """How all objects of one kind are held. Counts of events are since the process began."""

    kind: ObjectKind
    objects: tuple[ObjectDescribed, ...]
    """Empty unless they were asked for one by one."""
    states: Mapping[ObjectState, int]
    """How many objects are in each state."""
    references: int
    """How many references there are: each pod counts once for each of its objects."""
    pods: int
    """How many pods reference any object."""
    changes: Mapping[Change, int]
    decisions: Mapping[ChangeAction, int]
    looks: int
    """How often volumes and pods have asked for a fresh value."""


ObjectManagerMessage: TypeAlias = (
    PodFact
    | RegisterPod
    | UnregisterPod
    | FollowObjects
    | UnfollowObjects
    | UnprovenTaken
    | ChangeMissed
    | DescribeObjects
)
"""What the managers of Secrets and of ConfigMaps hear from others."""
