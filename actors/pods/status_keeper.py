"""StatusKeeper: holds the status of every pod, tells it to followers, and writes it at the API server.

It is level-triggered: whenever a status or an object of the API server changes, and after each answer, it
examines the pod concerned again (``status_writes``). This file is the actor around that: which calls it
makes, how many at a time, and which troubles it tells. Pods run whatever becomes of their status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.bounded_calls import OUTAGE_BACKOFF, BoundedCalls, is_outage, pause
from actors.pods.status_deadlines import (
    ExamineMore,
    StatusDeadline,
    StatusOutageOver,
    StatusRetryDue,
)
from actors.pods.status_objects import ShownPods
from actors.pods.status_parts import (
    STATUS_KEEPER,
    StatusKeeperOwnMessage,
    StatusMemory,
    StatusPorts,
)
from actors.pods.status_records import StatusRecord
from actors.pods.status_troubles import StatusTroubles
from actors.pods.status_writes import (
    DeletePod,
    NoWrite,
    PatchStatus,
    Write,
    accepted,
    ends_soon,
    next_write,
)
from kernel import Backoff, PooledActor
from messages.api import ApiAnswered, ApiFailure, FailureKind
from messages.pod_lives import RepeatPodStatuses
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pods import API, FullName, JsonObject, Pod, PodUid
from messages.statuses import (
    DescribeStatuses,
    FollowStatuses,
    ForgetPodStatus,
    PodStatus,
    PodStatusChanged,
    PodStatusIs,
    StatusesDescribed,
    UnfollowStatuses,
)
from messages.units import Seconds, Timestamp
from stores.statuses.status import shows_same

__all__ = [
    "EXAMINED_AT_ONCE",
    "STATUS_KEEPER",
    "StatusKeeper",
    "StatusKeeperOwnMessage",
    "StatusMemory",
    "StatusPorts",
]

EXAMINED_AT_ONCE: Final = 64
"""Pods that are examined in one turn: rendering thousands would hold up every other actor."""

REFUSAL_BACKOFF: Final = Backoff(initial=Seconds(1.0), cap=Seconds(300.0), jitter=Seconds(1.0))
"""While the API server refuses a status, or has no such object: somebody has to change something."""
REWRITE_BACKOFF: Final = Backoff(initial=Seconds(1.0), cap=Seconds(20.0), jitter=Seconds(0.5))
"""While somebody writes over a status again and again."""

_GONE: Final = frozenset({FailureKind.NOT_FOUND, FailureKind.CONFLICT, FailureKind.GONE})
"""The object is not there, or another one has its name (rule V7). The watch will show that."""

_log = structlog.get_logger("status-keeper")


@dataclass(frozen=True, slots=True)
class _Call:
    """What a call is for."""

    uid: PodUid
    status: PodStatus
    shown: Pod
    write: PatchStatus | DeletePod


class StatusKeeper(PooledActor[StatusKeeperOwnMessage]):
    """Holds the newest status of each pod, and sees to it that the API server has it.

    Owns: the statuses of all pods, and the calls that write them and that delete pods which have ended.
    Hears: ``PodStatusIs`` (coalesced per pod), ``ForgetPodStatus``, ``FollowStatuses``,
    ``UnfollowStatuses``, ``DescribeStatuses``, ``PodFact``, ``ApiAnswered``; its own timers.
    Tells: followers ``PodStatusChanged``; PodKeeper ``RepeatPodStatuses`` when it starts; with an API
    server PodManager ``Subscribe`` when it starts, ``CallApi``, and ``PostEvent`` when a status is refused.
    Fails when: it has a bug. The next life has all statuses, and writes only what the API server lacks.

    Order: followers hear the statuses of one pod in their order; some may be left out while many come.
    Repetition: an equal status is told and written once. A status is written at once (rule V5), by a patch
    for one UID; one call is in flight for each pod, and a few in all; during an outage one in all. What
    somebody writes over is written again (rule V10). A pod that is being deleted is deleted at the API
    server as soon as it is finished and its last status is there (rule V9). What is told while it ends is
    held back for a second at most.
    """

    def __init__(self, ports: StatusPorts, memory: StatusMemory) -> None:
        self._ports = ports
        self._memory = memory
        self._shown = ShownPods()
        self._statics: dict[FullName, dict[PodUid, None]] = {}
        self._has_listed = False
        self._to_examine: dict[PodUid, None] = {}
        self._will_examine = False
        self._troubles = StatusTroubles(ports.events)
        self._calls: BoundedCalls[_Call, StatusOutageOver] | None = None
        if ports.calls is not None:
            waiting = "statuses of pods have to wait for the API server"
            self._calls = BoundedCalls(ports.calls, self.after, StatusOutageOver(), _log, waiting)

    @override
    def started(self) -> None:
        for record in self._memory.records.values():
            record.begin_life()
            self._note_name(record.pod)
        if self._ports.pod_keeper is not None:
            self._ports.pod_keeper.tell(RepeatPodStatuses())
        if self._ports.pod_manager is not None:
            self._ports.pod_manager.tell(Subscribe(subscriber=self._ports.me))

    @override
    def receive(self, message: StatusKeeperOwnMessage, /) -> None:
        match message:
            case PodStatusIs():
                self._take(message)
            case ForgetPodStatus(uid=uid):
                self._forget(uid)
            case FollowStatuses() | UnfollowStatuses():
                self._note_follower(message)
            case DescribeStatuses(reply_to=reply_to):
                reply_to.tell(self._described())
            case PodsAre() | PodsChanged():
                self._note_fact(message)
            case ApiAnswered():
                self._take_answer(message)
            case StatusRetryDue() | StatusOutageOver() | ExamineMore():
                self._take_deadline(message)
            case _:
                assert_never(message)
        self._examine_some()

    # --- what it hears ---------------------------------------------------------------------------------

    def _take(self, told: PodStatusIs) -> None:
        pod, status = told.pod, told.status
        record = self._memory.records.get(pod.uid)
        before = None if record is None else record.status
        if record is None:
            record = StatusRecord(pod=pod, status=status, is_finished=told.is_finished)
            self._memory.records[pod.uid] = record
            self._note_name(pod)
        elif shows_same(record.status, status):
            if record.pod is pod and record.is_finished == told.is_finished:
                record.refresh(status)
                return
            record.take(status, pod, is_finished=told.is_finished)
            self._touch(pod.uid)
            return
        else:
            record.take(status, pod, is_finished=told.is_finished)
        record.begin_anew()
        if record.changed_at is None and self._calls is not None:
            record.changed_at = self.clock.monotonic()
        self._memory.starts.note(pod, before, status, self.clock.wall())
        changed = PodStatusChanged(pod=pod, status=status)
        for follower in self._memory.followers:
            follower.tell(changed)
        self._touch(pod.uid)

    def _note_follower(self, message: FollowStatuses | UnfollowStatuses) -> None:
        self._memory.followers.pop(message.subscriber, None)
        if isinstance(message, FollowStatuses):
            self._memory.followers[message.subscriber] = None

    def _note_name(self, pod: Pod) -> None:
        if pod.is_static:
            self._statics.setdefault(pod.full_name, {})[pod.uid] = None

    def _forget(self, uid: PodUid) -> None:
        record = self._memory.records.pop(uid, None)
        if record is None:
            return
        record.stop_waiting()
        self._troubles.clear(record)
        of_name = self._statics.get(record.pod.full_name)
        if of_name is not None:
            of_name.pop(uid, None)
            if not of_name:
                del self._statics[record.pod.full_name]

    def _note_fact(self, fact: PodFact) -> None:
        if isinstance(fact, PodsChanged):
            touched = self._shown.apply(fact.changes)
        elif fact.source != API:
            return
        else:
            touched = self._shown.replace(fact.pods)
            if not self._has_listed:
                self._has_listed = True
                self._touch(*self._memory.records)
        now = self.clock.wall()
        for pod in touched:
            self._touch(pod.uid)
            if pod.is_mirror:
                self._touch(*self._statics.get(pod.full_name, ()))
            else:
                self._note_shown(pod, now)

    def _note_shown(self, pod: Pod, now: Timestamp) -> None:
        if self._shown.object_of(pod) is None:
            self._memory.latencies.forget(pod.uid)
        else:
            record = self._memory.records.get(pod.uid)
            status = None if record is None else record.status
            self._memory.latencies.note_shown(pod, status, now)

    def _take_deadline(self, message: StatusDeadline) -> None:
        match message:
            case StatusRetryDue(uid=uid):
                record = self._memory.records.get(uid)
                if record is not None:
                    record.stop_waiting()
                    self._touch(uid)
            case StatusOutageOver():
                if self._calls is not None:
                    self._calls.end_pause()
            case ExamineMore():
                self._will_examine = False

    # --- what it does ----------------------------------------------------------------------------------

    def _touch(self, *uids: PodUid) -> None:
        if self._calls is None:
            return
        for uid in uids:
            record = self._memory.records.get(uid)
            if record is not None:
                record.is_waiting = True
                self._to_examine[uid] = None

    def _examine_some(self) -> None:
        """Examine some of the pods that may need something, as far as calls may be made."""
        calls = self._calls
        if calls is None:
            return
        left = EXAMINED_AT_ONCE
        while self._to_examine and left and self._has_listed and calls.has_room:
            left -= 1
            uid = next(iter(self._to_examine))
            del self._to_examine[uid]
            record = self._memory.records.get(uid)
            if record is not None and not record.is_asking and record.retry_timer is None:
                self._examine(record, calls)
        if self._to_examine and not left and not self._will_examine:
            self._will_examine = True
            self.me.tell(ExamineMore())

    def _examine(self, record: StatusRecord, calls: BoundedCalls[_Call, StatusOutageOver]) -> None:
        shown = record.object(self._shown.object_of(record.pod), self.clock.monotonic())
        if not record.is_accepted and ends_soon(record.situation(shown)):
            left = record.held_for(self.clock.monotonic())
            if left > 0:
                self._wait(record, left)
                return
        write = self._next_write(record, shown)
        if write is None:
            return
        if isinstance(write, NoWrite) or shown is None:
            record.is_waiting = write is NoWrite.NO_OBJECT and record.pod.is_static
            if not record.is_waiting:
                record.changed_at = None
            self._troubles.clear(record)
            return
        if isinstance(write, PatchStatus) and record.is_accepted:
            now = self.clock.monotonic()
            if now < record.may_rewrite_at:
                self._wait(record, Seconds(record.may_rewrite_at - now))
                return
            record.rewrites += 1
            record.may_rewrite_at = Seconds(now + REWRITE_BACKOFF.delay(record.rewrites))
        record.is_asking = True
        calls.send(_Call(record.pod.uid, record.status, shown, write), write.request, self.me)

    def _next_write(self, record: StatusRecord, shown: Pod | None) -> Write | None:
        """Return what to write; None if that cannot be said."""
        try:
            return next_write(record.situation(shown))
        except Exception as error:  # noqa: BLE001  # nonsense of one pod, which other pods do not suffer from
            self._troubles.note(record, f"its status cannot be shown: {type(error).__name__}")
            return None

    def _wait(self, record: StatusRecord, delay: Seconds) -> None:
        record.stop_waiting()
        record.retry_timer = self.after(delay, StatusRetryDue(uid=record.pod.uid))

    # --- what comes of it ------------------------------------------------------------------------------

    def _take_answer(self, answer: ApiAnswered) -> None:
        call = None if self._calls is None else self._calls.take(answer)
        if call is None or self._calls is None:
            return
        record, outcome = self._memory.records.get(call.uid), answer.outcome
        if isinstance(outcome, ApiFailure):
            self._memory.refused[outcome.kind.value] += 1
            if is_outage(outcome):
                self._calls.note_outage(outcome)
            else:
                self._calls.note_answer()
        else:
            self._calls.note_answer()
            self._count(call)
        if record is not None:
            record.is_asking = False
            if isinstance(outcome, ApiFailure):
                self._note_failure(record, call, outcome)
            else:
                self._note_success(record, call, outcome)
            self._touch(call.uid)

    def _count(self, call: _Call) -> None:
        if isinstance(call.write, PatchStatus):
            self._memory.written += 1
        else:
            self._memory.deleted += 1
            _log.info("deleted pod at the API server", pod=call.shown.display_name, uid=call.uid)

    def _note_failure(self, record: StatusRecord, call: _Call, failure: ApiFailure) -> None:
        if record.status is not call.status and not shows_same(record.status, call.status):
            record.begin_anew()  # there is a newer status, about which this says nothing
        if is_outage(failure):
            record.outages += 1
            self._wait(record, pause(OUTAGE_BACKOFF, record.outages, failure))
            return
        record.failures += 1
        self._wait(record, pause(REFUSAL_BACKOFF, record.failures, failure))
        if failure.kind not in _GONE and record.failures > 1:
            # Not at first: of a pod that was just deleted and created again the watch will tell.
            is_forbidden = failure.kind is FailureKind.FORBIDDEN
            self._troubles.note(record, failure.sentence, is_forbidden=is_forbidden)

    def _note_success(self, record: StatusRecord, call: _Call, outcome: JsonObject) -> None:
        record.failures = record.outages = 0
        self._troubles.clear(record)
        if isinstance(call.write, DeletePod):
            record.deleted = call.shown.uid
            return
        self._troubles.note_written()
        shown = Pod.of(outcome)
        if shown.uid == call.shown.uid:
            record.note_answer(shown, self.clock.monotonic())
            if shows_same(record.status, call.status):
                record.accepted = accepted(record.status, outcome)
                if record.changed_at is not None:
                    self._memory.syncs.note(self.clock.monotonic() - record.changed_at)
                    record.changed_at = None

    def _described(self) -> StatusesDescribed:
        memory = self._memory
        return StatusesDescribed(
            statuses={uid: record.status for uid, record in memory.records.items()},
            written=memory.written,
            waiting=sum(record.is_waiting for record in memory.records.values()),
            refused=dict(memory.refused),
            deleted=memory.deleted,
            starts=memory.starts.described(),
            latencies=None if self._calls is None else memory.latencies.described(),
            syncs=None if self._calls is None else memory.syncs.described(),
            troubles={
                uid: record.trouble for uid, record in memory.records.items() if record.trouble
            },
        )
