"""The messages about watching objects of the API server: who follows what, and what subscribers are told."""

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

    A target narrowed to one name is listed from etcd. Its list is the newest there is, and an empty list
    proves that there is no such object. Any other target is listed from the API server's cache, since etcd
    would have to be read as a whole for it. Such a list may lag a moment behind, but it is never older than
    what was told of the target before.
    """

    path: str
    """The collection, such as ``/api/v1/pods`` or ``/api/v1/namespaces/default/secrets``."""
    field_selector: str = ""
    """Such as ``spec.nodeName=n1`` or ``metadata.name=web``."""


class ObjectOp(StrEnum):
    """What happened to the object of a watch event, in the API's words."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectsAre:
    """All objects of a target. Replaces everything that was told of it before.

    Told first, after every relist, and again for each ``Watch``. An object that is missing in it was
    deleted.
    """

    target: WatchTarget
    objects: tuple[JsonObject, ...] = field(repr=False)
    """With ``apiVersion`` and ``kind``, which the items of a list do not have."""
    resource_version: str
    mark: int = 0
    """The highest ``Watch.mark`` for this target before the list was requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """One object of a target changed. In the order of the API server; may repeat after a reconnect."""

    target: WatchTarget
    op: ObjectOp
    object: JsonObject = field(repr=False)
    """The new state; if the object was deleted, its last state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFailed:
    """The target cannot be followed at present, and is tried again. What was told before stays as it was.

    Told when the target begins to fail and when the reason changes, not at every attempt. While it fails,
    also told first in answer to each ``Watch``. Told before any attempt has failed, too: when an ended
    stream is not replaced within a second, and when the keeper ends. It lasts until ``WatchRecovered``. An
    ``ObjectsAre`` in between is true, but changes to it may not be noticed yet.
    """

    target: WatchTarget
    failure: ApiFailure
    since: Seconds | None = None
    """Until when the told state was current, on the monotonic clock, if nothing was told after that. None
    when nothing was told before the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRecovered:
    """The target is followed again, from where it was left. Told once after each ``WatchFailed``.

    What happened meanwhile was told before.
    """

    target: WatchTarget


WatchFact: TypeAlias = ObjectsAre | WatchEvent | WatchFailed | WatchRecovered


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Subscribes to every ``WatchFact`` of a target.

    If the same subscriber repeats it the target is listed anew, which is what a restarted subscriber needs.
    A subscription outlives crashes on both sides. A target that waits after a 403 is tried at once.
    """

    target: WatchTarget
    subscriber: Port[WatchFact]
    mark: int = 0
    """A subscriber that must tell a later list from an earlier one gives a higher mark in each repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwatch:
    """Ends a subscription. Facts that are on their way may still arrive. May repeat."""

    target: WatchTarget
    subscriber: Port[WatchFact]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTarget:
    """Lists a target once, whether or not it is watched, without touching its watch.

    Answered by one ``TargetListed``, told to the asker only: LOST if the keeper ends meanwhile; none if the
    keeper crashes over this very message. Only for targets by name, whose list is the newest there is. A
    failed list is not repeated.
    """

    target: WatchTarget
    reply_to: Port[TargetListed]
    mark: int = 0
    """Returned with the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetListed:
    """The answer to one ``ListTarget``.

    It may be older than what the target's watch told meanwhile: the receiver compares versions.
    """

    target: WatchTarget
    mark: int
    outcome: ObjectsAre | ApiFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAllAnew:
    """The API server was put back into its past: every target is listed anew at once.

    A watch from a version that does not exist yet would be silent, and what was told may never have been.
    May repeat.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeWatches:
    """Asks for the state of the watches. Answered by one ``WatchesDescribed``."""

    reply_to: Port[WatchesDescribed]
    in_detail: bool = True
    """Whether to include watches with which nothing is wrong. 5,000 of them take 25 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDescribed:
    """The state of one watch."""

    target: WatchTarget
    state: str
    """``listing``, ``watching``, or ``waiting`` (for its next attempt)."""
    resource_version: str
    since: Timestamp
    """When it entered this state."""
    reconnects: int
    error: str
    """Why it is not watching; empty when nothing is wrong."""
    next_attempt_in: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchesDescribed:
    """The state of all watches."""

    watches: tuple[WatchDescribed, ...]
    """All watches, or only those with which something is wrong."""
    connections: int
    """Clients that streams are multiplexed over. Each has one connection, or more after a GOAWAY."""
    streams: int
    """Watches that are open at the API server."""
    reconnects: Mapping[str, int]
    """How often watches were opened again since the process began, by reason."""
    requests: Mapping[tuple[str, str, str], int]
    """Requests by status code, host and method, as in ``CallsDescribed``."""


WatchesMessage: TypeAlias = Watch | Unwatch | ListTarget | ListAllAnew | DescribeWatches
"""The messages that the keeper of watch streams receives from others."""
