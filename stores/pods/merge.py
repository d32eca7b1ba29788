"""Compares the new snapshot of a source with its last one: which pods came, changed and went (rules C).

Each source is merged by itself and knows nothing of the others (rule C1). Pure: the memory of a source is a
value, and a merge returns the next one, so a merge that fails leaves nothing half done. Documents are
shared and never written to: a kept pod has the told document with new annotations.

A kept pod is always the whole pod as it was told last, with this node's own ``config.source`` and
``config.seen``. So ``resourceVersion``, owners and finalizers stay current (fixes K12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from manifests.times import rfc3339_nano
from messages.changes import Op, PodChange, same_objects
from messages.pods import CONFIG_SEEN, CONFIG_SOURCE, Pod, PodUid, SourceName
from messages.units import Timestamp
from stores.pods.comparison import difference

SeenAt: TypeAlias = Callable[[PodUid], Timestamp]
"""Returns when the source first told of a UID: ``FirstSeen.seen_at`` for one source and time."""


class DropReason(StrEnum):
    """Why a listed pod is not taken in, as a sentence for people."""

    NO_UID = "it has no UID"
    UID_TAKEN = "an earlier pod of the same listing has its UID"
    NAME_TAKEN = "an earlier pod of the same listing has its namespace and name"


class Dropped(NamedTuple):
    """A listed pod that is not taken in. It claims neither its UID nor its name."""

    pod: Pod
    reason: DropReason


class Kept(NamedTuple):
    """One pod of a source."""

    told: Pod
    """The identical object that the source told: the next merge skips it by identity."""
    pod: Pod
    """The pod as the node uses it, with this node's annotations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMemory:
    """What a source listed last, and what is kept of it. Begins as that of a source that never listed."""

    source: SourceName
    listed: tuple[Pod, ...] | None = None
    kept: Mapping[PodUid, Kept] = field(default_factory=dict)
    """In the order of the listing."""
    dropped: tuple[Dropped, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the source has listed. From then on, a pod that is not listed is removed.

        Each source is ready by itself, so one that never lists holds up no other (fixes K27).
        """
        return self.listed is not None

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Every kept pod, in the order of the listing."""
        return tuple(kept.pod for kept in self.kept.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What one listing did."""

    memory: SourceMemory
    """What to pass to the next merge; the identical object if nothing changed at all."""
    changes: tuple[PodChange, ...]
    """In the order of ``Op``. Removals are in the order of the old listing, the others in that of the
    new."""
    refreshed: tuple[Pod, ...]
    """Pods that changed in ways that nobody needs to be told of, as they are now."""
    first: bool
    """The source had not listed before. A kubelet tells an empty ADD for this (rule C14)."""


def merge(memory: SourceMemory, listed: tuple[Pod, ...], seen_at: SeenAt) -> Merged:
    """Return what the listing ``listed`` changes, and the next memory.

    A pod that is the identical object as before costs next to nothing, and so does a listing of such pods.
    """
    if memory.listed is not None and same_objects(memory.listed, listed):
        return Merged(memory=memory, changes=(), refreshed=(), first=False)
    admitted, dropped = _admitted(listed)
    gone = [kept.pod for uid, kept in memory.kept.items() if uid not in admitted]
    batch: dict[Op, list[Pod]] = {Op.REMOVE: gone}
    refreshed: list[Pod] = []
    kept: dict[PodUid, Kept] = {}
    for uid, told in admitted.items():
        before = memory.kept.get(uid)
        if before is not None and before.told is told:
            kept[uid] = before
            continue
        op, kept[uid] = _step(before, told, _stamped(told, memory.source, seen_at(uid)))
        if op is not None:
            batch.setdefault(op, []).append(kept[uid].pod)
        elif before is not None and kept[uid].pod is not before.pod:
            refreshed.append(kept[uid].pod)
    return Merged(
        memory=SourceMemory(source=memory.source, listed=listed, kept=kept, dropped=dropped),
        changes=tuple(PodChange(op=op, pod=pod) for op in Op for pod in batch.get(op, ())),
        refreshed=tuple(refreshed),
        first=not memory.ready,
    )


def _admitted(listed: tuple[Pod, ...]) -> tuple[dict[PodUid, Pod], tuple[Dropped, ...]]:
    """Return the pods to take in, and the dropped ones: the first of each UID and name wins (rule C6)."""
    admitted: dict[PodUid, Pod] = {}
    names: set[tuple[str, str]] = set()
    dropped: list[Dropped] = []
    for pod in listed:
        name = (pod.namespace, pod.name)
        if not pod.uid:
            dropped.append(Dropped(pod, DropReason.NO_UID))
        elif pod.uid in admitted:
            dropped.append(Dropped(pod, DropReason.UID_TAKEN))
        elif name in names:
            dropped.append(Dropped(pod, DropReason.NAME_TAKEN))
        else:
            admitted[pod.uid] = pod
            names.add(name)
    return admitted, tuple(dropped)


def _step(before: Kept | None, told: Pod, stamped: Pod) -> tuple[Op | None, Kept]:
    """Return the operation to tell for one pod, if any, and what is kept of it."""
    if before is None:
        return Op.ADD, Kept(told, stamped)
    op = difference(before.pod, stamped)
    if op is None and before.pod == stamped:
        return None, Kept(told, before.pod)
    return op, Kept(told, stamped)


def _stamped(pod: Pod, source: SourceName, seen: Timestamp) -> Pod:
    """Return ``pod`` with this node's annotations in place of its own (rules C7 and C8)."""
    metadata = pod.document.get("metadata") or {}
    annotations = {**pod.annotations, CONFIG_SOURCE: source, CONFIG_SEEN: rfc3339_nano(seen)}
    return Pod.of({**pod.document, "metadata": {**metadata, "annotations": annotations}})
