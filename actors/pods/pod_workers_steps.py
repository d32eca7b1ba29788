"""What can become of one pod on this node: the steps that ``pod_workers.py`` puts together. Pure.

A step changes the pod's record, and appends to ``effects`` what is to be done about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from actors.pods.admission import (
    DEFERRED,
    INFEASIBLE,
    Admission,
    Admitted,
    Preempt,
    Rejected,
)
from actors.pods.lifecycle import shorter
from actors.pods.node_fit import NODE_AFFINITY, PREEMPTED
from actors.pods.pod_workers_state import (
    AnswerKiller,
    ForgetStatus,
    PodRecord,
    PodWorkersMemory,
    PostWarning,
    RecordStage,
    StartWorker,
    TellRefusal,
    TellWish,
)
from actors.pods.records import KeptPod
from manifests.requests import ContainerResources, resources_of, with_resources
from messages.pod_lives import KillPod
from messages.pods import Pod, PodUid
from messages.statuses import PodFailure
from stores.pods.index import is_mirror_pod_of

_RESIZE_EVENTS: Final = {DEFERRED: "ResizeDeferred", INFEASIBLE: "ResizeInfeasible"}
"""A kubelet's reasons of the events, by the trouble."""
_UNBEGUN = frozenset({RecordStage.IN_LINE, RecordStage.AWAITING_NODE, RecordStage.MAKING_ROOM})


class PodWorkersSteps:
    """The steps of single pods, and what one pod's step means for others that wait for it."""

    def __init__(
        self,
        admission: Admission,
        memory: PodWorkersMemory,
        kept: Callable[[PodUid], KeptPod | None],
    ) -> None:
        """``kept`` returns what an earlier process has kept of a pod."""
        self._admission = admission
        self._memory = memory
        self._records = memory.records
        self._kept = kept
        self._resizes = Resizes(admission, memory.records, memory.deferred)
        self.effects = memory.effects

    def new_record(self, pod: Pod) -> PodRecord:
        """Return a new record of a pod that was not known."""
        number = self._next_wish()
        record = self._records[pod.uid] = PodRecord(pod=pod, since=number, wish=number)
        return record

    def _next_wish(self) -> int:
        self._memory.last_wish += 1
        return self._memory.last_wish

    def add(self, pod: Pod) -> None:
        """Take a pod that was not known, and see whether it may start."""
        record = self.new_record(pod)
        mirror = self._memory.mirrors.pop(pod.full_name, None) if pod.is_static else None
        if mirror is not None and self._is_of_earlier_process(mirror, pod):
            record.mirror = mirror
        self.begin(record)

    def adopt(self, record: PodRecord, pod: Pod) -> None:
        """Take a pod that the runtime had before any source listed it."""
        self._memory.left_alone.pop(pod.uid, None)
        if record.pod.is_static and (record.pod.full_name != pod.full_name or not pod.is_static):
            self.leave_name(record)
        record.pod, record.has_no_document = pod, False
        self.begin(record)

    def begin(self, record: PodRecord) -> None:
        """Start a pod, refuse it, or have it wait for its name, the Node or room."""
        pod, kept = record.pod, self._kept(record.pod.uid)
        has_ended = pod.is_terminal or (kept is not None and kept.ended is not None)
        if pod.is_static and not self._memory.names.join(pod.full_name, pod.uid):
            record.stage = RecordStage.IN_LINE
        elif has_ended or pod.is_deleting:
            self.start(record)
        elif record.was_there:
            self._resizes.take(record, kept.resources if kept is not None else {})
            self.start(record)
        else:
            self._admit(record)

    def _admit(self, record: PodRecord) -> None:
        pod = record.pod
        verdict = self._admission.admit(pod)
        match verdict:
            case Admitted():
                self._admission.take(pod)
                self.start(record)
            case Rejected() if verdict.reason == NODE_AFFINITY.reason and self._memory.awaits_node:
                record.stage = RecordStage.AWAITING_NODE
                self._memory.for_node[pod.uid] = None
            case Rejected():
                if verdict.reason == NODE_AFFINITY.reason and self._memory.lacks_node:
                    self._memory.refused_too_early[pod.uid] = None
                self._refuse(record, verdict.failure)
                shown = PodFailure(reason=verdict.reason, message=verdict.message)
                self.effects.append(PostWarning(pod, shown))
            case Preempt(victims=victims):
                self._make_room(record, victims)

    def admit_again(self, record: PodRecord) -> None:
        """Have a static pod begin anew that was refused too early. Everybody else was told that it failed."""
        pod = record.pod
        if not pod.is_static or isinstance(self._admission.admit(pod), Rejected):
            return
        del self._records[pod.uid]
        self.effects.append(ForgetStatus(pod.uid))
        self.add(pod)

    def note_mirror(self, mirror: Pod) -> None:
        """Take what a mirror shows: an earlier process may have written it, and knew of earlier restarts."""
        uid = self._memory.names.holder(mirror.full_name)
        record = self._records.get(uid) if uid is not None else None
        if record is None:
            self._memory.mirrors[mirror.full_name] = mirror
        elif record.mirror is None and self._is_of_earlier_process(mirror, record.pod):
            record.mirror = mirror
            if mirror.document.get("status") and record.is_up:
                self.wish(record)

    def _is_of_earlier_process(self, mirror: Pod, pod: Pod) -> bool:
        return pod.full_name not in self._memory.gone and is_mirror_pod_of(mirror, pod)

    def _make_room(self, record: PodRecord, victims: tuple[PodUid, ...]) -> None:
        record.stage, record.waits_for = RecordStage.MAKING_ROOM, set(victims)
        for victim in victims:
            self._admission.vacate(victim)
            self._memory.rooms.setdefault(victim, set()).add(record.pod.uid)
        self._admission.take(record.pod)
        for victim in victims:
            dying = self._records.get(victim)
            if dying is None or not self.end(dying, PREEMPTED):
                self._note_gone(victim)
            else:
                self._memory.counts.preempted += 1
                self.effects.append(
                    PostWarning(dying.pod, PREEMPTED, "a pod makes room for another one")
                )

    def end(self, record: PodRecord, failure: PodFailure, order: KillPod | None = None) -> bool:
        """Have a pod end for the node's own sake. Return False if nothing of it runs."""
        if record.stage in _UNBEGUN:
            self._refuse(record, failure)
        if not record.is_up or record.life.is_stopped:
            return False
        record.is_killed, record.failure = True, failure
        record.grace = shorter(record.grace, order.grace if order is not None else None)
        self.wish(record)
        return True

    def start(self, record: PodRecord) -> None:
        """Have its worker started."""
        record.stage = RecordStage.TO_START
        self.effects.append(StartWorker(record.pod.uid))

    def wish(self, record: PodRecord) -> None:
        """Tell its worker what is wished of it now."""
        record.wish = self._next_wish()
        if record.stage is RecordStage.STARTED:
            self.effects.append(TellWish(record.pod.uid))

    def note_version(self, record: PodRecord) -> None:
        """Carry out what another version of a pod asks for."""
        pod = record.pod
        if record.is_up:
            self.wish(record)
        elif record.stage in _UNBEGUN and (pod.is_deleting or pod.is_terminal):
            self._refuse(record, record.failure)
        elif record.stage is RecordStage.REFUSED:
            self.tell_refusal(record)

    def _refuse(self, record: PodRecord, failure: PodFailure | None) -> None:
        record.stage, record.failure, record.refused = RecordStage.REFUSED, failure, record.pod
        if failure is not None:
            refused = self._memory.counts.refused
            refused[failure.reason] = refused.get(failure.reason, 0) + 1
        self.tell_refusal(record)
        self._admission.release(record.pod.uid)
        self.leave_name(record)

    def tell_refusal(self, record: PodRecord) -> None:
        """Tell the status of a pod that will never run here."""
        failure = record.failure or PodFailure(reason="", message="")
        self.effects.append(TellRefusal(record.pod, record.refused or record.pod, failure))

    def note_stopped(self, record: PodRecord) -> None:
        """Note that nothing of a pod runs: its room is free, and who waited for that is told."""
        uid = record.pod.uid
        self._admission.release(uid)
        self.look_at_resizes()
        self.effects.extend(AnswerKiller(uid, killer) for killer in record.killers)
        record.killers = ()
        self._note_gone(uid)

    def note_resize(self, record: PodRecord) -> None:
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
                    self.start(record)

    def drop(self, record: PodRecord) -> None:
        """Forget a pod that no source lists, and of which nothing is left."""
        pod, returned = record.pod, record.returned
        del self._records[pod.uid]
        self.note_stopped(record)
        if not record.has_no_document:
            self.effects.append(ForgetStatus(pod.uid))
            self._memory.gone |= {pod.full_name} if pod.is_static else set()
        self.leave_name(record)
        if returned is not None:
            counts = self._memory.counts
            counts.restarted_static += returned.is_static
            counts.restarted += not returned.is_static
            self.add(returned)

    def leave_name(self, record: PodRecord) -> None:
        """Leave the line for its name. The next one in it begins at once (rule K28)."""
        pod = record.pod
        if pod.is_static:
            heir = self._memory.names.leave(pod.full_name, pod.uid)
            following = self._records.get(heir) if heir is not None else None
            if following is not None and following.stage is RecordStage.IN_LINE:
                self.begin(following)

    def look_at_resizes(self) -> None:
        """Look again at the pods that request more than they have: there may be room now."""
        for record in self._resizes.look_again():
            self.wish(record)


