"""Which pods this node has workers for, and what becomes of the others. Pure.

Every method says what happened, and appends to ``effects`` what is to be done about it. Effects are levels:
``repeat`` appends once more what follows from a record, for a keeper that has crashed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from actors.pods.admission import (
    DEFERRED,
    INFEASIBLE,
    Admission,
    Admitted,
    Preempt,
    Rejected,
)
from actors.pods.lifecycle import LEAST_GRACE, shorter
from actors.pods.node_fit import NODE_AFFINITY
from actors.pods.pod_records import (
    AnswerKiller,
    ForgetStatus,
    PodRecord,
    PostWarning,
    RecordStage,
    RosterCounts,
    RosterEffect,
    StartWorker,
    StopWorker,
    TellRefusal,
    TellWish,
)
from actors.pods.preemption import PREEMPTED
from actors.pods.resizes import Resizes
from actors.pods.static_names import StaticNames
from manifests.container_resources import ContainerResources
from messages.pod_lives import KillPod, PodLife
from messages.pod_runtime import RuntimePod
from messages.pods import CONFIG_SOURCE, Pod, PodUid, SourceName
from messages.statuses import PodFailure

_RESIZE_EVENTS: Final = {DEFERRED: "ResizeDeferred", INFEASIBLE: "ResizeInfeasible"}
"""A kubelet's reasons of the events, by the trouble."""
_STOPPED = frozenset({PodLife.TERMINATED, PodLife.FINISHED})
_UNBEGUN = frozenset({RecordStage.IN_LINE, RecordStage.AWAITING_NODE, RecordStage.MAKING_ROOM})


def _nothing_kept(_uid: PodUid) -> ContainerResources:
    return {}


@dataclass(slots=True)
class RosterMemory:
    """What outlives a life of the keeper of pods."""

    records: dict[PodUid, PodRecord] = field(default_factory=dict)
    names: StaticNames = field(default_factory=StaticNames)
    left_alone: dict[PodUid, None] = field(default_factory=dict)
    """Pods that only the runtime knows, and that nobody has decided on."""
    awaits_node: bool = False
    """The cluster has not shown the Node yet, so its labels may be others than the configured ones."""
    for_node: dict[PodUid, None] = field(default_factory=dict)
    """Pods that wait until the Node is known."""
    rooms: dict[PodUid, set[PodUid]] = field(default_factory=dict)
    """By a pod that is being stopped for others: these others."""
    deferred: dict[PodUid, None] = field(default_factory=dict)
    """Pods that request more than they have, and may have it once there is room."""
    counts: RosterCounts = field(default_factory=RosterCounts)
    last_wish: int = 0
    """The number of the last wish about any pod."""


