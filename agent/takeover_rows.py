"""What would become of each pod if this agent took the node over. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from actors.pods.records import KeptPod
from actors.volumes.making.foreign import ForeignVolume, StageMount
from manifests.adopting import why_not
from manifests.container_hashes import container_digests, container_hash, is_unchanged
from messages.pod_runtime import ContainerObserved, ContainerState, RuntimePod
from messages.pods import API, HTTP, Pod, PodUid, SourceName
from runtimes.containers.shape import shape_of


class Fate(StrEnum):
    """What becomes of a pod."""

    ADOPT = "adopt"
    """It goes on, and nothing of it restarts."""
    RESTART = "restart"
    """It goes on, and containers of it are started anew."""
    REPLACE = "replace"
    """It is stopped, and started under another UID."""
    STOP = "stop"
    """It is stopped, and not started again."""
    REMOVE = "remove"
    """Nothing of it runs; what is left of it is removed."""
    START = "start"
    """Nothing of it runs; it is started."""
    ENDED = "ended"
    """Nothing of it runs, and it is not started again: it has ended by itself."""
    UNKNOWN = "unknown"
    """Somebody would have to be asked who is not asked now."""


DISTURBING: Final = frozenset({Fate.RESTART, Fate.REPLACE, Fate.STOP})
"""Something that runs would not go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverRow:
    """One pod."""

    namespace: str
    name: str
    source: str
    fate: Fate
    why: str
    uid: PodUid
    """Under which it runs; empty if it does not."""
    next_uid: PodUid
    """Under which it would run; empty if it would not."""
    held: tuple[ForeignVolume, ...] = ()
    """Its volumes that somebody else has made: it stays until they are dealt with, whenever it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVolumes:
    """What others have made below the root directory."""

    held: Mapping[PodUid, tuple[ForeignVolume, ...]]
    """By the pod in whose directory they are."""
    stages: tuple[StageMount, ...] = ()
    """What drivers have mounted for all pods of the node."""

    @property
    def orphans(self) -> frozenset[str]:
        """The paths of the stages that no pod's volume is of: nobody would ever have them unmounted."""
        used = {each.record for volumes in self.held.values() for each in volumes}
        return frozenset(each.path for each in self.stages if each.record not in used)


NO_VOLUMES: Final = FoundVolumes(held={})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPods:
    """What there is of pods, by their UIDs."""

    running: Mapping[PodUid, RuntimePod]
    """Those that the runtime has."""
    instances: Mapping[PodUid, tuple[ContainerObserved, ...]]
    """The newest of each of their containers."""
    kept: Mapping[PodUid, KeptPod]
    """What an earlier agent has on record."""


def takeover_rows(
    served: Collection[Pod],
    found: FoundPods,
    sources: frozenset[SourceName],
    *,
    adopts: bool,
    volumes: FoundVolumes = NO_VOLUMES,
) -> tuple[TakeoverRow, ...]:
    """Return what would become of each pod, by namespace and name.

    ``served`` are the static pods of the manifests in the directory, with the UIDs that they would have.
    ``sources`` are those that the agent would have, ``volumes`` those that others have made.
    """
    left = dict(found.running)
    rows = [_of_manifest(pod, left, found, adopts=adopts) for pod in served]
    rows += [_of_running(each, sources) for each in left.values()]
    held = dict(volumes.held)
    rows = [replace(row, held=held.pop(row.uid or row.next_uid, ())) for row in rows]
    rows += [_of_directory(uid, each) for uid, each in held.items()]
    return tuple(sorted(rows, key=lambda row: (row.namespace, row.name, row.uid)))


def is_undisturbed(rows: Collection[TakeoverRow]) -> bool:
    """Return whether all that runs would go on."""
    return DISTURBING.isdisjoint(row.fate for row in rows)


def _of_manifest(
    pod: Pod, left: dict[PodUid, RuntimePod], found: FoundPods, *, adopts: bool
) -> TakeoverRow:
    """Return what becomes of the pod of a manifest, and take from ``left`` what runs of it."""
    same, kept = left.pop(pod.uid, None), found.kept.get(pod.uid)
    names = (pod.namespace, pod.name)
    others = [each for each in left.values() if (each.namespace, each.name) == names]
    others = [each for each in others if each.is_running and each.source != API]
    runs = same is not None and same.is_running
    if kept is not None and kept.ended is not None:
        fate, uid = (Fate.STOP, pod.uid) if runs else (Fate.ENDED, PodUid(""))
        return _row(pod, fate, f"it has ended by itself: {kept.ended['phase']}", uid)
    if runs:
        fate, why = Fate.ADOPT, "it runs under this UID"
        if changed := list(_changed(pod, found.instances.get(pod.uid, ()), kept)):
            fate, why = Fate.RESTART, changed[0]
        return _row(pod, fate, why, pod.uid)
    if others:
        old = left.pop(others[-1].uid)
        return _row(pod, Fate.REPLACE, _why_replaced(pod, old, adopts=adopts), old.uid)
    return _row(pod, Fate.START, "nothing of it runs", PodUid(""))


def _why_replaced(pod: Pod, old: RuntimePod, *, adopts: bool) -> str:
    if not old.is_foreign:
        return "the manifest was changed since it was started"
    if old.source != pod.source:
        return (
            f"it runs for the source {old.source}, and the manifest is of the source {pod.source}"
        )
    reason = why_not(pod.document, old)
    if reason:
        return reason
    if adopts:
        return "the manifest was changed since it was adopted"
    return "it runs under a kubelet's UID, which --adopt-static-pods would keep"


