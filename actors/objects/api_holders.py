"""The holders of the API server's objects: one actor for each object that pods reference.

Starts holders for their manager, tells them who needs their object, and stops them. A holder
that was told that nobody needs its object hears nothing more until it has answered ``HolderDone``; what comes
meanwhile waits. The mark in ``HolderDone`` tells which release it answers, so that no holder is stopped whose
object is needed again.

A holder whose object nobody follows is stopped as well, once it has answered that it is idle and was told
nothing after that question. What it knows is in the memory that all lives of its spec share, so the next life
goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from typing_extensions import override

from actors.objects.holders import ManagedObjects, ObjectHolders, set_unheld
from kernel import ChildSpec, DynamicMessage, Key, Port, StartChild, StopChild, Timer
from messages.holders import (
    HolderBegan,
    HolderDone,
    HolderIdle,
    HolderIs,
    HolderMessage,
    Mark,
    ReferencesAre,
    StopIfIdle,
    UnprovenUsed,
)
from messages.objects import ObjectId
from messages.units import Seconds

STOPPED_WITHIN = Seconds(10.0)
"""A child has five seconds to stop. One that has not stopped by then is abandoned: nobody hears it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderFactory:
    """How holders are made and addressed."""

    make_spec: Callable[[ObjectId], ChildSpec[Any]]
    """Returns the spec of a holder that knows nothing. All lives that a spec starts share one memory."""
    address: Callable[[Key[Any]], Port[HolderMessage]]
    tells_changes: bool = True
    """Whether its holders ever tell of changes."""


@dataclass(slots=True)
class ApiHolder:
    """One holder, and the latest that it was told and told itself."""

    spec: ChildSpec[Any]
    port: Port[HolderMessage] | None
    """None while it is stopped, since nobody follows its object. Nothing else is kept of the actor."""
    told: ReferencesAre
    news: HolderIs | None = None
    questions: int = 0
    """How often it was asked whether it is idle."""
    is_asked: bool = False
    """Whether the last of these questions is the last that it was told."""

    @property
    def is_letting_go(self) -> bool:
        """Whether it was told that nobody needs its object, and has not answered yet."""
        return self.told.references == 0

    def is_needed_as_before(self, references: ReferencesAre) -> bool:
        """Return whether a holder that is stopped may stay so when its ``references`` are these."""
        told = self.told
        is_same = (told.newest, told.is_followed) == (references.newest, references.is_followed)
        return is_same and references.wanted <= told.wanted and references.references > 0


@dataclass(slots=True)
class ApiHoldersMemory:
    """What outlives a life of the manager, since its holders live on."""

    holders: dict[ObjectId, ApiHolder] = field(default_factory=dict)
    stopped: dict[ObjectId, ChildSpec[Any]] = field(default_factory=dict)
    """Specs of holders that were stopped lately, and may not have ended yet."""
    stopped_before: dict[ObjectId, ChildSpec[Any]] = field(default_factory=dict)
    """Those that were stopped some time before."""


