"""What the keeper of pods knows of pods, and what it wants done about them. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice
from typing import Final, TypeAlias

from actors.pods.orders import PodWish
from messages.pod_lives import PodKilled, PodLife, WorkingPod
from messages.pod_runtime import PodTrouble
from messages.pods import FullName, Pod, PodUid
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
    refused: Pod | None = None
    """The version of it that was refused."""
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
    refused: Pod
    """The version that was refused. What later ones show of its status is what was told of it."""
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


Launch: TypeAlias = StartWorker | StopWorker
"""What waits while many workers are being started or stopped."""
PodWorkersEffect: TypeAlias = (
    Launch | TellWish | TellRefusal | ForgetStatus | AnswerKiller | PostWarning
)


@dataclass(slots=True)
class PodWorkersCounts:
    """Counts since the process began."""

    started: int = 0
    restarted: int = 0
    restarted_static: int = 0
    preempted: int = 0
    orphans: int = 0
    """Pods that only the runtime had, and that were stopped."""
    refused: dict[str, int] = field(default_factory=dict)


class StaticNames:
    """The lines of static pods, by full name. The first of a line holds the name (rules X18 to X21).

    It holds the name from the moment that it may start until it is finished. The next one in the line then
    starts at once: nobody looks for it from time to time. A pod that ends before it has started leaves its
    line, and is so never in anybody's way (rule X20).
    """

    def __init__(self) -> None:
        self._lines: dict[FullName, dict[PodUid, None]] = {}

    def join(self, full_name: FullName, uid: PodUid) -> bool:
        """Stand in line for ``full_name``, unless it does already. Return whether it holds the name."""
        line = self._lines.setdefault(full_name, {})
        line.setdefault(uid)
        return next(iter(line)) == uid

    def leave(self, full_name: FullName, uid: PodUid) -> PodUid | None:
        """Leave the line. Return who holds the name from now on; None if nobody does, or as before."""
        line = self._lines.get(full_name)
        if line is None or uid not in line:
            return None
        was_holder = next(iter(line)) == uid
        del line[uid]
        if not line:
            del self._lines[full_name]
            return None
        return next(iter(line)) if was_holder else None

    def heir(self, full_name: FullName) -> PodUid | None:
        """Return who holds ``full_name`` once its holder leaves; None if nobody stands in line."""
        return next(islice(self._lines.get(full_name, ()), 1, None), None)

    def holder(self, full_name: FullName) -> PodUid | None:
        """Return who holds ``full_name``; None if nobody does."""
        return next(iter(self._lines.get(full_name, ())), None)


@dataclass(slots=True)
class PodWorkersMemory:
    """What outlives a life of the keeper of pods."""

    records: dict[PodUid, PodRecord] = field(default_factory=dict)
    names: StaticNames = field(default_factory=StaticNames)
    left_alone: dict[PodUid, None] = field(default_factory=dict)
    """Pods that only the runtime knows, and that nobody has decided on."""
    replacing: FullName | None = None
    """The static pod that a kubelet started and that is being started anew: one at a time."""
    replacing_for: int = 0
    """How often the runtime has listed meanwhile."""
    awaits_node: bool = False
    """The cluster has not shown the Node yet, so its labels may be others than the configured ones."""
    for_node: dict[PodUid, None] = field(default_factory=dict)
    """Pods that wait until the Node is known."""
    lacks_node: bool = False
    """The cluster has not shown the Node yet, however long it was waited for."""
    refused_too_early: dict[PodUid, None] = field(default_factory=dict)
    """Static pods that were refused since the Node was not known in time."""
    mirrors: dict[FullName, Pod] = field(default_factory=dict)
    """Mirrors that were seen before the pods that they show."""
    gone: set[FullName] = field(default_factory=set)
    """Static pods that this process has run and removed. What a mirror of one shows is its own writing."""
    rooms: dict[PodUid, set[PodUid]] = field(default_factory=dict)
    """By a pod that is being stopped for others: these others."""
    deferred: dict[PodUid, None] = field(default_factory=dict)
    """Pods that request more than they have, and may have it once there is room."""
    counts: PodWorkersCounts = field(default_factory=PodWorkersCounts)
    last_wish: int = 0
    """The number of the last wish about any pod."""
    effects: deque[PodWorkersEffect] = field(default_factory=deque)
    """What is to be done and may not be done yet: of a pod that is dropped nothing else says it."""


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