def _of_running(found: RuntimePod, sources: frozenset[SourceName]) -> TakeoverRow:
    """Return what becomes of a pod that no manifest here is about."""
    source = SourceName(found.source)
    fate, next_uid = Fate.STOP if found.is_running else Fate.REMOVE, PodUid("")
    if source == API and API in sources:
        fate, next_uid = Fate.ADOPT, found.uid
        why = "pods of the API server keep their UIDs; whether it still has this one was not asked"
    elif source == HTTP and HTTP in sources:
        fate, why = Fate.UNKNOWN, "it is of the manifest URL, which was not asked"
    elif source in sources:
        why = "there is no manifest of it that can be used"
    elif source == API:
        why = "it is of an API server, and the agent would belong to no cluster"
    elif source:
        why = f"it is of the source {source}, which the agent would not have"
    else:
        why = "it says no source, and nobody here would list it"
    return TakeoverRow(
        namespace=found.namespace,
        name=found.name,
        source=found.source,
        fate=fate,
        why=why,
        uid=found.uid,
        next_uid=next_uid,
    )


def _of_directory(uid: PodUid, held: tuple[ForeignVolume, ...]) -> TakeoverRow:
    """Return what becomes of a pod of which only its directory is left."""
    return TakeoverRow(
        namespace="",
        name="",
        source="",
        fate=Fate.REMOVE,
        why="only its directory is left",
        uid=uid,
        next_uid=PodUid(""),
        held=held,
    )


def _changed(
    pod: Pod, instances: tuple[ContainerObserved, ...], kept: KeptPod | None
) -> Iterator[str]:
    """Yield why containers would be started anew: the runtime's own decision, in words."""
    first = (kept.digests if kept is not None else None) or container_digests(pod)
    outdated = kept.outdated if kept is not None else frozenset()
    shape = shape_of(pod, first)
    for one in instances:
        container = shape.get(one.name)
        if container is None:
            continue
        of_image = container_hash(one.name, container.image)
        if not is_unchanged(of_image, container.image, one):
            yield f"container {one.name} has another image in the manifest"
        elif not container.is_unchanged_since(one):
            yield f"container {one.name} is another one in the manifest"
        elif one.id in outdated and one.state is ContainerState.RUNNING:
            yield f"container {one.name} uses an object that changed"


def _row(pod: Pod, fate: Fate, why: str, uid: PodUid) -> TakeoverRow:
    return TakeoverRow(
        namespace=pod.namespace,
        name=pod.name,
        source=pod.source,
        fate=fate,
        why=why,
        uid=uid,
        next_uid=pod.uid,
    )


def as_json(
    rows: Collection[TakeoverRow], runtime: str, volumes: FoundVolumes = NO_VOLUMES
) -> dict[str, object]:
    """Return the rows, and what drivers have staged, as a document."""
    orphans = volumes.orphans
    return {
        "undisturbed": is_undisturbed(rows),
        "runtime": runtime,
        "pods": [
            {
                "namespace": row.namespace,
                "name": row.name,
                "source": row.source,
                "fate": row.fate.value,
                "why": row.why,
                "uid": row.uid,
                "nextUid": row.next_uid,
                "held": [_held(each) for each in row.held],
            }
            for row in rows
        ],
        "stageMounts": [
            {**_recorded(each), "mounted": each.is_mounted, "orphaned": each.path in orphans}
            for each in volumes.stages
        ],
    }


def _held(volume: ForeignVolume) -> dict[str, object]:
    mounted = {"mounted": volume.is_mounted}
    return {"volume": volume.name, "plugin": volume.plugin, **_recorded(volume), **mounted}


def _recorded(found: ForeignVolume | StageMount) -> dict[str, object]:
    driver, handle = found.record
    return {"driver": driver, "handle": handle, "path": found.path}


def as_text(rows: Collection[TakeoverRow], volumes: FoundVolumes = NO_VOLUMES) -> Iterator[str]:
    """Yield a table, how many pods have which fate, and what others have made that nobody here unmounts."""
    cells = [(_name(row), row.fate.value, row.why) for row in rows]
    if cells:
        cells.insert(0, ("POD", "FATE", "WHY"))
    first, second = (max((len(each[place]) for each in cells), default=0) for place in (0, 1))
    yield from (f"{pod:<{first}}  {fate:<{second}}  {why}" for pod, fate, why in cells)
    counts = {fate: sum(row.fate is fate for row in rows) for fate in Fate}
    told = ", ".join(f"{count} {fate.value}" for fate, count in counts.items() if count)
    yield f"{len(rows)} pod{'' if len(rows) == 1 else 's'}{told and f': {told}'}"
    yield from _volumes_as_text(rows, volumes)


def _volumes_as_text(rows: Collection[TakeoverRow], volumes: FoundVolumes) -> Iterator[str]:
    if any(row.held for row in rows):
        yield "These pods would stay at their end, with all that they have on the disk:"
    for row in rows:
        for each in row.held:
            yield f"  {_name(row)}: volume {each.name}: {each.said}"
    if volumes.stages:
        yield "These stage mounts of drivers would never be touched:"
    for stage in volumes.stages:
        whose = f" of {stage.record.told}" if stage.record.driver else ""
        orphan = ", which no volume of a pod is of" if stage.path in volumes.orphans else ""
        yield f"  {stage.path}{whose}{orphan}"


def _name(row: TakeoverRow) -> str:
    return f"{row.namespace}/{row.name}" if row.name else f"{row.uid}"
