"""Which pods this node has workers for, and what becomes of the others. Pure.

Every method says what happened, and appends to ``effects`` what is to be done about it; the steps that one
pod takes are in ``pod_workers_steps.py``. Effects wait in the memory until they are done, and may be done
twice; ``repeat`` appends once more what follows from a record, for a keeper that has crashed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from actors.pods.admission import Admission
from actors.pods.lifecycle import LEAST_GRACE, effective_grace
from actors.pods.pod_workers_state import (
    AnswerKiller,
    PodRecord,
    PodWorkersMemory,
    RecordStage,
    StartWorker,
    StopWorker,
    TellWish,
)
from actors.pods.pod_workers_steps import PodWorkersSteps
from actors.pods.records import KeptPod
from messages.pod_lives import KillPod, PodLife
from messages.pod_runtime import RuntimePod
from messages.pods import CONFIG_SOURCE, Pod, PodUid, SourceName
from messages.units import Seconds

MOST_LISTINGS: Final = 60
"""How often the runtime lists, about once a second, until a pod that does not run is waited for no longer."""


def _nothing_kept(_uid: PodUid) -> KeptPod | None:
    return None


class PodWorkers:
    """All pods of this node, and the decisions about them.

    A pod that is listed for the first time stands in line for its name if it is static, is then admitted or
    refused, and gets a worker. If it is the Node's labels for which it would be refused, it waits until they
    are known. One that ran before the agent did is not refused (rule L9, done better). A pod that is being
    deleted or has ended, in an earlier process too, needs no admission (rule L8): its worker only cleans up.
    A pod that comes to request more than there is room for runs on with what it has.
    """

    def __init__(
        self,
        admission: Admission,
        sources: frozenset[SourceName],
        memory: PodWorkersMemory,
        kept: Callable[[PodUid], KeptPod | None] = _nothing_kept,
    ) -> None:
        """``kept`` returns what an earlier process has kept of a pod."""
        self._sources = sources
        self._memory = memory
        self._records = memory.records
        self._steps = PodWorkersSteps(admission, memory, kept)
        self._replacements = Replacements(memory)
        self.effects = self._steps.effects

    # --- what sources list -----------------------------------------------------------------------------

    def has(self, uid: PodUid) -> bool:
        """Return whether there is a record of a pod."""
        return uid in self._records

    def list_pod(self, pod: Pod, *, is_status_alone: bool = False) -> None:
        """Take a pod that a source lists: a new one, or another version of one that is known.

        ``is_status_alone``: nothing but its status is another one. As a rule that is what this node wrote.
        """
        record = self._records.get(pod.uid)
        if pod.is_mirror:
            self._steps.note_mirror(pod)
            return
        if record is not None and record.pod is pod:
            return
        if record is None:
            self._steps.add(pod)
        elif record.stage is RecordStage.LEFT_ALONE:
            self._steps.adopt(record, pod)
        elif record.is_removed:
            record.returned = pod
        elif record.pod.full_name != pod.full_name:
            # Its UID is fixed, but it is another pod to everybody who looks at it.
            self.remove_pod(pod.uid, record.pod.source)
            self.list_pod(pod)
        else:
            self._take_version(record, pod, is_status_alone=is_status_alone)

    def _take_version(self, record: PodRecord, pod: Pod, *, is_status_alone: bool) -> None:
        record.pod = pod
        if not is_status_alone or record.held_back is not None:
            self._steps.note_resize(record)
        if not is_status_alone or pod.is_terminal or _has_readiness_gates(pod):
            self._steps.note_version(record)

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
            self._steps.wish(record)
        else:
            self._steps.drop(record)

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
            self._replacements.note(record, found)
            return
        record = self._steps.new_record(_only_known_to_runtime(found))
        record.stage = RecordStage.LEFT_ALONE
        record.is_foreign = found.is_foreign
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

    @property
    def is_replacing(self) -> bool:
        """Whether a static pod that a kubelet started is being started anew."""
        return self._replacements.is_under_way

    def stop_orphan(self, uid: PodUid) -> None:
        """Stop a pod that only the runtime has, and remove what is left of it (rule X26).

        One that a kubelet started, and that another one of its name waits for, waits for its turn.
        It has the grace that its containers say it has.
        """
        record = self._records.get(uid)
        if (
            record is not None
            and record.stage is RecordStage.LEFT_ALONE
            and self._replacements.may_stop(record)
        ):
            del self._memory.left_alone[uid]
            self._memory.counts.orphans += 1
            record.is_removed = True
            record.grace = self._replacements.grace_of(record)
            if "terminationGracePeriodSeconds" not in record.pod.document["spec"]:
                record.grace = record.grace or LEAST_GRACE
            self._steps.start(record)

    def replaced(self, orphans: Iterable[PodUid]) -> list[str]:
        """Return those that a kubelet started, and that others of their names wait for."""
        return self._replacements.among(orphans)

    def note_listing(self) -> None:
        """Note that the runtime has listed, and all that it has was taken."""
        self._replacements.note_listing()

    # --- what becomes of pods --------------------------------------------------------------------------

    def look_at_resizes(self) -> None:
        """Look again at the pods that request more than they have."""
        self._steps.look_at_resizes()

    def end_wait_for_node(self) -> None:
        """Look again at the pods that the Node's labels decide on: it is known now, or does not come."""
        self._memory.awaits_node = False
        waiting, self._memory.for_node = self._memory.for_node, {}
        for uid in waiting:
            record = self._records.get(uid)
            if record is not None and record.stage is RecordStage.AWAITING_NODE:
                self._steps.begin(record)

    def note_node(self) -> None:
        """Look again at the static pods that were refused while the Node was not known."""
        self._memory.lacks_node = False
        refused, self._memory.refused_too_early = self._memory.refused_too_early, {}
        for uid in refused:
            record = self._records.get(uid)
            if record is not None and record.stage is RecordStage.REFUSED:
                self._steps.admit_again(record)

    def note_life(self, uid: PodUid, wish: int, life: PodLife) -> None:
        """Take what a worker told of its pod."""
        record = self._records.get(uid)
        if record is None or record.stage is not RecordStage.STARTED or wish < record.since:
            return
        record.taken = max(record.taken, wish)
        if wish < record.wish:
            self.effects.append(TellWish(uid))
        record.life = life
        if life.is_stopped:
            self._steps.note_stopped(record)
        if life is PodLife.FINISHED:
            self.effects.append(StopWorker(uid))
            record.stage = RecordStage.FINISHED
            if record.is_removed:
                self._steps.drop(record)
            else:
                self._steps.leave_name(record)

    def kill(self, order: KillPod) -> None:
        """End a pod for the node's own sake (rules X9, X14, X20)."""
        record = self._records.get(order.uid)
        if record is None or not self._steps.end(record, order.failure, order):
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
                self._steps.tell_refusal(record)
            case RecordStage.FINISHED:
                self.effects.append(StopWorker(uid))
            case _:
                pass

    # --- its worker ------------------------------------------------------------------------------------

    def note_start(self, uid: PodUid) -> PodRecord | None:
        """Note that a worker is being started now. Return its record; None if none is to be."""
        record = self._records.get(uid)
        if record is None or not record.is_up:
            return None
        self._memory.counts.started += record.stage is RecordStage.TO_START
        record.stage = RecordStage.STARTED
        return record


