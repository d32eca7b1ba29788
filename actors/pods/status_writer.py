"""Writes the statuses of pods at the API server, and deletes there the pods that have ended.

A part of the keeper of statuses, for one life of it: which pods are examined, which calls are made, how many
at a time, and which troubles are told. What to write of one pod is decided in ``status_writes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from actors.bounded_calls import OUTAGE_BACKOFF, BoundedCalls, is_outage, pause
from actors.pods.status_deadlines import (
    ExamineMore,
    StatusDeadline,
    StatusOutageOver,
    StatusRetryDue,
)
from actors.pods.status_objects import ShownPods
from actors.pods.status_parts import StatusMemory, StatusPorts
from actors.pods.status_records import StatusRecord
from actors.pods.status_troubles import StatusTroubles
from actors.pods.status_writes import (
    DeletePod,
    NoWrite,
    PatchStatus,
    Write,
    accepted,
    counts_on_soon,
    ends_soon,
    next_write,
)
from kernel import Backoff, Clock, Port, Timer
from messages.api import ApiAnswered, ApiFailure, FailureKind
from messages.pod_manager import PodFact, PodsChanged
from messages.pods import API, FullName, JsonObject, Pod, PodUid
from messages.statuses import PodStatus
from messages.units import Seconds, Timestamp
from stores.statuses.status import shows_same

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


class WritingActor(Protocol):
    """What the writer needs of the actor that it is a part of."""

    @property
    def clock(self) -> Clock:
        """The clock of the actor system."""
        ...

    @property
    def me(self) -> Port[ApiAnswered | StatusDeadline]:
        """Itself."""
        ...

    def after(self, delay: Seconds, message: ApiAnswered | StatusDeadline) -> Timer:
        """Tell the actor ``message`` in ``delay`` seconds."""
        ...


class StatusWriter:
    """Sees to it that the API server has the statuses in the memory. Without one it does nothing."""

    def __init__(self, ports: StatusPorts, memory: StatusMemory, actor: WritingActor) -> None:
        self._memory = memory
        self._actor = actor
        self._shown = ShownPods()
        self._statics: dict[FullName, dict[PodUid, None]] = {}
        self._has_listed = False
        self._to_examine: dict[PodUid, None] = {}
        self._will_examine = False
        self._troubles = StatusTroubles(ports.events)
        self._calls: BoundedCalls[_Call, StatusOutageOver] | None = None
        if ports.calls is not None:
            waiting = "statuses of pods have to wait for the API server"
            self._calls = BoundedCalls(ports.calls, actor.after, StatusOutageOver(), _log, waiting)

    @property
    def is_joined(self) -> bool:
        """Whether there is an API server to write to."""
        return self._calls is not None

    # --- what it is told -------------------------------------------------------------------------------

    def add(self, record: StatusRecord) -> None:
        """Take a pod that was not known in this life."""
        if record.pod.is_static:
            self._statics.setdefault(record.pod.full_name, {})[record.pod.uid] = None

    def note_status(self, record: StatusRecord) -> None:
        """Note that a pod has another status than before."""
        record.begin_anew()
        if record.changed_at is None and self.is_joined:
            record.changed_at = self._actor.clock.monotonic()
        self.touch(record.pod.uid)

    def forget(self, record: StatusRecord) -> None:
        """Forget a pod that is this node's no more."""
        record.stop_waiting()
        self._troubles.clear(record)
        of_name = self._statics.get(record.pod.full_name)
        if of_name is not None:
            of_name.pop(record.pod.uid, None)
            if not of_name:
                del self._statics[record.pod.full_name]

    def note_fact(self, fact: PodFact) -> None:
        """Take what the API server shows of pods. Other sources say nothing of that."""
        if isinstance(fact, PodsChanged):
            touched = self._shown.apply(fact.changes)
        elif fact.source != API:
            return
        else:
            touched = self._shown.replace(fact.pods)
            if not self._has_listed:
                self._has_listed = True
                self.touch(*self._memory.records)
        now = self._actor.clock.wall()
        for pod in touched:
            self.touch(pod.uid)
            if pod.is_mirror:
                self.touch(*self._statics.get(pod.full_name, ()))
            else:
                self._note_shown(pod, now)

    def _note_shown(self, pod: Pod, now: Timestamp) -> None:
        if self._shown.object_of(pod) is None:
            self._memory.latencies.forget(pod.uid)
        else:
            record = self._memory.records.get(pod.uid)
            status = None if record is None else record.status
            self._memory.latencies.note_shown(pod, status, now)

    def take_deadline(self, message: StatusDeadline) -> None:
        """Go on with what has waited."""
        match message:
            case StatusRetryDue(uid=uid):
                record = self._memory.records.get(uid)
                if record is not None:
                    record.stop_waiting()
                    self.touch(uid)
            case StatusOutageOver():
                if self._calls is not None:
                    self._calls.end_pause()
            case ExamineMore():
                self._will_examine = False

    # --- what it does ----------------------------------------------------------------------------------

    def touch(self, *uids: PodUid) -> None:
        """Have pods examined: something about them may have to be written."""
        if self._calls is None:
            return
        for uid in uids:
            record = self._memory.records.get(uid)
            if record is not None:
                record.is_waiting = True
                self._to_examine[uid] = None

    def examine_some(self) -> None:
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
            self._actor.me.tell(ExamineMore())

    def _examine(self, record: StatusRecord, calls: BoundedCalls[_Call, StatusOutageOver]) -> None:
        shown = record.object(self._shown.object_of(record.pod), self._actor.clock.monotonic())
        situation = record.situation(shown)
        if not record.is_accepted and (ends_soon(situation) or counts_on_soon(situation)):
            left = record.held_for(self._actor.clock.monotonic())
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
            now = self._actor.clock.monotonic()
            if now < record.may_rewrite_at:
                self._wait(record, Seconds(record.may_rewrite_at - now))
                return
            record.rewrites += 1
            record.may_rewrite_at = Seconds(now + REWRITE_BACKOFF.delay(record.rewrites))
        record.is_asking = True
        calls.send(
            _Call(record.pod.uid, record.status, shown, write), write.request, self._actor.me
        )

    def _next_write(self, record: StatusRecord, shown: Pod | None) -> Write | None:
        """Return what to write; None if that cannot be said."""
        try:
            return next_write(record.situation(shown))
        except Exception as error:  # noqa: BLE001  # nonsense of one pod, which other pods do not suffer from
            self._troubles.note(record, f"its status cannot be shown: {type(error).__name__}")
            return None

    def _wait(self, record: StatusRecord, delay: Seconds) -> None:
        record.stop_waiting()
        record.retry_timer = self._actor.after(delay, StatusRetryDue(uid=record.pod.uid))

    # --- what comes of it ------------------------------------------------------------------------------

    def take_answer(self, answer: ApiAnswered) -> None:
        """Take the answer to a call."""
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
            self.touch(call.uid)

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
            record.note_answer(shown, self._actor.clock.monotonic())
            if shows_same(record.status, call.status):
                record.accepted = accepted(record.status, outcome)
                if record.changed_at is not None:
                    self._memory.syncs.note(self._actor.clock.monotonic() - record.changed_at)
                    record.changed_at = None
