"""MirrorKeeper: shows this node's static pods in the cluster, and removes what shows none.

Level-triggered: whenever a static pod, a mirror or the Node changes, and after each answer, the name
concerned is examined anew (``mirrors.plan``). What is known of each name is in ``mirrors.book``;
this file is the actor around both: whom it asks, how much at a time, and what it tells of trouble.
The static pods themselves run whatever becomes of their mirrors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from typing_extensions import override

from actors.mirrors.answers import Setback, learn
from actors.mirrors.book import Entry, MirrorBook, Touched
from actors.mirrors.calls import MirrorCalls
from actors.mirrors.deadlines import (
    LagOver,
    MirrorDeadline,
    OutageOver,
    RetryDue,
    SourcesLate,
)
from actors.mirrors.plan import (
    OUTAGE_BACKOFF,
    SOURCES_PATIENCE,
    Ask,
    Create,
    Delete,
    Idle,
    Situation,
    Sources,
    fight_delay,
    has_right_mirror,
    is_outage,
    lag_patience,
    may_have_happened,
    next_step,
    pause,
    usable,
)
from actors.mirrors.pod import creation, deletion, look
from actors.mirrors.verdicts import REFERENCES, MirrorVerdicts
from kernel import Key, PooledActor, Port
from messages.api import ApiAnswered, ApiFailure, CallApi
from messages.events import PostEvent
from messages.mirrors import DescribeMirrors, MirrorsDescribed
from messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone, NodeUid
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pods import API, FullName, SourceName
from messages.sources import MirrorsJudged
from messages.units import Seconds

MirrorKeeperMessage: TypeAlias = PodFact | NodeFact | ApiAnswered | DescribeMirrors | MirrorDeadline

MIRROR_KEEPER = Key[MirrorKeeperMessage]("mirror-keeper")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorPorts:
    """Whom MirrorKeeper talks to."""

    calls: Port[CallApi]
    pod_manager: Port[Subscribe]
    node: Port[FollowNode]
    events: Port[PostEvent]
    sources: Mapping[SourceName, Port[MirrorsJudged]]
    """The static sources that are configured."""
    me: Port[PodFact | NodeFact]
    """Its own address, which outlives it: what it subscribes with."""


@dataclass(slots=True)
class MirrorMemory:
    """What outlives a life of MirrorKeeper: what it counts. All else is told to it again."""

    create_errors: Counter[str] = field(default_factory=Counter)


class MirrorKeeper(PooledActor[MirrorKeeperMessage]):
    """Sees to it that each static pod has exactly one right mirror, and that no other mirror is left.

    Owns: what is known of each static pod's name, and the calls about it.
    Hears: ``PodFact``, ``NodeFact``, ``ApiAnswered``, ``DescribeMirrors``; its own timers.
    Tells: PodManager ``Subscribe`` and the Node's keeper ``FollowNode`` when it starts; ``CallApi``;
    sources ``MirrorsJudged`` and events ``PostEvent`` when a mirror is refused.
    Fails when: it has a bug; the next life begins with nothing and churns nothing.

    Decides nothing before the API server's pods are listed, creates nothing without a Node, and leaves
    alone what a source may want that has not listed, or only provisionally. One call in flight per
    name, a few in all; while the API server does not answer, one in all. Deletes one UID, never a name.
    """

    def __init__(self, node_name: str, ports: MirrorPorts, memory: MirrorMemory) -> None:
        self._node_name = node_name
        self._ports = ports
        self._memory = memory
        self._book = MirrorBook(node_name)
        self._node: NodeIs | None = None
        self._listed: set[SourceName] = set()
        self._are_sources_late = False
        self._to_examine: dict[FullName, None] = {}
        self._verdicts = MirrorVerdicts(node_name, ports.sources, ports.events)
        self._calls = MirrorCalls(ports.calls, self.after)

    @override
    def started(self) -> None:
        self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))
        self._ports.node.tell(FollowNode(subscriber=self._ports.me))
        self.after(SOURCES_PATIENCE, SourcesLate())

    @override
    def receive(self, message: MirrorKeeperMessage, /) -> None:
        match message:
            case PodsAre():
                self._note_listing(message)
                self._touch(self._book.replace(message.source, message.pods))
            case PodsChanged(changes=changes):
                self._touch(self._book.apply(changes))
            case NodeIs() | NodeIsGone():
                self._note_node(message if isinstance(message, NodeIs) else None)
            case ApiAnswered():
                self._take_answer(message)
            case DescribeMirrors(reply_to=reply_to):
                reply_to.tell(self._described())
            case RetryDue() | LagOver() | OutageOver() | SourcesLate():
                self._take_deadline(message)
            case _:
                assert_never(message)
        self._examine_names()
        if API in self._listed:
            self._verdicts.tell(self._listed)

    # --- what it hears ---------------------------------------------------------------------------------

    def _note_listing(self, listing: PodsAre) -> None:
        if listing.source not in self._listed and not listing.is_provisional:
            self._listed.add(listing.source)
            self._wake_all()  # orphans may have waited for it

    def _touch(self, touched: Touched) -> None:
        for full_name, is_static in touched.items():
            entry = self._book.get(full_name)
            if entry is not None and is_static:
                self._begin_anew(entry)
                self._verdicts.clear(entry)
        self._wake(touched)

    def _note_node(self, node: NodeIs | None) -> None:
        before, self._node = self._node, usable(node)
        if _uid(before) != _uid(self._node):
            for entry in self._book.entries():
                self._begin_anew(entry)
            self._wake_all()

    def _take_deadline(self, message: MirrorDeadline) -> None:
        match message:
            case RetryDue(full_name=full_name):
                entry = self._book.get(full_name)
                if entry is not None:
                    entry.stop_waiting()
                    self._wake((full_name,))
            case LagOver(full_name=full_name, uid=uid):
                entry = self._book.get(full_name)
                if entry is not None and entry.lagging == uid:
                    entry.is_in_doubt, entry.patience = True, None
                    self._wake((full_name,))
            case OutageOver():
                self._calls.end_pause()
            case SourcesLate():
                self._are_sources_late = True
                self._wake_all()

    # --- what it does ----------------------------------------------------------------------------------

    def _wake(self, full_names: Iterable[FullName]) -> None:
        self._to_examine |= dict.fromkeys(full_names)

    def _wake_all(self) -> None:
        self._wake(entry.full_name for entry in self._book.entries())

    def _begin_anew(self, entry: Entry) -> None:
        entry.failures = entry.outages = 0
        entry.stop_waiting()

    def _examine_names(self) -> None:
        """Examine the names that may need something, as far as calls may be made."""
        while self._to_examine and API in self._listed and self._calls.has_room:
            full_name = next(iter(self._to_examine))
            del self._to_examine[full_name]
            entry = self._book.get(full_name)
            if entry is not None and not entry.is_asking:
                self._examine(entry)

    def _examine(self, entry: Entry) -> None:
        step = next_step(self._situation(entry))
        match step:
            case Idle.NOTHING:
                self._begin_anew(entry)
                self._verdicts.clear(entry)
                self._book.forget_if_empty(entry)
            case Idle.REFUSED:
                self._begin_anew(entry)
                self._note_foreseen_refusal(entry)
            case Idle.NO_NODE:
                pass  # its coming wakes every name
            case _ if entry.wait is not None:
                pass
            case Create():
                self._create(entry, step)
            case Delete(uid=uid):
                self._calls.send(entry, step, deletion(entry.full_name, uid), self.me)
            case Ask.LOOK:
                self._calls.send(entry, step, look(entry.full_name), self.me)
            case _:
                assert_never(step)

    def _create(self, entry: Entry, step: Create) -> None:
        now = self.clock.monotonic()
        delay = fight_delay(entry.creations, now)
        if delay > 0:
            self._wait(entry, delay)
            return
        entry.creations.append(now)
        self._calls.send(entry, step, creation(step.static, step.node), self.me)

    def _situation(self, entry: Entry) -> Situation:
        return Situation(
            static=entry.static,
            mirrors=entry.mirrors.values(),
            node=self._node,
            sources=Sources(
                configured=self._ports.sources.keys(),
                listed=self._listed,
                are_late=self._are_sources_late,
            ),
            origin=entry.origin_of_mirror(),
            is_in_doubt=entry.is_in_doubt,
        )

    def _wait(self, entry: Entry, delay: Seconds) -> None:
        entry.stop_waiting()
        entry.wait = self.after(delay, RetryDue(full_name=entry.full_name))

    # --- what comes of it ------------------------------------------------------------------------------

    def _take_answer(self, answer: ApiAnswered) -> None:
        call, outcome = self._calls.take(answer), answer.outcome
        if call is None:
            return
        entry, step = call.entry, call.step
        if isinstance(outcome, ApiFailure) and is_outage(outcome):
            entry.is_in_doubt |= isinstance(step, Create) and may_have_happened(outcome)
            # Counted apart: an API server that is just back may well refuse at first, since it has not
            # read its own rules yet, and that is no reason to let it alone for as long as an outage was.
            entry.outages += 1
            self._wait(entry, pause(OUTAGE_BACKOFF, entry.outages, outcome))
            self._calls.note_outage(outcome)
        else:
            entry.outages = 0
            self._calls.note_answer(call, outcome)
            setback = learn(entry, step, outcome, self._node_name)
            if setback is not None:
                self._note_setback(entry, setback)
            self._note_lag(entry)
        self._wake((entry.full_name,))

    def _note_setback(self, entry: Entry, setback: Setback) -> None:
        entry.failures += 1
        self._wait(entry, pause(setback.backoff, entry.failures))
        if setback.reason and entry.static is not None:
            self._memory.create_errors[setback.reason] += 1
        if setback.sentence:
            self._verdicts.note(entry, setback.sentence)

    def _note_foreseen_refusal(self, entry: Entry) -> None:
        if entry.trouble != REFERENCES:
            self._memory.create_errors["references"] += 1
            self._verdicts.note(entry, REFERENCES)

    def _note_lag(self, entry: Entry) -> None:
        if entry.lagging is not None and entry.patience is None:
            message = LagOver(full_name=entry.full_name, uid=entry.lagging)
            entry.patience = self.after(lag_patience(entry.confirmations), message)

    def _described(self) -> MirrorsDescribed:
        wanted = [entry for entry in self._book.entries() if entry.static is not None]
        return MirrorsDescribed(
            wanted=len(wanted),
            present=sum(has_right_mirror(self._situation(entry)) for entry in wanted),
            troubles=self._verdicts.troubles(),
            create_errors=dict(self._memory.create_errors),
        )


def _uid(node: NodeIs | None) -> NodeUid | None:
    return None if node is None else node.uid
