"""Writes the statuses of pods at the API server, and deletes there the pods that have ended.

A part of the keeper of statuses, for one life of it: which pods are examined, which calls are made, how many
at a time, and which troubles are told. What to write of one pod is decided in ``status_writes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import structlog

from actors.api_calls import OUTAGE_BACKOFF, ApiOutage, api_call, is_outage, pause
from actors.pods.status_records import ShownPods, StatusMemory, StatusRecord
from actors.pods.status_writes import (
    DeletePod,
    NoWrite,
    PatchStatus,
    Write,
    accepted,
    asked_by,
    counts_on_soon,
    ends_soon,
    is_answered,
    next_write,
)
from kernel import Backoff, OperationsMemory, PooledActor, Port
from messages.api import ApiFailure, CallApi, FailureKind
from messages.events import EventType, ObjectReference, PostEvent
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

EVENT_REASON: Final = "FailedStatusUpdate"

_GONE: Final = frozenset({FailureKind.NOT_FOUND, FailureKind.CONFLICT, FailureKind.GONE})
"""The object is not there, or another one has its name (rule V7). The watch will show that."""

_log = structlog.get_logger("status-keeper")


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """What a call is for."""

    uid: PodUid
    status: PodStatus
    shown: Pod
    write: PatchStatus | DeletePod


class StatusWriter:
    """Sees to it that the API server has the statuses in the memory. Without one it does nothing."""

    def __init__(
        self,
        calls: Port[CallApi] | None,
        events: Port[PostEvent] | None,
        memory: StatusMemory,
        actor: PooledActor[Any],
    ) -> None:
        """``actor`` is the one that it is a part of, and has started."""
        self._memory = memory
        self._actor = actor
        self._shown = ShownPods()
        self._statics: dict[FullName, dict[PodUid, None]] = {}
        self._has_listed = False
        self._to_examine: dict[PodUid, None] = {}
        self._troubles = StatusTroubles(events)
        self._port = calls
        self._calls = actor.operations(OperationsMemory[_Call](), self._take_answer)
        waiting = "statuses of pods have to wait for the API server"
        self._outage = ApiOutage(actor.alarm(self.examine_some), _log, waiting)
        self._more = actor.alarm(self.examine_some)

    @property
    def is_joined(self) -> bool:
        """Whether there is an API server to write to."""
        return self._port is not None

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

    # --- what it does ----------------------------------------------------------------------------------

    def touch(self, *uids: PodUid) -> None:
        """Have pods examined: something about them may have to be written."""
        if not self.is_joined:
            return
        for uid in uids:
            record = self._memory.records.get(uid)
            if record is not None:
                record.is_waiting = True
                self._to_examine[uid] = None

    def examine_some(self) -> None:
        """Examine some of the pods that may need something, as far as calls may be made."""
        left = EXAMINED_AT_ONCE
        while self._to_examine and left and self._has_listed and self._has_room:
            left -= 1
            uid = next(iter(self._to_examine))
            del self._to_examine[uid]
            record = self._memory.records.get(uid)
            if record is not None and not record.is_asking and record.retry_timer is None:
                self._examine(record)
        if self._to_examine and not left:
            self._more.after(Seconds(0.0))

    @property
    def _has_room(self) -> bool:
        return self._outage.has_room(len(self._calls))

    def _examine(self, record: StatusRecord) -> None:
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
        self._send(record, shown, write)

    def _send(self, record: StatusRecord, shown: Pod, write: PatchStatus | DeletePod) -> None:
        if self._port is not None:
            record.is_asking = True
            call = _Call(record.pod.uid, record.status, shown, write)
            self._calls.begin(call, api_call(self._port, write.request))

    def _next_write(self, record: StatusRecord, shown: Pod | None) -> Write | None:
        """Return what to write; None if that cannot be said."""
        try:
            return next_write(record.situation(shown))
        except Exception as error:  # noqa: BLE001  # nonsense of one pod, which other pods do not suffer from
            self._troubles.note(record, f"its status cannot be shown: {type(error).__name__}")
            return None

    def _wait(self, record: StatusRecord, delay: Seconds) -> None:
        record.stop_waiting()
        record.retry_timer = self._actor.later(delay, self._try_again, record.pod.uid)

    def _try_again(self, uid: PodUid) -> None:
        """Examine a pod whose wait is over."""
        record = self._memory.records.get(uid)
        if record is not None:
            record.stop_waiting()
            self.touch(uid)
            self.examine_some()

    # --- what comes of it ------------------------------------------------------------------------------

    def _take_answer(self, call: _Call, outcome: JsonObject | ApiFailure) -> None:
        self._note_answer(call, outcome)
        self.examine_some()

    def _note_answer(self, call: _Call, outcome: JsonObject | ApiFailure) -> None:
        record = self._memory.records.get(call.uid)
        if isinstance(outcome, ApiFailure):
            self._memory.refused[outcome.kind.value] += 1
        else:
            self._count(call)
        if isinstance(outcome, ApiFailure) and is_outage(outcome):
            self._outage.note_failure(outcome)
        else:
            self._outage.note_answer()
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
            if shows_same(record.status, call.status) and self._is_answered(record, call, shown):
                record.accepted = accepted(record.status, outcome)
                if record.changed_at is not None:
                    self._memory.syncs.note(self._actor.clock.monotonic() - record.changed_at)
                    record.changed_at = None

    @staticmethod
    def _is_answered(record: StatusRecord, call: _Call, answer: Pod) -> bool:
        body = call.write.request.body if isinstance(call.write, PatchStatus) else None
        record.asked |= asked_by(body) if body is not None else frozenset()
        return is_answered(record.asked, record.pod, record.status, answer)


class StatusTroubles:
    """Tells people which statuses the API server refuses: once in the log, once as an event.

    A node that may write no status at all has the same trouble with every pod. Then the log has one line for
    all. This is of one life of StatusKeeper; each record holds its own trouble.
    """

    def __init__(self, events: Port[PostEvent] | None) -> None:
        self._events = events
        self._is_forbidden = False
        """A status was forbidden, and none was written since."""

    def note(self, record: StatusRecord, sentence: str, *, is_forbidden: bool = False) -> None:
        """Tell why the API server does not have the status of a pod, unless that was told already.

        Of statuses that are forbidden the log names the first. The others follow once one was written.
        """
        if record.trouble == sentence:
            return
        pod, record.trouble = record.pod, sentence
        is_said = record.is_trouble_said = not (is_forbidden and self._is_forbidden)
        self._is_forbidden |= is_forbidden
        emit = _log.warning if is_said else _log.debug
        emit("the status of a pod is not written", pod=pod.display_name, error=sentence)
        if self._events is not None:
            event = PostEvent(
                regarding=ObjectReference.of_pod(pod),
                type=EventType.WARNING,
                reason=EVENT_REASON,
                message=f"the status is not written: {sentence}",
            )
            self._events.tell(event)

    def note_written(self) -> None:
        """Note that the API server took a status, so the node may write them."""
        self._is_forbidden = False

    def clear(self, record: StatusRecord) -> None:
        """Take the trouble of a pod back, if there is one."""
        if record.trouble:
            record.trouble = ""
            emit = _log.info if record.is_trouble_said else _log.debug
            emit("the status of a pod is written again", pod=record.pod.display_name)
