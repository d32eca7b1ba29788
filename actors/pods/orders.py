"""What the keeper of pods and the workers tell each other. Levels, that may repeat on either side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from files.record_keeper import RecordsKept
from kernel import Key, LevelIs
from messages.change_hooks import RolloutGranted
from messages.cluster import ClusterServices, ServicesIn
from messages.objects import HeldObject, ObjectFact, ObjectId
from messages.pod_lives import PodLife
from messages.pod_runtime import ContainersSignalled, PodObserved, PodTrouble
from messages.pods import Pod, PodUid
from messages.probing import ProbesFact, ProbesSay
from messages.statuses import PodFailure
from messages.units import Seconds
from messages.volumes import ReleaseAnswer, VolumesAre


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWish:
    """What should become of a pod, complete. The newest one of a pod counts."""

    number: int
    """Counts the wishes about all pods. A worker names the last one that it took."""
    since: int
    """The number of the first wish about this pod. An earlier pod of the UID had another one, and its worker,
    which is just being stopped, is not meant."""
    pod: Pod
    is_removed: bool = False
    """No source lists it any more: it is stopped, and nothing of it stays."""
    is_killed: bool = False
    """The node ends it, for ``failure``."""
    failure: PodFailure | None = None
    grace: Seconds | None = None
    """The shortest grace that anybody asked for, other than who deletes the pod."""
    was_there: bool = False
    """The runtime had it before this agent did anything about it."""
    mirror: Pod | None = None
    """Of a static pod, as it was seen first: restarts that it shows are counted on from there."""
    resize: PodTrouble | None = None
    """Why ``pod`` has the resources of an earlier version: the node has no room for those of the newest."""
    has_no_document: bool = False
    """Only the runtime knows it: there is nobody to tell a status to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatStatus:
    """Tell the status of the pod once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAgain:
    """Give the runtime the last command once more: an earlier life of it may have lost that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectsDue:
    """Timer: objects that were missing, or whose reading was not answered, are read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesDue:
    """Timer: Services were waited for long enough, or the question may have been lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesOverdue:
    """Timer: a question about volumes was not answered, and may have been lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesDue:
    """Timer: nobody has answered what is to be probed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksDue:
    """Timer: something is to be done about a change, or is to be asked for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingOverdue:
    """Timer: the disk has not answered that the end of the pod is kept."""


ObjectLevelIs: TypeAlias = LevelIs[ObjectId, HeldObject]
"""Tells what an object is that the pod needs."""
ServicesLevelIs: TypeAlias = LevelIs[ServicesIn, ClusterServices | None]
"""Tells the Services of the pod's namespace."""

PodWorkerMessage = (
    PodWish
    | PodObserved
    | ObjectLevelIs
    | ObjectFact
    | RepeatStatus
    | CommandAgain
    | ObjectsDue
    | ServicesLevelIs
    | ServicesDue
    | VolumesAre
    | ReleaseAnswer
    | VolumesOverdue
    | ProbesFact
    | ProbesDue
    | ContainersSignalled
    | RolloutGranted
    | HooksDue
    | RecordsKept
    | KeepingOverdue
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeIs:
    """Where a pod is in its life. Told when a worker is up, for each wish, and for each new stage."""

    uid: PodUid
    wish: int
    """The number of the last wish that was taken."""
    life: PodLife


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGone:
    """The worker of a finished pod is stopping."""

    uid: PodUid


def _newest(message: PodWorkerMessage) -> str | None:
    """Name the messages of which only the newest matters."""
    if isinstance(message, PodObserved):
        return "observed"
    if isinstance(message, VolumesAre):
        return "volumes"
    if isinstance(message, ProbesSay):
        return "probes"
    return "wish" if isinstance(message, PodWish) else None


def worker_key(uid: PodUid) -> Key[PodWorkerMessage]:
    """Return the key of the worker of a pod."""
    key: Key[PodWorkerMessage] = Key(f"pods/{uid}", coalesce=_newest)
    return key
