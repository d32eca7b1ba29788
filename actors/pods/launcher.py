"""Does what ``PodWorkers`` has decided: starts and stops workers, and tells what is to be told.

A part of the keeper of pods. At most ``WINDOW`` workers are being started or stopped at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, assert_never

import structlog

from actors.pods.keeper_parts import PodKeeperMemory, PodKeeperPorts
from actors.pods.orders import RepeatStatus, worker_key
from actors.pods.pod_workers import PodWorkers
from actors.pods.pod_workers_state import (
    AnswerKiller,
    ForgetStatus,
    Launch,
    PodRecord,
    PodWorkersEffect,
    PostWarning,
    RecordStage,
    StartWorker,
    StopWorker,
    TellRefusal,
    TellWish,
)
from actors.pods.times import Operation
from actors.pods.worker.actor import PodWorker
from actors.pods.worker.news import pod_event
from actors.pods.worker.parts import WorkerMemory
from files.record_keeper import KeepRecords
from kernel import PooledActor, StartChild, StopChild, isolated
from messages.events import EventType
from messages.pod_lives import PodKilled
from messages.pods import PodUid
from messages.statuses import ForgetPodStatus, PodStatusIs
from messages.units import Seconds
from stores.statuses.reading import status_of
from stores.statuses.status import StatusSituation, status_after

REPORT_WITHIN: Final = Seconds(5.0)
"""How long the reports of workers that are under way are waited for."""

_log = structlog.get_logger("pods")


class LaunchWindow:
    """Starts and stops of workers that wait, and those that are under way.

    Ten thousand starts at once keep the control thread from everything else for half a second. So a start or
    a stop counts as under way until the worker has reported that it is up, or gone.
    """

    def __init__(self, waiting: deque[Launch], limit: int) -> None:
        """Launch what stands in ``waiting``, which outlives the one who launches."""
        self._limit = limit
        self._waiting = waiting
        self._under_way: dict[Launch, None] = {}

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._under_way)

    def add(self, launch: Launch) -> None:
        """Have ``launch`` done after all that wait already."""
        self._waiting.append(launch)

    def take(self) -> Iterator[Launch]:
        """Yield what is to be done now. It is under way from here on, and waits until it is done."""
        while self._waiting and len(self._under_way) < self._limit:
            launch = self._waiting[0]
            self._under_way[launch] = None
            yield launch
            self._waiting.popleft()

    def note(self, launch: Launch) -> None:
        """Note that ``launch`` was reported, or came to nothing. May repeat."""
        self._under_way.pop(launch, None)

    def give_up(self) -> None:
        """Wait no longer for what is under way: whoever should report it may have crashed."""
        self._under_way.clear()


class WorkerLauncher:
    """Carries out the effects of one ``PodWorkers``, for one life of the keeper."""

    def __init__(
        self,
        ports: PodKeeperPorts,
        memory: PodKeeperMemory,
        pod_workers: PodWorkers,
        actor: PooledActor[Any],
    ) -> None:
        """``actor`` is the one that it is a part of, and has started."""
        self._ports = ports
        self._memory = memory
        self._pod_workers = pod_workers
        self._actor = actor
        self._window = LaunchWindow(memory.launches, memory.workers_at_once)
        self._reports_are_late = actor.alarm(self._give_up)

    def carry_out(self) -> None:
        """Do what has been decided, and launch as many workers as may be under way."""
        effects = self._pod_workers.effects
        while effects:
            self._do(effects[0])
            effects.popleft()  # not before: the next life does what this one crashes over
        for launch in self._window.take():
            self._launch(launch)
        if self._reports_are_late.due is None and self._window.is_busy:
            self._reports_are_late.after(REPORT_WITHIN)

    def note_up(self, uid: PodUid) -> None:
        """Note that a worker has reported."""
        self._window.note(StartWorker(uid))

    def note_gone(self, uid: PodUid) -> None:
        """Note that a worker has stopped."""
        self._window.note(StopWorker(uid))

    def _give_up(self) -> None:
        """Wait no longer for workers that have not reported."""
        self._window.give_up()
        self.carry_out()

    def _do(self, effect: PodWorkersEffect) -> None:
        match effect:
            case StartWorker() | StopWorker():
                self._window.add(effect)
            case TellWish(uid):
                self._tell_wish(uid)
            case TellRefusal():
                self._tell_refusal(effect)
            case ForgetStatus(uid):
                self._forget_memory(uid)
                self._ports.statuses.tell(ForgetPodStatus(uid=uid))
            case AnswerKiller(uid, reply_to):
                reply_to.tell(PodKilled(uid=uid))
            case PostWarning():
                self._warn(effect)
            case _:
                assert_never(effect)

    def _tell_wish(self, uid: PodUid) -> None:
        record = self._memory.pod_workers.records.get(uid)
        if record is not None:
            if record.taken < record.wish:
                is_end = record.is_removed or record.is_killed or record.pod.is_deleting
                self._begin(record, Operation.KILL if is_end else Operation.UPDATE)
            self._ports.address(worker_key(uid)).tell(record.wished())

    def _begin(self, record: PodRecord, operation: Operation) -> None:
        """Have the time of an operation measured from now on."""
        now = self._actor.clock.monotonic()
        self._memory.times.note_wish(record.pod.uid, operation, record.wish, now)

    def _launch(self, launch: Launch) -> None:
        uid = launch.uid
        if isinstance(launch, StopWorker):
            self._forget_memory(uid)
            self._ports.workers.tell(StopChild(path=worker_key(uid).path))
            return
        record = self._pod_workers.note_start(uid)
        if record is None:
            self._window.note(launch)
            return
        if record.taken < record.since:
            self._begin(record, Operation.CREATE)
        key = worker_key(uid)
        make = partial(_make_worker, self._ports, self._worker_memory(record))
        self._ports.workers.tell(StartChild(spec=isolated(key, make)))

    def _worker_memory(self, record: PodRecord) -> WorkerMemory:
        """Return the memory of a worker: that of its earlier lives, if it had any."""
        memory = self._memory.workers.get(record.pod.uid)
        if memory is None or memory.wish.since != record.since:
            uid, kept = record.pod.uid, self._memory.kept or {}
            if memory is not None:
                self._drop_record(uid)  # it is about the pod before
            memory = WorkerMemory(wish=record.wished(), kept=kept.pop(uid, None))
            self._memory.workers[uid] = memory
        return memory

    def _forget_memory(self, uid: PodUid) -> None:
        """Forget what a worker left. That of a pod which is listed stays: its status may be asked for."""
        if uid not in self._memory.pod_workers.records:
            self._memory.workers.pop(uid, None)
            self._memory.times.forget(uid)
            self._drop_record(uid)

    def _drop_record(self, uid: PodUid) -> None:
        if self._ports.records is not None:
            self._ports.records.tell(KeepRecords(records={uid: None}))

    def drop_strange_records(self) -> None:
        """Drop what an earlier process has kept of pods that are no more."""
        kept, records = self._memory.kept or {}, self._memory.pod_workers.records
        for uid in [uid for uid in kept if uid not in records]:
            self._drop_record(uid)
            del kept[uid]

    def tell_status(self, uid: PodUid, record: PodRecord) -> None:
        """Have the status of a pod told once more."""
        if record.stage is RecordStage.STARTED:
            self._ports.address(worker_key(uid)).tell(RepeatStatus())
            return
        memory = self._memory.workers.get(uid)
        if record.stage is RecordStage.REFUSED:
            self._pod_workers.repeat(uid)
        elif memory is not None and memory.status is not None:
            told = PodStatusIs(pod=record.pod, status=memory.status, is_finished=True)
            self._ports.statuses.tell(told)

    def _tell_refusal(self, refusal: TellRefusal) -> None:
        """Tell the status of a pod that never runs here. Nothing of it is left, so it may go at once."""
        situation = StatusSituation(
            pod=refusal.refused,
            observed=None,
            previous=status_of(refusal.refused.document),
            failure=refusal.failure,
            is_ended=True,
            host_ips=self._ports.worker.host_ips(),
            now=self._actor.clock.wall(),
        )
        status = status_after(situation)
        self._ports.statuses.tell(PodStatusIs(pod=refusal.pod, status=status, is_finished=True))

    def _warn(self, warning: PostWarning) -> None:
        pod, failure = warning.pod, warning.failure
        _log.warning(
            warning.line,
            pod=pod.display_name,
            reason=failure.reason,
            message=failure.message,
        )
        if self._ports.worker.events is not None:
            self._ports.worker.events.tell(pod_event(pod, EventType.WARNING, failure))


def _make_worker(ports: PodKeeperPorts, memory: WorkerMemory) -> PodWorker:
    # Its address is looked up for each life: while there is none, nobody keeps its mailbox.
    me = ports.address(worker_key(memory.wish.pod.uid))
    return PodWorker(ports.worker, memory, me)
