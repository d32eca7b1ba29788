"""Static pods that a kubelet started, and that are stopped and started once under UIDs of this agent. Pure.

One at a time: a node whose static pods are the control plane must not lose all of it in one moment. The next
one is stopped when the last one runs under its new UID, or has had its time to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.pods.lifecycle import effective_grace
from actors.pods.pod_records import PodRecord, RecordStage
from actors.pods.roster_steps import STOPPED, RosterMemory
from messages.pod_runtime import RuntimePod
from messages.pods import Pod, PodUid
from messages.units import Seconds

MOST_LISTINGS: Final = 60
"""How often the runtime lists, about once a second, until a pod that does not run is waited for no longer."""


class Replacements:
    """Whose turn it is to be stopped."""

    def __init__(self, memory: RosterMemory) -> None:
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
        if is_holder and found.running_containers >= len(_containers(record.pod)):
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
        return not record.has_no_document and record.life in STOPPED

    def _heir(self, record: PodRecord) -> PodRecord | None:
        if not record.is_foreign:
            return None
        heir: PodUid | None = self._memory.names.heir(record.pod.full_name)
        return self._memory.records.get(heir) if heir is not None else None


def _containers(pod: Pod) -> list[object]:
    return pod.document["spec"].get("containers") or []
