"""What the keeper of pods knows of each pod, and what it wants done. Values without behaviour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from actors.pods.orders import PodWish
from messages.pod_lives import PodKilled, PodLife, WorkingPod
from messages.pod_runtime import PodTrouble
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.statuses import PodFailure
from messages.units import Seconds


class RecordStage(Enum):
    """How far the keeper is with a pod. Further than ``STARTED`` goes only the pod's worker."""

    LEFT_ALONE = auto()
    """Only the runtime knows it, and the source that it came from may still list it."""
    IN_LINE = auto()
    """Another static pod has its name."""
    AWAITING_NODE = auto()
    """It asks for labels that the cluster may know of the Node, which is not known yet."""
    MAKING_ROOM = auto()
    """Pods that are being stopped for it still run."""
    TO_START = auto()
    """Its worker is to be started."""
    STARTED = auto()
    """Its worker was started."""
    REFUSED = auto()
    """It will never run here: it was not admitted, or was killed before it began."""
    FINISHED = auto()
    """Its worker was stopped. It stays known while a source lists it."""


@dataclass(slots=True)
class PodRecord:
    """One pod, identified by its UID, from its first listing until nothing of it is left."""

    pod: Pod
    since: int
    """The number of the first wish about it. An answer to an earlier one is about an earlier pod."""
    wish: int
    """The number of the last wish about it."""
    taken: int = 0
    """The number of the last wish that its worker took."""
    stage: RecordStage = RecordStage.TO_START
    life: PodLife = PodLife.WAITING
    """What its worker told last."""
    is_removed: bool = False
    is_killed: bool = False
    failure: PodFailure | None = None
    grace: Seconds | None = None
    was_there: bool = False
    """The runtime had it before its worker began."""
    mirror: Pod | None = None
    """Of a static pod, as the first one that was seen: it may show what an earlier process knew."""
    held_back: Pod | None = None
    """``pod`` with the resources that it has, while the node has no room for those that it requests."""
    resize: PodTrouble | None = None
    """Why it is held back."""
    has_no_document: bool = False
    """Only the runtime knows it."""
    is_foreign: bool = False
    """It is a static pod that a kubelet started, under a UID that no source tells."""
    returned: Pod | None = None
    """It was added again while it is being stopped: begins anew once it is finished (rule X3)."""
    waits_for: set[PodUid] | None = None
    """Pods that must be gone before it may start."""
    killers: tuple[Port[PodKilled], ...] = ()
    """Who is told when nothing of it runs any more."""

    @property
    def is_up(self) -> bool:
        """Whether it has a worker, or is about to have one."""
        return self.stage in {RecordStage.TO_START, RecordStage.STARTED}

    def wished(self) -> PodWish:
        """Return what its worker is told."""
        return PodWish(
            number=self.wish,
            since=self.since,
            pod=self.held_back or self.pod,
            is_removed=self.is_removed,
            is_killed=self.is_killed,
            failure=self.failure,
            grace=self.grace,
            was_there=self.was_there,
            mirror=self.mirror,
            resize=self.resize,
            has_no_document=self.has_no_document,
        )


@dataclass(frozen=True, slots=True)
class StartWorker:
    """Start the worker of a pod, as soon as the window has room."""

    uid: PodUid


@dataclass(frozen=True, slots=True)
class StopWorker:
    """Stop the worker of a pod, as soon as the window has room."""

    uid: PodUid


@dataclass(frozen=True, slots=True)
class TellWish:
    """Tell the worker of a pod what is wished."""

    uid: PodUid


@dataclass(frozen=True, slots=True)
class TellRefusal:
    """Tell the status of a pod that will never run here."""

    pod: Pod
    failure: PodFailure


@dataclass(frozen=True, slots=True)
class ForgetStatus:
    """Tell that the pod is not this node's any more."""

    uid: PodUid


@dataclass(frozen=True, slots=True)
class AnswerKiller:
    """Tell who wanted a pod killed that nothing of it runs."""

    uid: PodUid
    reply_to: Port[PodKilled]


@dataclass(frozen=True, slots=True)
class PostWarning:
    """Post an event about a pod, and log it."""

    pod: Pod
    failure: PodFailure
    line: str = "a pod may not run"
    """What the log says."""


RosterEffect: TypeAlias = (
    StartWorker | StopWorker | TellWish | TellRefusal | ForgetStatus | AnswerKiller | PostWarning
)


@dataclass(slots=True)
class RosterCounts:
    """Counts since the process began."""

    started: int = 0
    restarted: int = 0
    restarted_static: int = 0
    preempted: int = 0
    orphans: int = 0
    """Pods that only the runtime had, and that were stopped."""
    refused: dict[str, int] = field(default_factory=dict)


_LIFECYCLES: Final = {
    PodLife.WAITING: "sync",
    PodLife.SYNC: "sync",
    PodLife.TERMINATING: "terminating",
    PodLife.TERMINATED: "terminated",
    PodLife.FINISHED: "terminated",
}


def working_pods(
    records: Iterable[PodRecord], lives: Iterable[PodLife]
) -> Mapping[WorkingPod, int]:
    """Return how many pods there are of each kind, in a kubelet's words. ``lives`` are those of the pods."""
    counts = Counter(
        (life, record.has_no_document, record.is_removed, record.pod.is_static)
        for record, life in zip(records, lives, strict=True)
    )
    kinds: Counter[WorkingPod] = Counter()
    for kind, count in counts.items():
        kinds[_working_pod(*kind)] += count
    return kinds


def _working_pod(
    life: PodLife,
    is_unknown: bool,  # noqa: FBT001  # a part of a key
    is_removed: bool,  # noqa: FBT001
    is_static: bool,  # noqa: FBT001
) -> WorkingPod:
    if is_unknown:
        return WorkingPod(_LIFECYCLES[life], "runtime_only", "unknown")
    config = "orphan" if is_removed else "desired"
    return WorkingPod(_LIFECYCLES[life], config, "true" if is_static else "")


def life_of(record: PodRecord) -> PodLife:
    """Return where a pod is in its life, as others see it."""
    match record.stage:
        case RecordStage.LEFT_ALONE:
            return PodLife.SYNC
        case RecordStage.REFUSED | RecordStage.FINISHED:
            return PodLife.FINISHED
        case _:
            return record.life
