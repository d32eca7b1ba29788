"""What a pod has done about changes of objects: what is remembered of that, and what it depends on. Pure.

The memory outlives crashes of the pod's worker. What is decided: which containers use an object that changed,
whether they can see the change yet, and which of their instances are meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.pods.records import ObjectVersion
from manifests.change_hooks import ROLLOUT_GROUP
from manifests.references import container_references, object_of, volume_references
from manifests.restart_rules import is_sidecar
from messages.change_hooks import RolloutGroup
from messages.objects import ChangeAction, ObjectId
from messages.pod_runtime import ContainerState, PodObserved, ProbeVerdict
from messages.pods import JsonObject, Pod
from messages.units import Seconds, Timestamp
from messages.volumes import VolumesAre

_NOTHING: Final[JsonObject] = {}


@dataclass(slots=True, kw_only=True)
class WaitingHook:
    """Changes that nothing was done about yet. Several of them are one action."""

    action: ChangeAction
    signal: str
    due: Seconds
    """When something is done at the earliest, by the monotonic clock."""
    objects: dict[ObjectId, str] = field(default_factory=dict)
    """The ``resourceVersion`` of each that has to be seen first."""
    instances: Mapping[str, str] | None = None
    """Ids of those that ran when all of it was seen, by name. Whatever is made later needs nothing."""
    seen_at: Timestamp | None = None
    """When all of it was seen."""
    was_said: bool = False
    """People were told that it cannot be seen yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneHook:
    """The last changes that something was done about for one container."""

    hook: WaitingHook
    seen_at: Timestamp
    """An instance that was made before may have begun with what was there before."""
    instance: str
    """The one that something was done about, or that needed nothing. Empty if none was known to run."""


@dataclass(slots=True, kw_only=True)
class SentSignal:
    """A signal that is under way."""

    number: int
    signal: str
    instances: Mapping[str, str]
    objects: Mapping[ObjectId, str]
    attempts: int = 1
    again_at: Seconds