class PodRoster:
    """All pods of this node, and the decisions about them.

    A pod that is listed for the first time stands in line for its name if it is static, is then admitted or
    refused, and gets a worker. If it is the Node's labels for which it would be refused, it waits until they
    are known. One that ran before the agent did is not refused (rule L9, done better). A pod that is being
    deleted or has ended needs no admission (rule L8): its worker only cleans up. A pod that comes to request
    more than there is room for runs on with what it has.
    """

    def __init__(
        self,
        admission: Admission,
        sources: frozenset[SourceName],
        memory: RosterMemory,
        kept: Callable[[PodUid], ContainerResources] = _nothing_kept,
    ) -> None:
        """``kept`` returns the resources with which an earlier process ran a pod."""
        self._kept = kept
        self._admission = admission
        self._sources = sources
        self._memory = memory
        self._records = memory.records
        self._resizes = Resizes(admission, memory.records, memory.deferred)
        self.effects: deque[RosterEffect] = deque()

    # --- what sources list -----------------------------------------------------------------------------

    def list_pod(self, pod: Pod, *, is_status_alone: bool = False) -> None:
        """Take a pod that a source lists: a new one, or another version of one that is known.

        ``is_status_alone``: nothing but its status is another one. As a rule that is what this node wrote.
        """
        record = self._records.get(pod.uid)
        if pod.is_mirror or (record is not None and record.pod is pod):
            return
        if record is None:
            self._add(pod)
        elif record.stage is RecordStage.LEFT_ALONE:
            self._adopt(record, pod)
        elif record.is_removed:
            record.returned = pod
        elif record.pod.full_name != pod.full_name:
            # Its UID is fixed, but it is another pod to everybody who looks at it.
            self.remove_pod(pod.uid, record.pod.source)
            self.list_pod(pod)
        else:
            record.pod = pod
            if not is_status_alone or record.held_back is not None:
                self._note_resize(record)
            if not is_status_alone or pod.is_terminal or _has_readiness_gates(pod):
                self._note_version(record)

    def remove_pod(self, uid: PodUid, source: str) -> None:
        """Take that ``source`` does not list a pod any more. Nothing if that is another source's by now."""
        record = self._records.get(uid)
        if record is None or record.has_no_document:
            if record is not None:
                record.returned = None
            return
        if record.pod.source != source:
            return
        record.returned = None
        if record.is_removed:
            return
        record.is_removed = True
        if record.is_up and not (record.stage is RecordStage.TO_START and not record.was_there):
            self._wish(record)
        else:
            self._drop(record)

    def missing_of(self, source: SourceName, listed: Iterable[Pod]) -> list[PodUid]:
        """Return the pods that ``source`` listed before, and does not any more."""
        uids = {pod.uid for pod in listed}
        return [
            uid
            for uid, record in self._records.items()
            if record.pod.source == source
            and uid not in uids
            and (record.returned is not None or not record.has_no_document)
        ]

    # --- what the runtime has --------------------------------------------------------------------------

    def note_runtime_pod(self, found: RuntimePod) -> None:
        """Take a pod that the runtime has. One that nobody else knows is left alone for now."""
        record = self._records.get(found.uid)
        if record is not None:
            return
        record = self._record(_only_known_to_runtime(found))
        record.stage = RecordStage.LEFT_ALONE
        record.was_there = record.has_no_document = True
        self._memory.left_alone[found.uid] = None
        if record.pod.is_static:
            self._memory.names.join(record.pod.full_name, found.uid)

    def orphans(self, listed: frozenset[SourceName]) -> Iterator[PodUid]:
        """Yield the pods that only the runtime has, and that no source will list (rule K27).

        ``listed`` are the sources that have listed for good. Such a pod came from one of them; or from none
        that is configured, and all have listed.
        """
        have_all = bool(self._sources) and self._sources <= listed
        for uid in list(self._memory.left_alone):
            record = self._records.get(uid)
            source = SourceName(record.pod.source) if record is not None else None
            if source in listed or (have_all and source not in self._sources):
                yield uid

    def stop_orphan(self, uid: PodUid) -> None:
        """Stop a pod that only the runtime has, and remove what is left of it (rule X26)."""
        record = self._records.get(uid)
        if record is not None and record.stage is RecordStage.LEFT_ALONE:
            del self._memory.left_alone[uid]
            record.is_removed = True
            record.grace = LEAST_GRACE
            self._start(record)

    # --- what becomes of pods --------------------------------------------------------------------------

    def look_at_resizes(self) -> None:
        """Look again at the pods that request more than they have: there may be room now."""
        for record in self._resizes.look_again():
            self._wish(record)

    def end_wait_for_node(self) -> None:
        """Look again at the pods that the Node's labels decide on: it is known now, or does not come."""
        self._memory.awaits_node = False
        waiting, self._memory.for_node = self._memory.for_node, {}
        for uid in waiting:
            record = self._records.get(uid)
            if record is not None and record.stage is RecordStage.AWAITING_NODE:
                self._begin(record)

    def note_life(self, uid: PodUid, wish: int, life: PodLife) -> None:
        """Take what a worker told of its pod."""
        record = self._records.get(uid)
        if record is None or record.stage is not RecordStage.STARTED or wish < record.since:
            return
        if wish < record.wish:
            self.effects.append(TellWish(uid))
        record.life = life
        if life in _STOPPED:
            self._note_stopped(record)
        if life is PodLife.FINISHED:
            self.effects.append(StopWorker(uid))
            record.stage = RecordStage.FINISHED
            if record.is_removed:
                self._drop(record)
            else:
                self._leave_name(record)

    def kill(self, order: KillPod) -> None:
        """End a pod for the node's own sake (rules X9, X14, X20)."""
        record = self._records.get(order.uid)
        if record is None or not self._end(record, order.failure, order):
            self.effects.append(AnswerKiller(order.uid, order.reply_to))
        elif order.reply_to not in record.killers:
            record.killers = (*record.killers, order.reply_to)

    def repeat(self, uid: PodUid) -> None:
        """Append what follows from the record of a pod, for a keeper that has begun a new life."""
        record = self._records.get(uid)
        match record.stage if record is not None else None:
            case RecordStage.TO_START | RecordStage.STARTED:
                self.effects += (StartWorker(uid), TellWish(uid))
            case RecordStage.REFUSED if record is not None:
                self._tell_refusal(record)
            case RecordStage.FINISHED:
                self.effects.append(StopWorker(uid))
            case _:
                pass

    # --- one pod ---------------------------------------------------------------------------------------

    def _record(self, pod: Pod) -> PodRecord:
        number = self._next_wish()
        record = self._records[pod.uid] = PodRecord(pod=pod, since=number, wish=number)
        return record

    def _next_wish(self) -> int:
        self._memory.last_wish += 1
        return self._memory.last_wish

    def _add(self, pod: Pod) -> None:
        self._begin(self._record(pod))

    def _adopt(self, record: PodRecord, pod: Pod) -> None:
        """Take a pod that the runtime had before any source listed it."""
        self._memory.left_alone.pop(pod.uid, None)
        if record.pod.is_static and (record.pod.full_name != pod.full_name or not pod.is_static):
            self._leave_name(record)
        record.pod, record.has_no_document = pod, False
        self._begin(record)

    def _begin(self, record: PodRecord) -> None:
        pod = record.pod
        if pod.is_static and not self._memory.names.join(pod.full_name, pod.uid):
            record.stage = RecordStage.IN_LINE
        elif pod.is_terminal or pod.is_deleting:
            self._start(record)
        elif record.was_there:
            self._resizes.take(record, self._kept(pod.uid))
            self._start(record)
        else:
            self._admit(record)

    def _admit(self, record: PodRecord) -> None:
        pod = record.pod
        verdict = self._admission.admit(pod)
        match verdict:
            case Admitted():
                self._admission.take(pod)
                self._start(record)
            case Rejected() if verdict.reason == NODE_AFFINITY.reason and self._memory.awaits_node:
                record.stage = RecordStage.AWAITING_NODE
                self._memory.for_node[pod.uid] = None
            case Rejected():
                self._refuse(record, verdict.failure)
                shown = PodFailure(reason=verdict.reason, message=verdict.message)
                self.effects.append(PostWarning(pod, shown))
            case Preempt(victims=victims):
                self._make_room(record, victims)

    def _make_room(self, record: PodRecord, victims: tuple[PodUid, ...]) -> None:
        record.stage, record.waits_for = RecordStage.MAKING_ROOM, set(victims)
        for victim in victims:
            self._admission.vacate(victim)
            self._memory.rooms.setdefault(victim, set()).add(record.pod.uid)
        self._admission.take(record.pod)
        for victim in victims:
            dying = self._records.get(victim)
            if dying is None or not self._end(dying, PREEMPTED):
                self._note_gone(victim)
            else:
                self._memory.counts.preempted += 1
                self.effects.append(PostWarning(dying.pod, PREEMPTED))

    def _end(self, record: PodRecord, failure: PodFailure, order: KillPod | None = None) -> bool:
        """Have a pod end for the node's own sake. Return False if nothing of it runs."""
        if record.stage in _UNBEGUN:
            self._refuse(record, failure)
        if not record.is_up or record.life in _STOPPED:
            return False
        record.is_killed, record.failure = True, failure
        record.grace = shorter(record.grace, order.grace if order is not None else None)
        self._wish(record)
        return True

    def _start(self, record: PodRecord) -> None:
        record.stage = RecordStage.TO_START
        self.effects.append(StartWorker(record.pod.uid))

    def note_start(self, uid: PodUid) -> PodRecord | None:
        """Note that a worker is being started now. Return its record; None if none is to be."""
        record = self._records.get(uid)
        if record is None or not record.is_up:
            return None
        self._memory.counts.started += record.stage is RecordStage.TO_START
        record.stage = RecordStage.STARTED
        return record

    def _wish(self, record: PodRecord) -> None:
        record.wish = self._next_wish()
        if record.stage is RecordStage.STARTED:
            self.effects.append(TellWish(record.pod.uid))

    def _note_version(self, record: PodRecord) -> None:
        pod = record.pod
        if record.is_up:
            self._wish(record)
        elif record.stage in _UNBEGUN and (pod.is_deleting or pod.is_terminal):
            self._refuse(record, record.failure)
        elif record.stage is RecordStage.REFUSED:
            self._tell_refusal(record)

    def _refuse(self, record: PodRecord, failure: PodFailure | None) -> None:
        record.stage, record.failure = RecordStage.REFUSED, failure
        if failure is not None:
            refused = self._memory.counts.refused
            refused[failure.reason] = refused.get(failure.reason, 0) + 1
        self._tell_refusal(record)
        self._admission.release(record.pod.uid)
        self._leave_name(record)

    def _tell_refusal(self, record: PodRecord) -> None:
        failure = record.failure or PodFailure(reason="", message="")
        self.effects.append(TellRefusal(record.pod, failure))

    def _note_stopped(self, record: PodRecord) -> None:
        uid = record.pod.uid
        self._admission.release(uid)
        self.look_at_resizes()
        self.effects.extend(AnswerKiller(uid, killer) for killer in record.killers)
        record.killers = ()
        self._note_gone(uid)

    def _note_resize(self, record: PodRecord) -> None:
        """Have a pod keep what it has, if there is no room for what its newest version requests."""
        before = record.resize
        self._resizes.note_version(record)
        if record.resize is not None and record.resize != before:
            reason = _RESIZE_EVENTS[record.resize.reason]
            refusal = PodFailure(reason=reason, message=record.resize.message)
            line = "a pod keeps the resources that it has"
            self.effects.append(PostWarning(record.pod, refusal, line))
        self.look_at_resizes()

    def _note_gone(self, victim: PodUid) -> None:
        """Start the pods that only waited for ``victim``."""
        for uid in self._memory.rooms.pop(victim, ()):
            record = self._records.get(uid)
            if record is not None and record.waits_for is not None:
                record.waits_for.discard(victim)
                if not record.waits_for and record.stage is RecordStage.MAKING_ROOM:
                    record.waits_for = None
                    self._start(record)

    def _drop(self, record: PodRecord) -> None:
        """Forget a pod that no source lists, and of which nothing is left."""
        pod, returned = record.pod, record.returned
        del self._records[pod.uid]
        self._note_stopped(record)
        if not record.has_no_document:
            self.effects.append(ForgetStatus(pod.uid))
        self._leave_name(record)
        if returned is not None:
            counts = self._memory.counts
            counts.restarted_static += returned.is_static
            counts.restarted += not returned.is_static
            self._add(returned)

    def _leave_name(self, record: PodRecord) -> None:
        """Leave the line for its name. The next one in it begins at once (rule K28)."""
        pod = record.pod
        if pod.is_static:
            heir = self._memory.names.leave(pod.full_name, pod.uid)
            following = self._records.get(heir) if heir is not None else None
            if following is not None and following.stage is RecordStage.IN_LINE:
                self._begin(following)


def _has_readiness_gates(pod: Pod) -> bool:
    """Return whether conditions that others set have a say in whether it is ready (rule L12)."""
    return bool(pod.document["spec"].get("readinessGates"))


def _only_known_to_runtime(found: RuntimePod) -> Pod:
    metadata = {
        "uid": found.uid,
        "namespace": found.namespace,
        "name": found.name,
        "annotations": {CONFIG_SOURCE: found.source} if found.source else {},
    }
    return Pod.of({"metadata": metadata, "spec": {"containers": []}})
