"""Who holds the objects of an origin, as their manager sees it.

Actors hold those of the API server (``api_holders``), one actor all local ones; there may be nobody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from typing_extensions import override

from kernel import Level, Port
from messages.holders import (
    HolderIs,
    ListLocalObjects,
    LocalHolderMessage,
    LocalObjectsListed,
    LocalReferencesAre,
    ReferencesAre,
    UnprovenUsed,
)
from messages.objects import (
    HeldObject,
    ObjectAvailability,
    ObjectDescribed,
    ObjectId,
    ObjectState,
    ReadVerdict,
)
from stores.objects.reference_index import ReferenceIndex

UNDESCRIBED: Final = "no file describes it"
"""Why a local object does not exist."""


ManagedObjects: TypeAlias = Level[ObjectId, HeldObject]
"""The level of a manager, in which holders set what they hold."""

_UNREFERENCED: Final = HeldObject(verdict=ReadVerdict.NOT_REGISTERED, reason="no pod references it")


class ObjectHolders(ABC):
    """The holders of all objects of one origin."""

    trouble: str = ""
    """Why there are no holders; empty when there are."""

    @abstractmethod
    def adopt(self) -> None:
        """Repeat what was told last, since the manager may have crashed while telling it.

        Holders that are alive stay as they are.
        """

    @abstractmethod
    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        """Tell the holder of ``wanted`` who needs it, if anybody. May repeat."""

    @abstractmethod
    def note_use(self, used: UnprovenUsed) -> None:
        """Have it noted that a pod goes on with what was known of an object before it came."""

    @abstractmethod
    def note(self, news: HolderIs) -> HolderIs | None:
        """Remember ``news`` of an object; return what was told of it before, None if nothing was."""

    @abstractmethod
    def news(self, wanted: ObjectId) -> HolderIs | None:
        """Return what was told of an object last; None if nothing was."""

    def known(self, wanted: ObjectId) -> ObjectDescribed:
        """Return what is known of an object, without its references. Faster than ``described``."""
        news = self.news(wanted)
        return news.described if news else ObjectDescribed(object=wanted, state=self.state(wanted))

    def described(self, wanted: ObjectId, references: int) -> ObjectDescribed:
        """Return how an object is held. ``references`` is the number of pods that reference it."""
        known = self.known(wanted)
        return replace(known, references=references, error=known.error or self.trouble)

    def state(self, wanted: ObjectId) -> ObjectState:
        """Return the state of an object that a pod references: INITIALISING until its holder tells."""
        news = self.news(wanted)
        return news.described.state if news else ObjectState.INITIALISING


@dataclass(slots=True)
class LocalHolderMemory:
    """What outlives a life of the manager, of local objects."""

    told: dict[ObjectId, HolderIs] = field(default_factory=dict)
    """The latest news of each object that there is, or that went and is referenced."""
    listed: LocalObjectsListed | None = None
    """What is so of all other objects; None until the files have been listed."""


class LocalHolder(ObjectHolders):
    """The one holder of all local objects, which this manager neither starts nor stops."""

    def __init__(
        self,
        holder: Port[LocalHolderMessage],
        references: ReferenceIndex,
        memory: LocalHolderMemory,
    ) -> None:
        self._holder = holder
        self._references = references
        self._memory = memory

    @override
    def adopt(self) -> None:
        self._holder.tell(ListLocalObjects())

    @override
    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        """Tell the holder who needs it; forget an object that neither exists nor is referenced."""
        needs = LocalReferencesAre(
            object=wanted,
            references=references.references,
            newest=self._references.newest,
            wanted=references.wanted,
        )
        self._holder.tell(needs)
        news = self._memory.told.get(wanted)
        if news is not None and not references.references and not news.described.uid:
            del self._memory.told[wanted]

    @override
    def note_use(self, used: UnprovenUsed) -> None:
        self._holder.tell(used)

    @override
    def note(self, news: HolderIs) -> HolderIs | None:
        wanted = news.described.object
        before = self._memory.told.pop(wanted, None)
        if news.described.uid or wanted in self._references.objects():
            self._memory.told[wanted] = news
        return before

    def note_listed(self, listed: LocalObjectsListed) -> None:
        """Remember what is so of all objects that no file holds."""
        self._memory.listed = listed

    @override
    def news(self, wanted: ObjectId) -> HolderIs | None:
        news, listed = self._memory.told.get(wanted), self._memory.listed
        if listed is None or (news is not None and news.described.uid):
            return news
        return HolderIs(described=unheld(wanted, listed))


NO_FILES: Final = "static pods read files of --local-objects-dir, and this node has none"
NO_API_SERVER: Final = "this node belongs to no API server"


class NoHolders(ObjectHolders):
    """Nobody can hold objects of this origin: followers of each are told the same."""

    def __init__(self, trouble: str, verdict: ReadVerdict, objects: ManagedObjects) -> None:
        self.trouble = trouble
        self._objects = objects
        self._held = HeldObject(verdict=verdict, reason=trouble)
        self._verdict = verdict
        is_missing = verdict is ReadVerdict.NOT_FOUND
        self._availability = (
            ObjectAvailability.MISSING if is_missing else ObjectAvailability.UNKNOWN
        )

    @override
    def known(self, wanted: ObjectId) -> ObjectDescribed:
        return replace(super().known(wanted), availability=self._availability)

    @override
    def adopt(self) -> None:
        """There is nobody to tell."""

    @override
    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        """Tell the followers of a referenced object that nobody can hold it."""
        if references.references:
            self._objects.set(wanted, self._held, proven=references.wanted)
        else:
            set_unheld(self._objects, wanted, references.wanted)

    @override
    def note_use(self, used: UnprovenUsed) -> None:
        """There is nobody to tell."""

    @override
    def note(self, news: HolderIs) -> None:
        """There is nobody who tells any."""

    @override
    def news(self, wanted: ObjectId) -> None:
        """There is nobody who tells any."""


def set_unheld(objects: ManagedObjects, wanted: ObjectId, look: int) -> None:
    """Tell the followers of an object, if there are any, that no pod references it.

    ``look`` is the last look that they want; 0 if there are none.
    """
    if look:
        objects.set(wanted, _UNREFERENCED, proven=look)
    else:
        objects.remove(wanted)


def unheld(wanted: ObjectId, listed: LocalObjectsListed) -> ObjectDescribed:
    """Return the description of a local object that no file holds: absent, or its file is refused."""
    refusal = listed.refused.get(wanted.display_name)
    if refusal is not None:
        return ObjectDescribed(
            object=wanted,
            state=ObjectState.LOCAL,
            error=refusal,
            availability=ObjectAvailability.UNUSABLE,
        )
    is_certain = listed.current_until is None
    return ObjectDescribed(
        object=wanted,
        state=ObjectState.ABSENT,
        current_until=listed.current_until,
        is_known=True,
        error=listed.error or UNDESCRIBED,
        availability=ObjectAvailability.MISSING if is_certain else ObjectAvailability.UNKNOWN,
    )