@dataclass(slots=True, kw_only=True)
class RestartsInTurn:
    """Containers that wait for their turn in the group of their pod."""

    group: RolloutGroup | None = None
    waiting: dict[str, str] = field(default_factory=dict)
    """Ids of the instances that are meant, by name."""
    granted: dict[str, str] = field(default_factory=dict)
    """Those that were named, by name: their turn lasts until another instance is ready."""
    objects: dict[ObjectId, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is still to be done."""
        return bool(self.waiting or self.granted)


@dataclass(slots=True, kw_only=True)
class HooksMemory:
    """Everything that is to be done about changes."""

    outdated: frozenset[str] = frozenset()
    """Ids of instances that are replaced, or were: they are named as long as people see them."""
    waiting: WaitingHook | None = None
    sent: SentSignal | None = None
    done: dict[str, DoneHook] = field(default_factory=dict)
    """By name of the container."""
    turns: RestartsInTurn = field(default_factory=RestartsInTurn)
    signals: int = 0
    """Counts them."""

    def unsettled(self) -> Mapping[ObjectId, str]:
        """Return the objects about whose changes not all is done."""
        found: dict[ObjectId, str] = {}
        if self.waiting is not None:
            found |= self.waiting.objects
        if self.sent is not None:
            found |= self.sent.objects
        if self.turns.waiting:
            found |= self.turns.objects
        return found


def containers_using(pod: Pod, wanted: ObjectId, action: ChangeAction) -> frozenset[str]:
    """Return the names of the containers that an action about a change of ``wanted`` is for.

    A program that runs sees a change in a volume that it mounts as a whole. One that is started again sees it
    in its variables, and in a part of a volume, too. Init containers have done their work.
    """
    return frozenset(each["name"] for each in _containers(pod) if _uses(pod, each, wanted, action))


def is_in_files(pod: Pod, wanted: ObjectId) -> bool:
    """Return whether a container mounts a volume that shows ``wanted``."""
    showing = _showing(pod, wanted)
    return any(name in showing for each in _containers(pod) for name, _ in _mounts(each))


def is_in_variables(pod: Pod, wanted: ObjectId) -> bool:
    """Return whether variables of a container are set from ``wanted``."""
    return any(_has_variable(pod, each, wanted) for each in _containers(pod))


def is_at_least(shown: str, wanted: str) -> bool:
    """Return whether the ``resourceVersion`` ``shown`` is ``wanted`` or a later one."""
    if shown == wanted:
        return True
    return shown.isdecimal() and wanted.isdecimal() and int(shown) >= int(wanted)


def is_seen(
    pod: Pod,
    wanted: ObjectId,
    version: str,
    told: VolumesAre | None,
    versions: Mapping[ObjectId, ObjectVersion],
) -> bool:
    """Return whether all files and variables of ``pod`` have this version of an object, or a later one.

    ``told`` is how the volumes are; ``versions`` are those that variables are set from.
    """
    if is_in_files(pod, wanted):
        shown = told.shown.get(wanted, "") if told is not None else ""
        if not is_at_least(shown, version):
            return False
    return not is_in_variables(pod, wanted) or is_read(wanted, version, versions)


def is_read(wanted: ObjectId, version: str, versions: Mapping[ObjectId, ObjectVersion]) -> bool:
    """Return whether this version of an object was read, or a later one."""
    read = versions.get(wanted)
    return read is not None and is_at_least(read.resource_version, version)


def running_instances(observed: PodObserved | None, names: Iterable[str]) -> dict[str, str]:
    """Return the ids of the instances of these containers that run."""
    histories = observed.containers if observed is not None else {}
    found: dict[str, str] = {}
    for name in sorted(names):
        history = histories.get(name)
        current = history.current if history is not None else None
        if current is not None and current.state is ContainerState.RUNNING:
            found[name] = current.id
    return found


def late_instances(observed: PodObserved | None, done: Mapping[str, DoneHook]) -> dict[str, str]:
    """Return the ids of instances that run, and were made before what was done for their container.

    Nobody knew of them then: a runtime tells of an instance when its start is over, and the instance may have
    read its files and variables before.
    """
    return {
        name: id_
        for name, id_ in running_instances(observed, done).items()
        if id_ != done[name].instance and _was_made_before(observed, name, done[name].seen_at)
    }


def seen_instances(observed: PodObserved) -> frozenset[str]:
    """Return the ids of all instances that people see."""
    return frozenset(
        one.id
        for history in observed.containers.values()
        for one in (history.current, history.last)
        if one is not None
    )


def is_back(observed: PodObserved, name: str, old: str, verdict: ProbeVerdict) -> bool:
    """Return whether another instance of a container than ``old`` runs, and is ready.

    ``verdict`` is what its probes say, of that instance or of an earlier one.
    """
    running = running_instances(observed, (name,)).get(name)
    if running is None or running == old:
        return False
    current = observed.containers[name].current
    is_about = verdict.container_id in {"", running}
    return current is not None and current.is_ready and verdict.is_ready and is_about


def names_of(objects: Iterable[ObjectId]) -> str:
    """Return how people are told of objects."""
    return " and ".join(sorted(f'{each.kind} "{each.name}"' for each in objects))


def rollout_group(pod: Pod) -> RolloutGroup | None:
    """Return the group in which one container at a time is restarted; None if ``pod`` names none."""
    name = pod.annotations.get(ROLLOUT_GROUP, "")
    return RolloutGroup(pod.namespace, name) if name else None


def _was_made_before(observed: PodObserved | None, name: str, moment: Timestamp) -> bool:
    current = observed.containers[name].current if observed is not None else None
    made = current.created_at if current is not None else None
    return made is not None and made < moment


def _uses(pod: Pod, container: JsonObject, wanted: ObjectId, action: ChangeAction) -> bool:
    showing = _showing(pod, wanted)
    if action is ChangeAction.SIGNAL:
        return any(name in showing and not is_part for name, is_part in _mounts(container))
    return any(name in showing for name, _ in _mounts(container)) or _has_variable(
        pod, container, wanted
    )


def _containers(pod: Pod) -> Iterator[JsonObject]:
    spec = pod.document.get("spec") or _NOTHING
    yield from (each for each in spec.get("initContainers") or () if is_sidecar(each))
    yield from spec.get("containers") or ()


def _showing(pod: Pod, wanted: ObjectId) -> frozenset[str]:
    """Return the names of the volumes that show ``wanted``."""
    volumes = (pod.document.get("spec") or _NOTHING).get("volumes") or ()
    return frozenset(
        each["name"]
        for each in volumes
        if any(
            object_of(pod, found.kind, found.name) == wanted for found in volume_references(each)
        )
    )


def _has_variable(pod: Pod, container: Mapping[str, object], wanted: ObjectId) -> bool:
    return any(
        object_of(pod, found.kind, found.name) == wanted
        for found in container_references(container)
    )


def _mounts(container: JsonObject) -> Iterator[tuple[str, bool]]:
    """Yield the volumes that a container mounts, and whether that is a part of each alone."""
    for mount in container.get("volumeMounts") or ():
        yield mount.get("name") or "", bool(mount.get("subPath") or mount.get("subPathExpr"))
