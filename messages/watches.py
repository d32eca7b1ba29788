"""Watching objects of the API server: who wants to follow what, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from messages.api import ApiFailure
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTarget:
    """What to follow: a collection, narrowed by a field selector.

    What is narrowed to one name is listed from etcd, so that its list is the newest there is, and proves
    that there is no such object when it is empty. Any other is listed from the API server's cache, which
    may lag a moment behind, but is never older than what was told of the target before: etcd would have
    to be read whole for it.
    """

    path: str
    """The collection, such as ``/api/v1/pods`` or ``/api/v1/namespaces/default/secrets``."""
    field_selector: str = ""
    """Such as ``spec.nodeName=n1`` or ``metadata.name=web``."""


class ObjectOp(StrEnum):
    """What a watch event says of its object, in the API's words."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectsAre:
    """All objects of a target, complete: replaces what was told of it before.

    Told first, after every relist, and again for each ``Watch``. What is missing in it is deleted.
    """

    target: WatchTarget
    objects: tuple[JsonObject, ...] = field(repr=False)
    """With ``apiVersion`` and ``kind``, which the items of a list come without."""
    resource_version: str
    mark: int = 0
    """The highest ``Watch.mark`` that was heard for this target before the list was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """One object of a target changed. In the order of the API server; may repeat after a reconnect."""

    target: WatchTarget
    op: ObjectOp
    object: JsonObject = field(repr=False)
    """As it is from here on; as it was last when it is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFailed:
    """The target cannot be followed at present; it is tried again. What was told stays as it was.

    Told when it begins to fail and when it fails for another reason, not at every attempt; and, while
    it fails, first of all in answer to each ``Watch``. Told too, before any attempt has failed, when a
    stream that was lost is not replaced within a second, and when the keeper ends. It stands until
    ``WatchRecovered``: an ``ObjectsAre`` in between is true, but nothing says yet that changes to it will
    be heard of.
    """

    target: WatchTarget
    failure: ApiFailure
    since: Seconds | None = None
    """Until when what was told was current, on the monotonic clock, if nothing was told after that; None
    when nothing was told before it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRecovered:
    """After a ``WatchFailed``, and once: the target is followed again, from where it was left.

    What happened meanwhile was told before.
    """

    target: WatchTarget


WatchFact: TypeAlias = ObjectsAre | WatchEvent | WatchFailed | WatchRecovered


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Wants every ``WatchFact`` of a target from here on.

    A repeat by the same subscriber lists anew, so that is what a restarted subscriber does.
    A subscription outlives crashes on both sides. One that waits after a 403 is tried at once.
    """

    target: WatchTarget
    subscriber: Port[WatchFact]
    mark: int = 0
    """Higher in each repeat by who has to tell a list that was asked for later from an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwatch:
    """Wants nothing more of a target. Facts that are under way may still arrive. May repeat."""

    target: WatchTarget
    subscriber: Port[WatchFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTarget:
    """Lists a target once, whether or not it is watched, and leaves its watch alone.

    Answered by one ``TargetListed``, to who asked and nobody else: LOST if the keeper ends meanwhile,
    and none if this is the message that it crashes over.
    Only for targets by name: their list is the newest there is. Not repeated when it fails.
    """

    target: WatchTarget
    reply_to: Port[TargetListed]
    mark: int = 0
    """Comes back with the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetListed:
    """What one ``ListTarget`` found.

    It may be older than what the target's watch told meanwhile: who is told compares versions.
    """

    target: WatchTarget
    mark: int
    outcome: ObjectsAre | ApiFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeWatches:
    """Asks how the watches are. Answered by one ``WatchesDescribed``."""

    reply_to: Port[WatchesDescribed]
    in_detail: bool = True
    """Whether those are described too with which nothing is wrong. 5,000 of them take 25 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDescribed:
    """How one watch is."""

    target: WatchTarget
    state: str
    """``listing``, ``watching``, ``waiting`` (for its next attempt)."""
    resource_version: str
    since: Timestamp
    """When it got into this state."""
    reconnects: int
    error: str
    """Why it is not watching; empty when nothing is wrong."""
    next_attempt_in: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchesDescribed:
    """How all watches are."""

    watches: tuple[WatchDescribed, ...]
    """All of them, or those with which something is wrong."""
    connections: int
    """Clients that streams are multiplexed over: each has one connection, or more after a GOAWAY."""
    streams: int
    """Watches that are open at the API server."""
    reconnects: Mapping[str, int]
    """How often watches had to be opened again since the process began, by reason."""
    requests: Mapping[tuple[str, str, str], int]
    """As in ``CallsDescribed``: requests by status code, host and method."""


WatchesMessage: TypeAlias = Watch | Unwatch | ListTarget | DescribeWatches
"""What the keeper of watch streams hears from others."""
