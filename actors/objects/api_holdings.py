"""The holders of the API server's objects: one actor each.

The manager's hand on its holders: it starts them, keeps them informed, passes reads on, and stops who
has let go. A holder that is to let go is told nothing more until it has, and its ``HolderDone`` names
the one time that it was told to: so none is stopped that has taken up a watch again. What comes meanwhile
waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from typing_extensions import override

from actors.objects.holdings import Holdings, answer
from kernel import ChildSpec, DynamicMessage, Key, Port, StartChild, StopChild, Timer
from messages.holders import HolderIs, HolderMessage, Mark, ReadObject, ReferencesAre
from messages.objects import ObjectId, ReadVerdict
from messages.units import Seconds
from stores.objects.waiting_reads import WaitingReads

STOPPED_WITHIN = Seconds(10.0)
"""A child has five seconds to stop; who did not by then is abandoned, and heard of no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holders:
    """How holders are made and found."""

    make_spec: Callable[[ObjectId], ChildSpec[Any]]
    """For a holder that knows nothing. What its factory makes shares one memory, life after life."""
    address: Callable[[Key[Any]], Port[HolderMessage]]
    tells_changes: bool = True
    """Whether any holder will ever tell of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedHoldersEnded:
    """Holders that were stopped a while ago are gone by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadsOverdue:
    """Some read has waited for a holder as long as it may."""


HoldingsTimer: TypeAlias = StoppedHoldersEnded | ReadsOverdue


@dataclass(slots=True)
class Holding:
    """One holder, and what was said to it and by it."""

    spec: ChildSpec[Any]
    port: Port[HolderMessage]
    told: ReferencesAre
    news: HolderIs | None = None
    """The latest."""

    @property
    def is_letting_go(self) -> bool:
        """It was told that nobody needs it, and has not answered."""
        return self.told.references == 0


@dataclass(slots=True)
class HoldingsMemory:
    """What outlives a life of the manager: its holders live on."""

    holdings: dict[ObjectId, Holding] = field(default_factory=dict)
    stopped: dict[ObjectId, ChildSpec[Any]] = field(default_factory=dict)
    """Specs of holders that were stopped, and may still be at it."""
    stopped_before: dict[ObjectId, ChildSpec[Any]] = field(default_factory=dict)
    """Those that were so for a while."""
    waiting: WaitingReads = field(default_factory=WaitingReads)
    """Reads that came while the holder was letting go."""


class ApiHoldings(Holdings):
    """The holders of objects of the API server: one for each, as long as pods reference it."""

    def __init__(
        self,
        holders: Holders,
        supervisor: Port[DynamicMessage],
        after: Callable[[Seconds, HoldingsTimer], Timer],
        now: Callable[[], Seconds],
        memory: HoldingsMemory,
    ) -> None:
        self._holders = holders
        self._supervisor = supervisor
        self._after = after
        self._now = now
        self._memory = memory
        self._alarm: Timer | None = None
        self._forgetting: Timer | None = None

    @override
    def adopt(self) -> None:
        self._set_alarm()
        for holding in self._memory.holdings.values():
            self._supervisor.tell(StartChild(spec=holding.spec))
            holding.port.tell(holding.told)
        self._forget_later()

    @override
    def needed(self, wanted: ObjectId, references: ReferencesAre) -> None:
        holding = self._memory.holdings.get(wanted)
        if holding is None:
            if references.references:
                self._begin(wanted, references)
        elif not holding.is_letting_go and holding.told != references:
            if not references.references:
                # Coalesced with what still waits there, this may be the first thing that it hears.
                references = replace(references, newest=holding.told.newest)
            holding.told = references
            holding.port.tell(references)

    @override
    def done(self, wanted: ObjectId, newest: Mark, references: ReferencesAre) -> None:
        holding = self._memory.holdings.get(wanted)
        if holding is None or not holding.is_letting_go or holding.told.newest != newest:
            return
        waiting = self._memory.waiting.take(lambda kept: kept.read.object == wanted)
        if references.references:
            holding.told = references
            holding.port.tell(references)
            for kept in waiting:
                left = Seconds(max(0.0, kept.until - self._now()))
                holding.port.tell(replace(kept.read, within=left))
        else:
            for kept in waiting:
                answer(kept.read, ReadVerdict.NOT_REGISTERED, "no pod references it any more")
            self._supervisor.tell(StopChild(path=holding.spec.name))
            self._note_stopped(wanted, holding.spec)
            del self._memory.holdings[wanted]
        self._set_alarm()

    @override
    def repeat(self, wanted: ObjectId) -> None:
        holding = self._memory.holdings.get(wanted)
        if holding is not None:
            holding.port.tell(holding.told)

    @override
    def read(self, request: ReadObject) -> None:
        holding = self._memory.holdings[request.object]
        if holding.is_letting_go:
            self._memory.waiting.add(request, self._now())
            self._set_alarm()
        else:
            holding.port.tell(request)

    @override
    def answer_overdue(self) -> None:
        for kept in self._memory.waiting.take_overdue(self._now()):
            answer(kept.read, ReadVerdict.NOT_SYNCED, "it was let go of, and that is not over yet")
        self._set_alarm()

    @override
    def note(self, news: HolderIs) -> HolderIs | None:
        holding = self._memory.holdings.get(news.described.object)
        if holding is None:
            return None
        before, holding.news = holding.news, news
        return before

    @override
    def news(self, wanted: ObjectId) -> HolderIs | None:
        holding = self._memory.holdings.get(wanted)
        return holding.news if holding else None

    @override
    def forget_ended(self) -> None:
        self._memory.stopped_before, self._memory.stopped = self._memory.stopped, {}
        self._forgetting = None
        self._forget_later()

    def _begin(self, wanted: ObjectId, references: ReferencesAre) -> None:
        # The one before it may hear what is told to this one, for as long as it has not ended. With its
        # spec they share a memory, so that whatever it has heard is known to this one too.
        memory = self._memory
        spec = memory.stopped.pop(wanted, None) or memory.stopped_before.pop(wanted, None)
        spec = spec or self._holders.make_spec(wanted)
        port = self._holders.address(spec.key)
        memory.holdings[wanted] = Holding(spec, port, references)
        self._supervisor.tell(StartChild(spec=spec))
        port.tell(references)

    def _set_alarm(self) -> None:
        """Have one timer for all reads that wait."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due = self._memory.waiting.next_due()
        if due is not None:
            self._alarm = self._after(Seconds(max(0.0, due - self._now())), ReadsOverdue())

    def _note_stopped(self, wanted: ObjectId, spec: ChildSpec[Any]) -> None:
        self._memory.stopped[wanted] = spec
        self._forget_later()

    def _forget_later(self) -> None:
        """Have one timer for the specs of all who were stopped: two would forget one too early."""
        memory = self._memory
        if self._forgetting is None and (memory.stopped or memory.stopped_before):
            self._forgetting = self._after(STOPPED_WITHIN, StoppedHoldersEnded())
