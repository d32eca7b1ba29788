"""Brings one pod after the other a step further: asks the plan, makes its steps, and tells what is."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from manifests.qos import is_critical
from messages.container_runtime import CreateContainer, StopContainer
from messages.pod_runtime import ContainerState, PodObserved, PodTrouble
from messages.pods import Pod, PodUid
from messages.units import Instant, Seconds
from runtimes.containers.calls import ContainerCalls, is_start
from runtimes.containers.contents import is_stopped, newest_instances
from runtimes.containers.crash_backoff import forgive, note_restart
from runtimes.containers.event_texts import when_hook_called, when_sent
from runtimes.containers.hook_calls import HookCalls, note_start
from runtimes.containers.learning import note_exits
from runtimes.containers.plan import plan, plan_removal, plan_stop
from runtimes.containers.pod_reporter import NETWORK_NOT_READY, PodReporter
from runtimes.containers.pod_turns import DuePods
from runtimes.containers.record import RuntimeMemory, RuntimeRecord, Wanted
from runtimes.containers.shape import PodShape, restored_shape, shape_of
from runtimes.containers.situation import HookStep, Limits, Plan, PodSituation, Step
from runtimes.containers.stopping import is_being_changed

_NO_POD: Final = Pod.of({})
_NO_SHAPE: Final[PodShape] = shape_of(_NO_POD)
_NO_PLAN: Final = Plan((), {}, None)


@dataclass(slots=True)
class PodDriver:
    """Drives pods. One life of the actor has one."""

    memory: RuntimeMemory
    calls: ContainerCalls
    reporter: PodReporter
    due: DuePods
    hooks: HookCalls
    limits: Limits
    away: str = ""
    """Why the runtime of containers cannot be asked; empty if it can."""
    _waiting: list[tuple[bool, int, PodUid]] = field(default_factory=list)
    """Pods with a start that has no room yet: those that the node must run, then others, the oldest first."""
    _is_waiting: set[PodUid] = field(default_factory=set)

    def examine(self, record: RuntimeRecord, moment: Instant) -> None:
        """Bring a pod a step further, as far as anything is known of it."""
        if self.away:
            trouble = PodTrouble(reason="RuntimeIsAway", message=self.away)
            self.reporter.tell_trouble(record, trouble)
        elif record.is_in_doubt:
            self._shorten_stops(record, moment.monotonic)
            self._look(record, moment.monotonic)
        elif record.wanted is Wanted.NOTHING:
            self._drop_if_empty(record)
        else:
            self._go_on(record, moment)

    def let_waiting_start(self, moment: Callable[[], Instant]) -> None:
        """Examine pods that wait for room, in order, while there is room."""
        while self._waiting and self.calls.has_room and not self.away:
            *_, uid = heapq.heappop(self._waiting)
            self._is_waiting.discard(uid)
            record = self.memory.records.get(uid)
            if record is not None:
                self.examine(record, moment())

    # --- inside ----------------------------------------------------------------------------------------

    def _shorten_stops(self, record: RuntimeRecord, now: Seconds) -> None:
        """Shorten stops that are under way: that needs no look, and the look waits for their ends."""
        stops = {
            call.step.request.id
            for call in record.calls
            if isinstance(call.step.request, StopContainer)
        }
        if not stops or not record.is_stopping:
            return
        for step in self._decide(record, self._situation(record, now)).steps:
            if isinstance(step.request, StopContainer) and step.request.id in stops:
                self._make(record, step, now)

    def _look(self, record: RuntimeRecord, now: Seconds) -> None:
        if record.paused_until > now:
            self.due.set(record, record.paused_until)
        else:
            self.calls.look(record, now)

    def _go_on(self, record: RuntimeRecord, moment: Instant) -> None:
        now = moment.monotonic
        if record.hooks:
            self.hooks.tidy(record)
        self._note_past(record, moment)
        situation = self._situation(record, now)
        decided = self._decide(record, situation)
        if record.impossible is not None and not record.is_stopping:
            due: Seconds | None = None  # whoever commanded the pod ends it
        elif record.paused_until > now:
            due = record.paused_until
        else:
            due = decided.wake_at
            for step in decided.steps:
                self._make(record, step, now)
            for hook in decided.hooks:
                self._make_hook(record, hook, now)
        self._note_obeyed(record)
        if record.wanted is Wanted.FORGET and record.obeyed == record.mark:
            self._forget(record)
            return
        self.reporter.tell(record, decided.waits, self._troubles(record, decided), now)
        times = [time for time in (due, record.tell_by) if time is not None]
        self.due.set(record, min(times, default=None))

    def _note_past(self, record: RuntimeRecord, moment: Instant) -> None:
        if not record.is_stopping:  # nothing of it starts again, whatever its exits were
            note_exits(record, moment, self.limits.longest_backoff)
        elif record.shape is None:
            record.shape = restored_shape(record.contents)

    def _situation(self, record: RuntimeRecord, now: Seconds) -> PodSituation:
        return PodSituation(
            pod=record.pod or _NO_POD,
            shape=record.shape or _NO_SHAPE,
            contents=record.contents,
            busy=record.busy() if record.calls else {},
            notes=record.notes or {},
            hooks=record.hooks or {},
            stops=record.stops or {},
            verdicts=record.verdicts,
            objects=record.objects,
            unread=record.unread,
            services=record.services,
            volumes=record.volumes,
            outdated=record.outdated,
            highest_sandbox=record.highest_sandbox,
            sandbox_retry_at=record.sandbox_retry_at,
            restart_all_at=record.restart_all_at,
            limits=self.limits,
            now=now,
        )

    @staticmethod
    def _decide(record: RuntimeRecord, situation: PodSituation) -> Plan:
        match record.wanted:
            case Wanted.RUN:
                return plan(situation)
            case Wanted.STOP:
                return plan_stop(situation, record.stop_by, record.shortest)
            case Wanted.FORGET:
                return plan_removal(situation, record.stop_by)
            case Wanted.NOTHING:
                return _NO_PLAN

    def _make(self, record: RuntimeRecord, step: Step, now: Seconds) -> None:
        if is_start(step):
            if not self.calls.has_room:
                self._await_room(record)
                return
            if isinstance(step.request, CreateContainer):
                self._note_creation(record, step, now)
        if step.replaces:
            record.notes_of(step.target).replaced_id = step.replaces
        if record.shape is not None and record.shape.has_hooks:
            note_start(record, step)
        if isinstance(step.request, StopContainer):
            record.note_stop(step.request, now)
        self.calls.send(record, step, now)
        texts = when_sent(step)
        if texts:
            self.reporter.say(record, texts, step.target)

    def _make_hook(self, record: RuntimeRecord, step: HookStep, now: Seconds) -> None:
        if step.replaces:
            record.notes_of(step.target).replaced_id = step.replaces
        if self.hooks.send(record, step, now):
            self.reporter.say(record, when_hook_called(step), step.target)
            self.reporter.say_hook(record, step.target, step.kind, "hook begins")

    def _await_room(self, record: RuntimeRecord) -> None:
        if record.uid not in self._is_waiting:
            self._is_waiting.add(record.uid)
            can_wait = record.pod is None or not is_critical(record.pod)
            heapq.heappush(self._waiting, (can_wait, record.order, record.uid))

    def _note_creation(self, record: RuntimeRecord, step: Step, now: Seconds) -> None:
        notes = record.known_notes(step.target)
        if notes is None or notes.crashes is None:
            return
        newest = newest_instances(record.contents).get(step.target)
        if newest is None or newest.state is not ContainerState.EXITED:
            return
        if newest.id in record.outdated:
            forgive(notes.crashes, newest.id, now)
        else:
            note_restart(notes.crashes, newest.id, now, self.limits.longest_backoff)

    def _troubles(self, record: RuntimeRecord, decided: Plan) -> tuple[PodTrouble, ...]:
        if not decided.awaits_network:
            return troubles(record)
        message = f"network is not ready: {self.limits.network_trouble}"
        return (*troubles(record), PodTrouble(reason=NETWORK_NOT_READY, message=message))

    def _note_obeyed(self, record: RuntimeRecord) -> None:
        is_obeyed = record.wanted is Wanted.RUN or (
            is_stopped(record.contents)
            and not is_being_changed(record.busy())
            and (record.wanted is Wanted.STOP or not record.contents)
        )
        if is_obeyed:
            record.obeyed = record.mark

    def _forget(self, record: RuntimeRecord) -> None:
        self.calls.drop(record)
        del self.memory.records[record.uid]
        if record.reply_to is not None:
            record.reply_to.tell(PodObserved(uid=record.uid, mark=record.obeyed))

    def _drop_if_empty(self, record: RuntimeRecord) -> None:
        if not record.contents and not record.calls:
            self.memory.records.pop(record.uid, None)


def troubles(record: RuntimeRecord) -> tuple[PodTrouble, ...]:
    """Return what is wrong with the pod as a whole."""
    found = [] if record.impossible is None else [record.impossible]
    if record.sandbox_error and not record.is_stopping:
        message = f"Failed to create pod sandbox: {record.sandbox_error}"
        found.append(PodTrouble(reason="FailedCreatePodSandBox", message=message))
    for name, notes in (record.notes or {}).items():
        if notes.resize_error:
            message = f"container {name}: {notes.resize_error}"
            found.append(PodTrouble(reason="ResizeRefused", message=message))
    return tuple(found)
