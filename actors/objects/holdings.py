"""Who holds objects, for their manager: those of the API server (``api_holdings``), local ones, or nobody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from typing_extensions import override

from kernel import Port
from messages.holders import (
    NO_MARK,
    HolderIs,
    ListLocalObjects,
    LocalHolderMessage,
    LocalObjectsListed,
    LocalReferencesAre,
    Mark,
    ReadObject,
    ReferencesAre,
)
from messages.objects import ObjectDescribed, ObjectId, ObjectState, ReadVerdict
from stores.objects.answers import answer_of


class Holdings:
    """The holders of the objects of one origin."""

    trouble: str = ""
    """Why there are none; empty when there are."""

    def adopt(self) -> None:
        """Repeat everything that was said last: a crash may have come in between.

        Holders that are alive stay as they are.
        """

    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        """Have the object held for these references, or for none. May repeat."""

    def done(self, wanted: ObjectId, newest: Mark, references: ReferencesAre) -> None:
        """Stop a holder that has let go, unless there are ``references`` again.

        ``newest`` says of which time that it was told to: of any but the last it is a repeat.
        """

    def repeat(self, wanted: ObjectId) -> None:
        """Tell a holder again what it was told last."""

    def forget_ended(self) -> None:
        """Forget the holders that were stopped long ago."""

    def answer_overdue(self) -> None:
        """Answer the reads that have waited for a holder as long as they may."""

    def read(self, request: ReadObject) -> None:
        """Have the holder of a referenced object answer ``request``."""
        raise NotImplementedError

    def note(self, news: HolderIs) -> HolderIs | None:
        """Remember ``news`` of an object; return what had been told of it before."""
        raise NotImplementedError

    def note_listed(self, listed: LocalObjectsListed) -> None:
        """Remember what is so of all objects that are not held."""

    def news(self, wanted: ObjectId) -> HolderIs | None:
        """Return what was told of an object last."""
        raise NotImplementedError

    def described(self, wanted: ObjectId, references: int) -> ObjectDescribed:
        """Return how an object is held that so many pods reference."""
        news = self.news(wanted)
        described = (
            news.described if news else ObjectDescribed(object=wanted, state=self.state(wanted))
        )
        error = described.error or self.trouble
        return replace(described, references=references, error=error)

    def state(self, wanted: ObjectId) -> ObjectState:
        """Return in which state an object is held that a pod references."""
        news = self.news(wanted)
        return news.described.state if news else ObjectState.INITIALISING


@dataclass(slots=True)
class LocalHoldingsMemory:
    """What outlives a life of the manager, of local objects."""

    told: dict[ObjectId, HolderIs] = field(default_factory=dict)
    """The latest news of each that there is, or that went and is referenced."""
    listed: LocalObjectsListed | None = None
    """What is so of the others; None until the files have been listed."""


class LocalHoldings(Holdings):
    """The one holder of all local objects, which nobody starts or stops here."""

    def __init__(
        self,
        holder: Port[LocalHolderMessage],
        referenced: Collection[ObjectId],
        memory: LocalHoldingsMemory,
    ) -> None:
        self._holder = holder
        self._referenced = referenced
        """Always the present ones."""
        self._memory = memory
        self._newest = NO_MARK
        """As the holder was told in this life."""

    @override
    def adopt(self) -> None:
        self._holder.tell(ListLocalObjects())

    @override
    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        """Tell the holder of what is new; forget what is neither there nor referenced."""
        if references.newest > self._newest:
            self._newest = references.newest
            self._holder.tell(LocalReferencesAre(kind=wanted.kind, newest=self._newest))
        news = self._memory.told.get(wanted)
        if news is not None and not references.references and not news.described.uid:
            del self._memory.told[wanted]

    @override
    def read(self, request: ReadObject) -> None:
        self._holder.tell(request)

    @override
    def note(self, news: HolderIs) -> HolderIs | None:
        wanted = news.described.object
        before = self._memory.told.pop(wanted, None)
        if news.described.uid or wanted in self._referenced:
            self._memory.told[wanted] = news
        return before

    @override
    def note_listed(self, listed: LocalObjectsListed) -> None:
        self._memory.listed = listed

    @override
    def news(self, wanted: ObjectId) -> HolderIs | None:
        news, listed = self._memory.told.get(wanted), self._memory.listed
        if listed is None or (news is not None and news.described.uid):
            return news
        return HolderIs(described=unheld(wanted, listed))


class NoHoldings(Holdings):
    """There is nobody who could hold objects of this origin: reads have one verdict."""

    def __init__(self, trouble: str, verdict: ReadVerdict) -> None:
        self.trouble = trouble
        self._verdict = verdict

    @override
    def read(self, request: ReadObject) -> None:
        answer(request, self._verdict, self.trouble)

    @override
    def note(self, news: HolderIs) -> None:
        """Nobody is there who could tell any."""

    @override
    def news(self, wanted: ObjectId) -> None:
        """Nobody is there who could tell any."""


def unheld(wanted: ObjectId, listed: LocalObjectsListed) -> ObjectDescribed:
    """Return how a local object is that is not held: there is none, or its file cannot be used."""
    refusal = listed.refused.get(wanted.display_name)
    if refusal is not None:
        return ObjectDescribed(object=wanted, state=ObjectState.LOCAL, error=refusal)
    return ObjectDescribed(
        object=wanted,
        state=ObjectState.ABSENT,
        current_until=listed.current_until,
        is_known=True,
        error=listed.error,
    )


def answer(request: ReadObject, verdict: ReadVerdict, reason: str) -> None:
    """Answer a read that no holder will answer."""
    request.reply_to.tell(answer_of(request, verdict, reason=reason))
