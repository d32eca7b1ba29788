"""Changes of what a running pod requests, and whether the node has room for them (rules L9 and L14). Pure.

A pod whose newest version requests more than the node has free keeps what it has. It is looked at again
when others have ended, or request less, in the order in which pods came to wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from actors.pods.admission import DEFERRED, Admission
from actors.pods.pod_records import PodRecord
from manifests.container_resources import ContainerResources, resources_of, with_resources
from messages.pods import PodUid


class Resizes:
    """The pods that request other resources than they were admitted with. Keeps the sums of admission."""

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
