"""The pods of this node as the API server tells them: a set that listings replace and events change. Pure.

The key is namespace and name, as in the API server. A pod that was deleted and created again between two
looks is one that changed its UID (rule A5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from messages.pods import FullName, JsonObject, Pod
from messages.watches import ObjectOp


@dataclass(slots=True)
class ApiPods:
    """The pods, by full name. What does not change stays the identical object."""

    _pods: dict[FullName, Pod] = field(default_factory=dict)
    _snapshot: tuple[Pod, ...] | None = None

    def replace(self, objects: Iterable[JsonObject]) -> tuple[str, ...]:
        """Replace all pods by those of ``objects``; return complaints about objects that are no pods."""
        found = [_pod_of(each) for each in objects]
        pods = {pod.full_name: self._known(pod) for pod in found if isinstance(pod, Pod)}
        if pods != self._pods or [*map(id, pods.values())] != [*map(id, self._pods.values())]:
            self._pods, self._snapshot = pods, None
        return tuple(each for each in found if isinstance(each, str))

    def change(self, op: ObjectOp, document: JsonObject) -> tuple[str, ...]:
        """Apply one event; return a complaint if its object is no pod."""
        pod = _pod_of(document)
        if isinstance(pod, str):
            return (pod,)
        known = self._pods.get(pod.full_name)
        if op is not ObjectOp.DELETED:
            if self._known(pod) is not known:
                self._pods[pod.full_name] = pod
                self._snapshot = None
        elif known is not None and known.uid == pod.uid:
            # If the event comes twice, it must not remove a new pod of the same name.
            del self._pods[pod.full_name]
            self._snapshot = None
        return ()

    def snapshot(self) -> tuple[Pod, ...]:
        """Return all pods; the identical tuple while nothing changes."""
        if self._snapshot is None:
            self._snapshot = tuple(self._pods.values())
        return self._snapshot

    def _known(self, pod: Pod) -> Pod:
        # Compared by content: an etcd that was restored from a backup may give a version twice.
        known = self._pods.get(pod.full_name)
        return known if known is not None and known == pod else pod


def _pod_of(document: JsonObject) -> Pod | str:
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(document.get("spec"), Mapping):
        return "an object without metadata or spec"
    for name in ("name", "namespace", "uid"):
        if not isinstance(metadata.get(name), str) or not metadata[name]:
            return f"a pod without metadata.{name}"
    return Pod.of(document)
