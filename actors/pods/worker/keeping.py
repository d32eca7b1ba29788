"""What the worker of a pod has kept on disk, so that the next process knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actors.pods.lifecycle import LEAST_GRACE
from actors.pods.record_pages import ObjectVersion, kept_pod
from actors.pods.records import KeepPod
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from messages.objects import ObjectId
from messages.units import Seconds, Timestamp


class WorkerKeeping:
    """Has kept what is to be known of one pod, for one life of its worker."""

    def __init__(self, ports: WorkerPorts, memory: WorkerMemory) -> None:
        self._records = ports.records
        self._memory = memory

    def keep(self, versions: Mapping[ObjectId, ObjectVersion]) -> None:
        """Have kept what the next process is to know of a pod that runs, if it is not kept already."""
        memory = self._memory
        if self._records is None and not versions:
            return
        began = memory.status.start_time if memory.status is not None else None
        probes = memory.probes
        verdicts = {**probes.known, **probes.said} if probes is not None else None
        outdated = frozenset[str]()
        if memory.hooks is not None:
            outdated, versions = memory.hooks.outdated, self._acted_on(versions)
        kept = kept_pod(memory.wish.pod, began, versions, verdicts, outdated)
        if kept != memory.kept:
            memory.kept = kept
            if self._records is not None:
                self._records.tell(KeepPod(kept=kept))

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
            self._records.tell(KeepPod(kept=self._memory.kept))
        return grace
