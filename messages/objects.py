"""Secrets and ConfigMaps that pods reference: who reads and follows them, and what is told of them.

Values travel in one message, the answer to a read. Everything else carries names and versions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from messages.pod_manager import PodFact
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.units import Seconds, Timestamp


class ObjectKind(StrEnum):
    """What pods reference, in the API's words."""

    SECRET = "Secret"  # noqa: S105  # a kind, not one of them
    CONFIG_MAP = "ConfigMap"


class Origin(StrEnum):
    """Where an object is read from."""

    API = "api"
    """The API server: what pods that it bound to this node reference."""
    LOCAL = "local"
    """Files of this machine: what static pods reference, joined or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectId:
    """Which object. Local and API objects of one name are two, and never answer for each other."""

    kind: ObjectKind
    namespace: str
    name: str
    origin: Origin = Origin.API

    @property
    def display_name(self) -> str:
        """``<namespace>/<name>``, as people and logs write it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectValue:
    """One version of an object, and nothing of it that nobody needs. The ``repr`` shows no value."""

    uid: str
    resource_version: str
    data: Mapping[str, bytes] = field(repr=False)
    """Decoded: ``data`` of a Secret, ``data`` (as UTF-8) and ``binaryData`` of a ConfigMap."""
    immutable: bool = False
    type: str = ""
    """Of a Secret."""


# Reading.


class ReadVerdict(StrEnum):
    """What came of a read."""

    FOUND = "found"
    STALE = "stale"
    """The last value known; it may have changed since. ``age`` says how old that knowledge is."""
    NOT_FOUND = "not_found"
    """There is none. With an ``age``: there was none when that was last known."""
    NOT_REGISTERED = "not_registered"
    """The pod is not known, or does not reference the object."""
    NOT_SYNCED = "not_synced"
    """Nothing was learned of it in time. ``reason`` says why, as far as that is known."""
    FORBIDDEN = "forbidden"
    """The API server does not let this node read it."""
    UNUSABLE = "unusable"
    """There is one, but it is broken, and no good version of it was ever seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetObject:
    """Reads an object for a pod, which has to reference it: the name is one in the pod's namespace.

    Answered by one ``ObjectRead``, within ``within`` and a little; if who holds the object has crashed,
    its restart comes on top. The first read of a new pod is no older than the pod's registration, or
    marked as stale.
    """

    pod: PodUid
    name: str
    reply_to: Port[ObjectRead]
    ref: Hashable = None
    """Comes back with the answer."""
    within: Seconds = Seconds(1.0)
    """What may be waited for an answer that is current, as long as a kubelet does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRead:
    """What came of one ``GetObject``."""

    kind: ObjectKind
    pod: PodUid
    name: str
    ref: Hashable
    verdict: ReadVerdict
    value: ObjectValue | None = None
    """Set for FOUND and STALE."""
    age: Seconds | None = None
    """How long ago this was last known to be so; None when it is current."""
    reason: str = ""
    """For people; empty when it was found. Never a value."""


# Following.


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChanged:
    """An object is another than what was told of it last. Never carries a value.

    Told in the order of its versions, unless etcd was restored from a backup; may skip some, and may
    repeat after a crash. ADDED when it is learned of first, and when there is one again after there was
    none. One that was deleted and made anew between two looks is MODIFIED, with another UID.
    """

    object: ObjectId
    change: Change
    uid: str
    resource_version: str
    keys: tuple[str, ...]
    """Whose values are others than before, or came, or went; sorted. Empty when only metadata changed."""


class ChangeAction(StrEnum):
    """What a change of an object means for a pod that references it."""

    SIGNAL = "signal"
    RESTART = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDecided:
    """A pod wants something done about a change, by its annotation. Whoever runs pods carries it out."""

    pod: PodUid
    pod_name: str
    """``<namespace>/<name>``."""
    action: ChangeAction
    signal: str
    """Such as ``SIGHUP``; empty for a restart."""
    delay: Seconds
    """To wait before: a random part of the pod's splay, so that not all pods do it at once."""
    changed: ObjectChanged


ObjectFact: TypeAlias = ObjectChanged | ChangeDecided


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowObjects:
    """Wants every ``ObjectFact`` of one object, or of all, from here on. May repeat.

    Nothing is told of the present state: who needs it reads after having subscribed. What somebody
    follows counts as read all the time, so that its watch is never stopped for idleness. A
    subscription outlives crashes on both sides, and may be there before anybody references the object.
    """

    subscriber: Port[ObjectFact]
    object: ObjectId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfollowObjects:
    """Takes back one ``FollowObjects``. Facts that are under way may still arrive. May repeat."""

    subscriber: Port[ObjectFact]
    object: ObjectId | None = None


# Registering.


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPod:
    """A pod needs what it references until ``UnregisterPod``, whatever the sources say of it.

    May repeat, with other references too: those that it has no more are released. A mirror pod, and a
    pod in a terminal phase, references nothing.
    """

    pod: Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterPod:
    """Takes back ``RegisterPod``. Harmless for a pod that is not registered."""

    pod: PodUid


# How it all is.


class ObjectState(StrEnum):
    """How an object is held."""

    INITIALISING = "initialising"
    """Asked for, and not listed yet."""
    SYNCED = "synced"
    """Listed, and watched; or it was, and the watch is being mended."""
    IDLE = "idle"
    """Nobody read it for long, so that its watch was stopped. The last value is kept."""
    IMMUTABLE = "immutable"
    """It says that it will not change, so that nobody watches it."""
    STOPPED = "stopped"
    """No pod references it any more."""
    CACHED = "cached"
    """Strategy Cache: fetched when it is read and too old."""
    DIRECT = "direct"
    """Strategy Get: fetched whenever it is read."""
    LOCAL = "local"
    """From a file of this machine."""
    ABSENT = "absent"
    """Pods reference it, and there is none, as far as is known: whether it is watched or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDescribed:
    """How one object is held."""

    object: ObjectId
    state: ObjectState
    references: int = 0
    """Pods that reference it."""
    uid: str = ""
    """Empty while there is none, or nothing is known of it. So is ``resource_version``."""
    resource_version: str = ""
    current_until: Timestamp | None = None
    """When it was last known to be so. None when that is now, and when nothing is known yet. For an
    immutable object, which nobody watches, that is the last look at it."""
    is_known: bool = False
    """Whether it was ever learned what it is, or that there is none."""
    error: str = ""
    """What is wrong at present; empty when nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeObjects:
    """Asks how all objects of the kind are held. Answered by one ``ObjectsDescribed``."""

    reply_to: Port[ObjectsDescribed]
    in_detail: bool = True
    """Whether they are described one by one. 5,000 of them take 50 ms, and 5 ms to be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectsDescribed:
    """How all objects of one kind are held. The counts are since the process began."""

    kind: ObjectKind
    objects: tuple[ObjectDescribed, ...]
    """Empty unless they were asked for one by one."""
    states: Mapping[ObjectState, int]
    """How many objects are held how."""
    references: int
    """Of pods to objects; each pod counts once for each object."""
    pods: int
    """Pods that reference any."""
    changes: Mapping[Change, int]
    decisions: Mapping[ChangeAction, int]
    reads: int


ObjectManagerMessage: TypeAlias = (
    PodFact
    | RegisterPod
    | UnregisterPod
    | GetObject
    | FollowObjects
    | UnfollowObjects
    | DescribeObjects
)
"""What SecretManager and ConfigMapManager hear from others."""
