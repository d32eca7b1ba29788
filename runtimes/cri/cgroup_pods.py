"""Which pods may have cgroups: those that sources want, and those that the runtime has. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from messages.changes import Op
from messages.container_runtime import (
    ContainersAre,
    PodContainersAre,
    RuntimeFact,
    RuntimeIsAway,
)
from messages.pod_manager import PodFact, PodsAre
from messages.pods import Pod, PodUid, SourceName


@dataclass(slots=True)
class CgroupPods:
    """The pods that are to run on this node, and the UIDs of those that have sandboxes."""

    sources: frozenset[SourceName]
    """All that there are."""
    _wanted: dict[SourceName, dict[PodUid, Pod]] = field(default_factory=dict)
    _listed: set[SourceName] = field(default_factory=set)
    """Sources that have seen what they list from, and have told it."""
    _running: set[PodUid] | None = None
    """Pods with sandboxes; None while that is not known."""

    @property
    def are_known(self) -> bool:
        """Whether each source has told what it wants, and the runtime what it has."""
        return bool(self.sources) and self.sources <= self._listed and self._running is not None

    @property
    def has_any(self) -> bool:
        """Whether any source has told anything."""
        return bool(self._wanted)

    def all(self) -> tuple[Pod, ...]:
        """Return the pods that are to run."""
        return tuple(pod for pods in self._wanted.values() for pod in pods.values())

    def uids(self) -> set[PodUid]:
        """Return the UIDs of all of them, and of those with sandboxes."""
        wanted = {uid for pods in self._wanted.values() for uid in pods}
        return wanted | (self._running or set())

    def take(self, fact: PodFact) -> bool:
        """Take what is to run. Return whether that may change what classes of pods request together."""
        if isinstance(fact, PodsAre):
            for pod in fact.pods:
                self._drop(pod.uid)
            self._wanted[fact.source] = {pod.uid: pod for pod in fact.pods}
            self._listed.discard(fact.source)
            if not fact.is_provisional:
                self._listed.add(fact.source)
            return True
        for change in fact.changes:
            self._drop(change.pod.uid)
            if change.op is not Op.REMOVE:
                self._wanted.setdefault(fact.source, {})[change.pod.uid] = change.pod
        return any(change.op is not Op.RECONCILE for change in fact.changes)

    def see(self, fact: RuntimeFact) -> None:
        """Take what the runtime has."""
        match fact:
            case ContainersAre(sandboxes=sandboxes):
                self._running = {each.pod.uid for each in sandboxes}
            case PodContainersAre(uid=uid, sandboxes=sandboxes):
                if self._running is not None:
                    (self._running.add if sandboxes else self._running.discard)(uid)
            case RuntimeIsAway():
                self._running = None

    def _drop(self, uid: PodUid) -> None:
        for pods in self._wanted.values():
            pods.pop(uid, None)
