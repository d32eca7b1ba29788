"""What the manager of a kind of objects and the holders of these objects tell each other.

A holder is the actor that has the value of an object and learns of its changes. Each object of the API server
has one, a watcher or a fetcher; all files of this machine have one together. The manager knows which pods
reference which objects. Holders set the values in its level.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NewType, TypeAlias

from messages.objects import (
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    UnprovenTaken,
)
from messages.units import Seconds, Timestamp

Mark = NewType("Mark", int)
"""The number of a reference, in the order in which pods came to reference objects: a new reference has a
higher mark than all before it. What was asked of the API server at a mark, or later, is fresh enough for
the reference of that mark."""

NO_MARK: Final = Mark(0)
"""Lower than the mark of any reference."""

EVERY_MARK: Final = Mark(sys.maxsize)
"""No reference has a higher one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesAre:
    """Tells a holder who needs its object. Coalesced: newest wins. Without references the holder lets go."""

    references: int
    """How many pods reference the object."""
    newest: Mark
    """The mark of the latest reference."""
    is_followed: bool
    """Whether somebody wants to hear of its changes, or a pod cannot have the object although it requires it.
    The object then counts as read all the time."""
    wanted: int = 0
    """``KeyFollowed.wanted`` of the object's level: what is learned for ``newest`` proves it. 0 while nobody
    follows the level."""
    time_to_live: Seconds = Seconds(60.0)
    """For strategy Cache: how old a value may be; 0 means that no value is young enough. A followed object is
    fetched once in this time, and then once a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopIfIdle:
    """Asks a holder whether it is still idle, so that it may be stopped. Answered by ``HolderIdle`` if so."""

    number: int
    """Returned with the answer. From 1 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenUsed:
    """Tells a holder what a pod goes on with that nobody could prove in time."""

    taken: UnprovenTaken
    mark: Mark
    """Of the pod's reference."""


HolderMessage: TypeAlias = ReferencesAre | UnprovenUsed | StopIfIdle


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderIs:
    """Tells how an object is held from now on, and what changed. In order; may repeat."""

    described: ObjectDescribed
    """Its ``references`` mean nothing: only the manager knows them."""
    changed: ObjectChanged | None = None
    concerns: Mark = EVERY_MARK
    """Who is concerned by ``changed``: pods whose reference has this mark or a lower one may have used the
    former value, or started without one. Pods with higher marks start with the new value. ``NO_MARK`` if the
    object was learned of for the first time, and if every pod has this value already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderDone:
    """Tells that the holder of ``object`` has let go: it can be stopped, unless there are references again.

    Answers each ``ReferencesAre`` without references; may repeat.
    """

    object: ObjectId
    newest: Mark
    """As in the ``ReferencesAre`` that it answers. It identifies this release of the object: no other has
    it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderBegan:
    """Tells that the holder of ``object`` was restarted. Tell it the last message again."""

    object: ObjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLocalObjects:
    """Asks the holder of local objects for one ``HolderIs`` of each object, now and after its first look.

    A ``LocalObjectsListed`` follows them.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReferencesAre:
    """Tells the holder of local objects who needs one of them. Coalesced: newest wins. May repeat."""

    object: ObjectId
    references: int
    """How many pods reference the object."""
    newest: Mark
    """The mark of the latest reference to any object of its kind: one look is enough for many."""
    wanted: int
    """As in ``ReferencesAre``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalObjectsListed:
    """Tells what is so of all local objects of a kind that are not held, once the files have been listed.

    Such an object does not exist, or its file cannot be used and never could. Newest wins; may repeat.
    """

    refused: Mapping[str, str]
    """Why a file cannot be used, by ``<namespace>/<name>`` of the object that it would describe."""
    current_until: Timestamp | None = None
    """When the files could be listed last; None if they can be now, and if they never could."""
    error: str = ""
    """Why the files cannot be listed at present; empty if they can."""


LocalHolderMessage: TypeAlias = ListLocalObjects | LocalReferencesAre | UnprovenUsed


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderIdle:
    """Tells that nobody has read ``object`` for long, and that its holder does nothing but wait.

    The manager may stop the holder if it has told it nothing after the ``StopIfIdle`` that this answers.
    Whatever was told before has then been handled. Told by itself, too, once when the object becomes idle,
    and after each ``ReferencesAre`` that leaves it so.
    """

    object: ObjectId
    number: int = 0
    """As in the ``StopIfIdle`` that it answers; 0 if it answers none."""


HolderFact: TypeAlias = HolderIs | HolderDone | HolderBegan | HolderIdle
"""What the manager hears from the holders of the API server's objects."""

LocalHolderFact: TypeAlias = HolderIs | LocalObjectsListed
"""What the manager hears from the holder of local objects."""
