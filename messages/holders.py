"""What the manager of a kind and those who hold its objects say to each other.

A holder has the value of an object, and learns of its changes: a watcher or a fetcher, one for each
object of the API server; and one for all files of this machine. The manager knows who references what,
and no value.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, NewType, TypeAlias

from messages.objects import (
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectRead,
)
from messages.pods import PodUid
from messages.port import Port
from messages.units import Seconds, Timestamp

Mark = NewType("Mark", int)
"""A moment in the order in which pods came to reference objects: each new reference has a higher one.
What was asked for at a mark, or later, is fresh enough for the reference of that mark."""

NO_MARK: Final = Mark(0)
"""Lower than that of any reference."""

EVERY_MARK: Final = Mark(sys.maxsize)
"""No reference has a higher one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesAre:
    """Who needs the object. Coalesced: newest wins. With no references the holder stops."""

    references: int
    """Pods."""
    newest: Mark
    """Of the latest of them."""
    is_followed: bool
    """Somebody wants to hear of its changes, so that it counts as read all the time."""
    time_to_live: Seconds = Seconds(60.0)
    """For strategy Cache: a followed object is asked for once in it, also if nobody reads. 0 is a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadObject:
    """Reads the object for a reference of ``mark``. Answered by one ``ObjectRead`` within ``within``.

    ``within`` counts from when the holder takes it. What a read had to wait with the manager, while the
    holder let go, is taken off before.
    """

    object: ObjectId
    mark: Mark
    pod: PodUid
    reply_to: Port[ObjectRead]
    ref: Hashable
    within: Seconds
    time_to_live: Seconds = Seconds(60.0)
    """For strategy Cache: how old a value may be. 0 is none at all."""


HolderMessage: TypeAlias = ReferencesAre | ReadObject


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderIs:
    """How an object is held from here on, and what changed by it. In order; may repeat."""

    described: ObjectDescribed
    """Its ``references`` do not count: the manager knows better."""
    changed: ObjectChanged | None = None
    concerns: Mark = EVERY_MARK
    """Of ``changed``: references of this mark, and of lower ones, may have used what the object was, or
    done without it. Those of higher ones begin with what it is. ``NO_MARK`` when it was learned of first,
    and when it is what everybody has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderDone:
    """The holder of ``object`` has let go of everything: it can be stopped, unless references came.

    Answers each ``ReferencesAre`` without references; may repeat.
    """

    object: ObjectId
    newest: Mark
    """As in the ``ReferencesAre`` that it answers: no other letting go of the object has the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderBegan:
    """The holder of ``object`` lives again, and may have missed what it was told: tell it once more."""

    object: ObjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLocalObjects:
    """Asks the holder of local objects for a ``HolderIs`` of each, now and after its first look.

    A ``LocalObjectsListed`` follows them.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReferencesAre:
    """Which is the newest of all references to local objects of a kind.

    Coalesced for each kind: newest wins. May repeat.
    """

    kind: ObjectKind
    newest: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalObjectsListed:
    """The files have been listed: what is so of every local object of the kind that is not held.

    There is none, or its file cannot be used and never could. Newest wins; may repeat.
    """

    refused: Mapping[str, str]
    """Why a file cannot be used, by ``<namespace>/<name>`` of the object that it would describe."""
    current_until: Timestamp | None = None
    """When the files could be listed last; None when they can be, and when they never could."""
    error: str = ""
    """Why they cannot be listed at present; empty when they can."""


LocalHolderMessage: TypeAlias = ReadObject | ListLocalObjects | LocalReferencesAre

HolderFact: TypeAlias = HolderIs | HolderDone | HolderBegan
"""What the manager hears from holders."""

LocalHolderFact: TypeAlias = HolderIs | LocalObjectsListed
"""What it hears from the holder of local objects."""