class ApiHolders(ObjectHolders):
    """The holders of objects of the API server: one for each object, as long as pods reference it."""

    def __init__(
        self,
        factory: HolderFactory,
        supervisor: Port[DynamicMessage],
        later: Callable[[Seconds, Callable[[], None]], Timer],
        objects: ManagedObjects,
        memory: ApiHoldersMemory,
    ) -> None:
        self._factory = factory
        self._supervisor = supervisor
        self._later = later
        self._objects = objects
        self._memory = memory
        self._forgetting: Timer | None = None

    @override
    def adopt(self) -> None:
        for holder in self._memory.holders.values():
            if holder.port is None:
                self._supervisor.tell(StopChild(path=holder.spec.name))
            else:
                self._supervisor.tell(StartChild(spec=holder.spec))
                self._tell(holder, holder.told)
        self._forget_later()

    @override
    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        holder = self._memory.holders.get(wanted)
        if holder is None:
            if references.references:
                self._begin(wanted, references)
            else:
                set_unheld(self._objects, wanted, references.wanted)
        elif not holder.is_letting_go and holder.told != references:
            if not references.references:
                # Coalesced with what still waits there, this may be the first thing that it hears.
                references = replace(references, newest=holder.told.newest)
            if holder.port is None and holder.is_needed_as_before(references):
                holder.told = references
                return
            self._wake(holder)
            holder.told = references
            self._tell(holder, references)

    def note_holder(
        self,
        message: HolderDone | HolderBegan | HolderIdle,
        needs: Callable[[ObjectId], ReferencesAre],
    ) -> None:
        """Take what a holder told of itself; ``needs`` says who needs its object."""
        match message:
            case HolderDone(object=wanted, newest=newest):
                self._note_done(wanted, newest, needs(wanted))
            case HolderBegan(object=wanted):
                self._repeat(wanted)
            case HolderIdle(object=wanted, number=number):
                self._note_idle(wanted, number)
            case _:
                assert_never(message)

    def _note_done(self, wanted: ObjectId, newest: Mark, references: ReferencesAre) -> None:
        """Stop a holder that has let go, unless there are ``references`` to its object again.

        ``newest`` identifies the release being answered; older ones are ignored.
        """
        holder = self._memory.holders.get(wanted)
        if holder is None or not holder.is_letting_go or holder.told.newest != newest:
            return
        if references.references:
            holder.told = references
            self._tell(holder, references)
        else:
            self._supervisor.tell(StopChild(path=holder.spec.name))
            self._memory.stopped[wanted] = holder.spec
            self._forget_later()
            del self._memory.holders[wanted]
            set_unheld(self._objects, wanted, references.wanted)

    def _repeat(self, wanted: ObjectId) -> None:
        """Tell a holder again what it was told last."""
        holder = self._memory.holders.get(wanted)
        if holder is not None:
            self._tell(holder, holder.told)

    def _note_idle(self, wanted: ObjectId, number: int) -> None:
        """Ask a holder that says that it is idle; stop it if that answers the last thing that it was told.

        Any other answer is outdated: whatever was told after the question makes the holder say anew when
        it is idle.
        """
        holder = self._memory.holders.get(wanted)
        if holder is None or holder.port is None or holder.is_letting_go:
            return
        if number == 0:
            holder.questions += 1
            self._tell(holder, StopIfIdle(number=holder.questions))
        elif holder.is_asked and number == holder.questions:
            # Noted first: if the manager crashes before it tells, its next life does.
            holder.port, holder.is_asked = None, False
            self._supervisor.tell(StopChild(path=holder.spec.name))

    @override
    def note_use(self, used: UnprovenUsed) -> None:
        holder = self._memory.holders.get(used.taken.object)
        if holder is not None and not holder.is_letting_go:
            if self._wake(holder):
                self._tell(holder, holder.told)
            self._tell(holder, used)

    def _forget_stopped(self) -> None:
        """Forget the holders that have ended since they were stopped."""
        self._memory.stopped_before, self._memory.stopped = self._memory.stopped, {}
        self._forgetting = None
        self._forget_later()

    @override
    def note(self, news: HolderIs) -> HolderIs | None:
        holder = self._memory.holders.get(news.described.object)
        if holder is None:
            return None
        before, holder.news = holder.news, news
        return before

    @override
    def news(self, wanted: ObjectId) -> HolderIs | None:
        holder = self._memory.holders.get(wanted)
        return holder.news if holder else None

    def _wake(self, holder: ApiHolder) -> bool:
        """Start a holder that is stopped; return whether it was."""
        if holder.port is not None:
            return False
        holder.port = self._factory.address(holder.spec.key)
        self._supervisor.tell(StartChild(spec=holder.spec))
        return True

    def _tell(self, holder: ApiHolder, message: HolderMessage) -> None:
        """Tell a holder something, unless it is stopped."""
        holder.is_asked = isinstance(message, StopIfIdle)
        if holder.port is not None:
            holder.port.tell(message)

    def _begin(self, wanted: ObjectId, references: ReferencesAre) -> None:
        # A predecessor that has not ended yet may hear what this holder is told. Both have one spec, and so
        # one memory: whatever the predecessor hears is known to this one as well.
        memory = self._memory
        spec = memory.stopped.pop(wanted, None) or memory.stopped_before.pop(wanted, None)
        spec = spec or self._factory.make_spec(wanted)
        port = self._factory.address(spec.key)
        memory.holders[wanted] = ApiHolder(spec, port, references)
        self._supervisor.tell(StartChild(spec=spec))
        port.tell(references)

    def _forget_later(self) -> None:
        """Set one timer for the specs of all stopped holders: two would forget some too early."""
        memory = self._memory
        if self._forgetting is None and (memory.stopped or memory.stopped_before):
            self._forgetting = self._later(STOPPED_WITHIN, self._forget_stopped)