class Replacements:
    """Static pods that a kubelet started, and that are stopped and started once under UIDs of this agent.

    One at a time: a node whose static pods are the control plane must not lose all of it in one moment. The
    next one is stopped when the last one runs under its new UID, or has had its time to.
    """

    def __init__(self, memory: PodWorkersMemory) -> None:
        self._memory = memory

    @property
    def is_under_way(self) -> bool:
        """Whether a pod is being replaced now."""
        return self._memory.replacing is not None

    def may_stop(self, record: PodRecord) -> bool:
        """Return whether a pod that only the runtime has may be stopped now, and take its turn if so."""
        if self._heir(record) is None:
            return True
        memory = self._memory
        if memory.replacing is not None and not self._has_failed():
            return False
        memory.replacing, memory.replacing_for = record.pod.full_name, 0
        return True

    def note(self, record: PodRecord, found: RuntimePod) -> None:
        """Take what the runtime has of a pod that is known: it may be the one that is waited for."""
        memory = self._memory
        if record.pod.full_name != memory.replacing or record.has_no_document:
            return
        is_holder = memory.names.holder(record.pod.full_name) == found.uid
        if is_holder and found.running_containers >= len(
            record.pod.document["spec"].get("containers") or []
        ):
            memory.replacing = None

    def note_listing(self) -> None:
        """Count a listing of the runtime."""
        if self._memory.replacing is not None:
            self._memory.replacing_for += 1
            if self._memory.replacing_for > MOST_LISTINGS or self._has_failed():
                self._memory.replacing = None

    def grace_of(self, record: PodRecord) -> Seconds | None:
        """Return the grace of a pod that is replaced: that of the one which takes its place."""
        heir = self._heir(record)
        return None if heir is None else effective_grace(None, heir.pod.document)

    def among(self, uids: Iterable[PodUid]) -> list[str]:
        """Return the names of those pods that are to be replaced, in order."""
        records = (self._memory.records.get(uid) for uid in uids)
        return [
            record.pod.display_name
            for record in records
            if record is not None and self._heir(record) is not None
        ]

    def _has_failed(self) -> bool:
        """Return whether the pod that is waited for will not run: it was refused, or has ended."""
        name = self._memory.replacing
        holder = self._memory.names.holder(name) if name is not None else None
        record = self._memory.records.get(holder) if holder is not None else None
        if record is None or record.stage in {RecordStage.REFUSED, RecordStage.FINISHED}:
            return True
        return not record.has_no_document and record.life.is_stopped

    def _heir(self, record: PodRecord) -> PodRecord | None:
        if not record.is_foreign:
            return None
        heir: PodUid | None = self._memory.names.heir(record.pod.full_name)
        return self._memory.records.get(heir) if heir is not None else None


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
    spec: dict[str, Any] = {"containers": []}
    if found.grace is not None:
        spec["terminationGracePeriodSeconds"] = found.grace
    return Pod.of({"metadata": metadata, "spec": spec})
