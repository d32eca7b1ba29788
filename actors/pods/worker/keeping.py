"""What the worker of a pod has kept on disk, so that the next process knows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from actors.pods.lifecycle import LEAST_GRACE
from actors.pods.orders import KeepingOverdue
from actors.pods.records import KeptPod, ObjectVersion, kept_pod
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from files.record_keeper import KeepRecords, RecordsKept
from kernel import Port, Timer
from manifests.container_hashes import container_digests
from messages.objects import ObjectId
from messages.pods import JsonObject, PodPhase
from messages.units import Seconds, Timestamp
from stores.statuses.rendering import render_status

KEPT_WITHIN: Final = Seconds(5.0)
"""How long the disk is waited for before a pod is stopped that has ended by itself."""

_OF_RUNNING: Final = ("name", "containerID", "restartCount", "state")


class WorkerKeeping:
    """Has kept what is to be known of one pod, for one life of its worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        me: Port[RecordsKept],
        after: Callable[[Seconds, KeepingOverdue], Timer],
    ) -> None:
        self._records = ports.records
        self._keeps_starts = ports.keeps_starts
        self._memory = memory
        self._me = me
        self._after = after
        self._is_asked = False
        """The end of the pod was told to be kept in this life."""

    def begin(self) -> None:
        """Take what an earlier process has kept: a pod that has ended does not run again."""
        memory = self._memory
        kept, life = memory.kept, memory.life
        if memory.first_digests is None:
            known = kept.digests if kept is not None else {}
            memory.first_digests = known or container_digests(memory.wish.pod)
            memory.is_new_here = not known and bool(memory.first_digests)
        if kept is not None and kept.ended is not None and life.ended_as is None:
            memory.is_end_kept = True
            life.end_by_itself(PodPhase(kept.ended["phase"]))

    def has_kept_end(self) -> bool:
        """Have kept that the pod has ended by itself. Return whether that is done, or not needed.

        Stopping a pod may remove the only other evidence of its end. One that is leaving needs no record:
        whoever takes it away does not have it run again.
        """
        memory = self._memory
        life, ended_as = memory.life, memory.life.ended_as
        if self._records is None or ended_as is None or life.is_leaving or memory.is_end_kept:
            return True
        if not self._is_asked:
            self._is_asked = True
            before = memory.kept or KeptPod(uid=memory.wish.pod.uid)
            memory.kept = replace(before, ended=self._end(ended_as))
            self._tell(memory.kept, self._me)
            self._after(KEPT_WITHIN, KeepingOverdue())
        return False

    def _end(self, ended_as: PodPhase) -> JsonObject:
        """Return the status of the pod as the next process is to show it."""
        status = self._memory.status
        failure = self._memory.life.failure if ended_as is PodPhase.FAILED else None
        shown = render_status(self._memory.wish.pod, status) if status is not None else {}
        why = {"reason": failure.reason, "message": failure.message} if failure is not None else {}
        return {**shown, **why, "phase": ended_as.value}

    def keep(self, versions: Mapping[ObjectId, ObjectVersion]) -> None:
        """Have kept what the next process is to know of a pod that runs, if it is not kept already."""
        memory = self._memory
        if self._records is None and not versions:
            return
        status = memory.status
        began = status.start_time if status is not None else None
        shown = memory.shown_before or (status.conditions if status is not None else ())
        probes = memory.probes
        verdicts = {**probes.known, **probes.said} if probes is not None else None
        outdated = frozenset[str]()
        if memory.hooks is not None:
            outdated, versions = memory.hooks.outdated, self._acted_on(versions)
        kept = kept_pod(memory.wish.pod, began, versions, verdicts, outdated, shown)
        kept = replace(kept, ips=self._addresses(), digests=memory.first_digests or {})
        if self._keeps_starts:
            kept = replace(kept, running=self._running())
        if kept != memory.kept:
            memory.kept = kept
            self._tell(kept)

    def keep_addresses(self) -> None:
        """Have kept the addresses of a pod that is being stopped: it may have had none before."""
        memory = self._memory
        kept = memory.kept or KeptPod(uid=memory.wish.pod.uid)
        if (ips := self._addresses()) != kept.ips:
            memory.kept = replace(kept, ips=ips)
            self._tell(memory.kept)

    def _addresses(self) -> tuple[str, ...]:
        """Return the addresses of a static pod: those that it has, or had last."""
        memory = self._memory
        if not memory.wish.pod.is_static:
            return ()  # the API server has them
        sandbox = memory.observed.sandbox if memory.observed is not None else None
        known = memory.kept.ips if memory.kept is not None else ()
        return sandbox.ips or known if sandbox is not None else known

    def _running(self) -> tuple[JsonObject, ...]:
        """Return since when the pod's containers run, for the next process to show."""
        pod, status = self._memory.wish.pod, self._memory.status
        shown = render_status(pod, status) if status is not None else {}
        kinds = ("initContainerStatuses", "containerStatuses")
        found = [each for kind in kinds for each in shown.get(kind) or ()]
        return tuple(
            {field: each[field] for field in _OF_RUNNING if field in each}
            for each in found
            if "running" in each["state"]
        )

    def _acted_on(
        self, versions: Mapping[ObjectId, ObjectVersion]
    ) -> Mapping[ObjectId, ObjectVersion]:
        """Return the versions that have had their effect: the earlier ones where not all is done."""
        hooks, before = self._memory.hooks, self._memory.kept
        unsettled = hooks.unsettled() if hooks is not None else {}
        known = before.objects if before is not None else {}
        settled = {each: version for each, version in versions.items() if each not in unsettled}
        return {**settled, **{each: known[each] for each in unsettled if each in known}}

    def left_of(self, grace: Seconds, now: Timestamp) -> Seconds:
        """Return what is left of the grace, if an earlier process has begun it. It never grows (rule X8)."""
        kept = self._memory.kept
        if kept is None:
            return grace
        if kept.stopped_by is not None:
            grace = max(LEAST_GRACE, min(grace, Seconds(kept.stopped_by - now)))
        if self._records is not None:
            self._memory.kept = replace(kept, stopped_by=Timestamp(now + grace))
            self._tell(self._memory.kept)
        return grace

    def _tell(self, kept: KeptPod, reply_to: Port[RecordsKept] | None = None) -> None:
        if self._records is not None:
            self._records.tell(KeepRecords(records={kept.uid: kept}, reply_to=reply_to))