class Resizes:
    """Changes of what running pods request, and whether the node has room for them (rules L9 and L14).

    A pod whose newest version requests more than the node has free keeps what it has. It is looked at again
    when others have ended, or request less, in the order in which pods came to wait.
    """

    def __init__(
        self,
        admission: Admission,
        records: Mapping[PodUid, PodRecord],
        deferred: dict[PodUid, None],
    ) -> None:
        self._admission = admission
        self._records = records
        self._deferred = deferred

    def take(self, record: PodRecord, has: ContainerResources) -> None:
        """Count a pod that runs already. It ``has`` these resources, if an earlier process knew them.

        If it requests others by now, that is decided with ``look_again``: first all that runs is counted.
        """
        pod = record.pod
        if has and has != resources_of(pod):
            record.held_back = with_resources(pod, has)
            self._deferred[pod.uid] = None
        self._admission.take(record.held_back or pod)

    def note_version(self, record: PodRecord) -> None:
        """Give a pod what its newest version requests, or have it keep what it has."""
        pod, taken = record.pod, self._admission.taken(record.pod.uid)
        self._deferred.pop(pod.uid, None)
        record.held_back = record.resize = None
        if taken is None or taken is pod or pod.is_deleting or pod.is_terminal:
            return
        record.resize = self._admission.resize(pod)
        if record.resize is not None:
            record.held_back = with_resources(pod, resources_of(taken))
            if record.resize.reason == DEFERRED:
                self._deferred[pod.uid] = None
        self._admission.take(record.held_back or pod)

    def look_again(self) -> Iterator[PodRecord]:
        """Yield the pods that waited and have room now, or are told that they wait."""
        for uid in tuple(self._deferred):
            record = self._records.get(uid)
            if record is None or not record.is_up or record.is_removed:
                del self._deferred[uid]
                continue
            before = record.resize
            self.note_version(record)
            if before is None or record.resize is None:
                yield record
