"""The objects at the API server that show this node's pods: API pods themselves, and mirrors.

They come from the watch, through PodManager. Knows no actors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from messages.changes import Op, PodChange
from messages.pods import FullName, Pod, PodUid
from stores.pods.index import is_mirror_pod_of


class ShownPods:
    """The pods of the API server, by what they show."""

    def __init__(self) -> None:
        self._pods: dict[PodUid, Pod] = {}
        """Each once, mirrors included."""
        self._mirrors: dict[FullName, dict[PodUid, Pod]] = {}

    def replace(self, pods: Sequence[Pod]) -> list[Pod]:
        """Take ``pods`` as all pods of the API server. Return those that came, changed or went."""
        listed = {pod.uid for pod in pods}
        touched = [pod for uid, pod in self._pods.items() if uid not in listed]
        for pod in touched:
            self._drop(pod.uid)
        for pod in pods:
            if self._pods.get(pod.uid) is not pod:
                self._put(pod)
                touched.append(pod)
        return touched

    def apply(self, changes: Iterable[PodChange]) -> list[Pod]:
        """Apply what changed. Return the API server's pods among them."""
        touched = []
        for change in changes:
            pod = change.pod
            if change.op is Op.REMOVE or pod.is_static:
                # A manifest may tell the UID of a pod that the API server told before.
                if self._drop(pod.uid):
                    touched.append(pod)
            else:
                self._put(pod)
                touched.append(pod)
        return touched

    def object_of(self, pod: Pod) -> Pod | None:
        """Return what shows ``pod``: itself, or the mirror of just this version of it (rule V6)."""
        if not pod.is_static:
            return self._pods.get(pod.uid)
        mirrors = self._mirrors.get(pod.full_name, {}).values()
        return next((each for each in mirrors if is_mirror_pod_of(each, pod)), None)

    def _put(self, pod: Pod) -> None:
        self._drop(pod.uid)
        self._pods[pod.uid] = pod
        if pod.is_mirror:
            self._mirrors.setdefault(pod.full_name, {})[pod.uid] = pod

    def _drop(self, uid: PodUid) -> bool:
        known = self._pods.pop(uid, None)
        if known is None:
            return False
        if known.is_mirror:
            of_name = self._mirrors[known.full_name]
            del of_name[uid]
            if not of_name:
                del self._mirrors[known.full_name]
        return True
