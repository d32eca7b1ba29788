"""MirrorKeeper: shows this node's static pods in the cluster by mirror pods, and removes other mirrors.

It is level-triggered: whenever a static pod, a mirror or the Node changes, and after each answer, it
examines the name concerned again (``mirrors.plan``). ``mirrors.index`` has what is known of each name.
This file is the actor around both: which calls it makes, how many at a time, and which troubles it tells.
Static pods run whatever becomes of their mirrors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

import structlog
from typing_extensions import override

from actors.api_calls import OUTAGE_BACKOFF, ApiOutage, api_call, is_outage, pause
from actors.mirrors.answers import RetryLater, learn
from actors.mirrors.index import MirrorIndex, MirrorRecord, Touched, pace
from actors.mirrors.plan import (
    SOURCES_WITHIN,
    Ask,
    CreateMirror,
    DeleteMirror,
    MirrorSituation,
    NoCall,
    StaticSources,
    Step,
    has_right_mirror,
    lag_limit,
    may_have_happened,
    next_step,
    usable,
)
from actors.mirrors.pod import creation, deletion, look
from actors.mirrors.verdicts import REFERENCES, MirrorVerdicts
from kernel import Key, OperationsMemory, PooledActor, Port
from messages.api import ApiFailure, ApiRequest, CallApi
from messages.events import PostEvent
from messages.node import FollowNode, NodeFact, NodeIs, NodeIsGone, NodeUid
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pods import API, FullName, JsonObject, PodUid, SourceName
from messages.sources import DescribeMirrors, MirrorsDescribed, MirrorsJudged
from messages.units import Seconds, Timestamp

MirrorKeeperMessage: TypeAlias = PodFact | NodeFact | DescribeMirrors

MIRROR_KEEPER = Key[MirrorKeeperMessage]("mirror-keeper")

_log = structlog.get_logger("mirror-keeper")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorPorts:
    """The ports that MirrorKeeper uses."""

    calls: Port[CallApi]
    pod_manager: Port[Subscribe]
    node: Port[FollowNode]
    events: Port[PostEvent]
    sources: Mapping[SourceName, Port[MirrorsJudged]]
    """The static sources that are configured."""
    me: Port[PodFact | NodeFact]
    """Its own address, which outlives a crash: what it subscribes with."""


@dataclass(slots=True)
class MirrorMemory:
    """What outlives a life of MirrorKeeper: its counts. It is told everything else again."""

    create_errors: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """What a call is for."""

    record: MirrorRecord
    step: Step


class MirrorKeeper(PooledActor[MirrorKeeperMessage]):
    """Keeps exactly one right mirror for each static pod, and no other mirror.

    Owns: what is known of each static pod's name, and the calls about it.
    Hears: ``PodFact``, ``NodeFact``, ``DescribeMirrors``; answers to its calls.
    Tells: PodManager ``Subscribe`` and the Node's keeper ``FollowNode`` when it starts; ``CallApi``;
    sources ``MirrorsJudged`` and events ``PostEvent`` when a mirror is refused.
    Fails when: it has a bug. The next life starts without knowledge, and replaces no right mirror.

    It decides nothing before the API server's pods are listed, and creates nothing without a Node. It
    leaves alone the mirrors of a source that has not listed yet, or only provisionally. One call is in
    flight for each name, and a few in all; during an outage one in all. It deletes by UID, never by name.
    """

    def __init__(self, node_name: str, ports: MirrorPorts, memory: MirrorMemory) -> None:
        self._node_name = node_name
        self._ports = ports
        self._memory = memory
        self._index = MirrorIndex(node_name)
        self._node: NodeIs | None = None
        self._listed: set[SourceName] = set()
        self._are_sources_late = False
        self._to_examine: dict[FullName, None] = {}
        self._verdicts = MirrorVerdicts(node_name, ports.sources, ports.events)

    @override
    def started(self) -> None:
        self._calls = self.operations(OperationsMemory[_Call](), self._take_answer)
        waiting = "mirror pods have to wait for the API server"
        self._outage = ApiOutage(self.alarm(self._go_on), _log, waiting)
        self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))
        self._ports.node.tell(FollowNode(subscriber=self._ports.me))
        self.later(SOURCES_WITHIN, self._note_late_sources)

    @override
    def receive(self, message: MirrorKeeperMessage, /) -> None:
        match message:
            case PodsAre():
                self._note_listing(message)
                self._touch(self._index.replace(message.source, message.pods))
            case PodsChanged(changes=changes):
                self._touch(self._index.apply(changes))
            case NodeIs() | NodeIsGone():
                self._note_node(message if isinstance(message, NodeIs) else None)
            case DescribeMirrors(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)
        self._go_on()

    # --- what it hears ---------------------------------------------------------------------------------

    def _note_listing(self, listing: PodsAre) -> None:
        if listing.source not in self._listed and not listing.is_provisional:
            self._listed.add(listing.source)
            self._wake_all()  # orphans may have waited for it

    def _touch(self, touched: Touched) -> None:
        for full_name, is_static in touched.items():
            record = self._index.get(full_name)
            if record is not None and is_static:
                self._begin_anew(record)
                self._verdicts.clear(record)
        self._wake(touched)

    def _note_node(self, node: NodeIs | None) -> None:
        before, self._node = self._node, usable(node)
        if _uid(before) != _uid(self._node):
            for record in self._index.records():
                self._begin_anew(record)
            self._wake_all()

    def _note_late_sources(self) -> None:
        """Note that all static sources had time to list."""
        self._are_sources_late = True
        self._wake_all()
        self._go_on()

    # --- what it does ----------------------------------------------------------------------------------

    def _wake(self, full_names: Iterable[FullName]) -> None:
        self._to_examine |= dict.fromkeys(full_names)

    def _wake_all(self) -> None:
        self._wake(record.full_name for record in self._index.records())

    def _begin_anew(self, record: MirrorRecord) -> None:
        record.failures = record.outages = 0
        record.stop_waiting()

    def _go_on(self) -> None:
        """Examine the names that may need something, as far as calls may be made, and tell verdicts."""
        if API not in self._listed:
            return
        while self._to_examine and self._outage.has_room(len(self._calls)):
            full_name = next(iter(self._to_examine))
            del self._to_examine[full_name]
            record = self._index.get(full_name)
            if record is not None and not record.is_asking:
                self._examine(record)
        self._verdicts.tell(self._listed)

    def _examine(self, record: MirrorRecord) -> None:
        step = next_step(self._situation(record))
        match step:
            case NoCall.NOTHING:
                self._begin_anew(record)
                self._verdicts.clear(record)
                self._index.forget_if_empty(record)
            case NoCall.REFUSED:
                self._begin_anew(record)
                self._note_foreseen_refusal(record)
            case NoCall.NO_NODE:
                pass  # when it comes, every name is examined
            case _ if record.retry_timer is not None:
                pass
            case CreateMirror() | DeleteMirror():
                self._make_or_delete(record, step)
            case Ask.LOOK:
                self._send(record, step, look(record.full_name))
            case _:
                assert_never(step)

    def _make_or_delete(self, record: MirrorRecord, step: CreateMirror | DeleteMirror) -> None:
        paused = pace(record, step, self.clock.monotonic())
        if paused is not None:
            self._wait(record, paused.delay)
            until = Timestamp(self.clock.wall() + paused.delay)
            self._verdicts.note_wait(record, paused.sentence, until)
        elif isinstance(step, CreateMirror):
            self._send(record, step, creation(step.static, step.node))
        else:
            self._send(record, step, deletion(record.full_name, step.uid))

    def _send(self, record: MirrorRecord, step: Step, request: ApiRequest) -> None:
        record.is_asking = True
        self._calls.begin(_Call(record, step), api_call(self._ports.calls, request))

    def _situation(self, record: MirrorRecord) -> MirrorSituation:
        return MirrorSituation(
            static=record.static,
            mirrors=record.mirrors.values(),
            node=self._node,
            sources=StaticSources(
                configured=self._ports.sources.keys(),
                listed=self._listed,
                are_late=self._are_sources_late,
            ),
            origin=record.origin_of_mirror(),
            is_in_doubt=record.is_in_doubt,
        )

    def _wait(self, record: MirrorRecord, delay: Seconds) -> None:
        record.stop_waiting()
        record.retry_timer = self.later(delay, self._try_again, record.full_name)

    def _try_again(self, full_name: FullName) -> None:
        """Examine a name whose wait is over."""
        record = self._index.get(full_name)
        if record is not None:
            record.stop_waiting()
            self._wake((full_name,))
            self._go_on()

    # --- what comes of it ------------------------------------------------------------------------------

    def _take_answer(self, call: _Call, outcome: JsonObject | ApiFailure) -> None:
        record, step = call.record, call.step
        record.is_asking = False
        if isinstance(outcome, ApiFailure) and is_outage(outcome):
            record.is_in_doubt |= isinstance(step, CreateMirror) and may_have_happened(outcome)
            # Counted apart from refusals: an API server that has just started may refuse at first, since
            # it has not read its rules yet. Such a refusal should not wait as long as an outage does.
            record.outages += 1
            self._wait(record, pause(OUTAGE_BACKOFF, record.outages, outcome))
            self._outage.note_failure(outcome)
        else:
            record.outages = 0
            if not isinstance(outcome, ApiFailure):
                _log_done(record, step)
            self._outage.note_answer()
            retry = learn(record, step, outcome, self._node_name)
            if retry is not None:
                self._note_retry(record, retry)
            self._note_lag(record)
        self._wake((record.full_name,))
        self._go_on()

    def _note_retry(self, record: MirrorRecord, retry: RetryLater) -> None:
        record.failures += 1
        self._wait(record, pause(retry.backoff, record.failures))
        if retry.reason and record.static is not None:
            self._memory.create_errors[retry.reason] += 1
        if retry.sentence:
            self._verdicts.note(record, retry.sentence)

    def _note_foreseen_refusal(self, record: MirrorRecord) -> None:
        if record.trouble != REFERENCES:
            self._memory.create_errors["references"] += 1
            self._verdicts.note(record, REFERENCES)

    def _note_lag(self, record: MirrorRecord) -> None:
        if record.lagging is not None and record.lag_timer is None:
            record.lag_timer = self.later(
                lag_limit(record.confirmations), self._doubt, record.full_name, record.lagging
            )

    def _doubt(self, full_name: FullName, uid: PodUid) -> None:
        """Look at a mirror about which an answer was believed for long enough without the watch."""
        record = self._index.get(full_name)
        if record is not None and record.lagging == uid:
            record.is_in_doubt, record.lag_timer = True, None
            self._wake((full_name,))
            self._go_on()

    def _described(self) -> MirrorsDescribed:
        wanted = [record for record in self._index.records() if record.static is not None]
        return MirrorsDescribed(
            wanted=len(wanted),
            present=sum(has_right_mirror(self._situation(record)) for record in wanted),
            troubles=self._verdicts.troubles(),
            create_errors=dict(self._memory.create_errors),
        )


def _log_done(record: MirrorRecord, step: Step) -> None:
    match step:
        case CreateMirror():
            _log.info("created mirror pod", mirror=record.full_name)
        case DeleteMirror(uid=uid):
            _log.info("deleted mirror pod", mirror=record.full_name, uid=uid)
        case _:
            pass


def _uid(node: NodeIs | None) -> NodeUid | None:
    return None if node is None else node.uid
