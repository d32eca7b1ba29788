"""What the runtime of pods keeps of each pod, and what it counts, over its own crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from messages.cluster import ClusterServices
from messages.container_runtime import (
    CreateContainer,
    FindImage,
    ImageFound,
    LookAtPod,
    PodIdentity,
    PullImage,
    RunSandbox,
    RuntimeFailure,
    RuntimeOutcome,
    SandboxContents,
    StartContainer,
    StopContainer,
)
from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import (
    NO_MARK,
    ContainerObserved,
    Mark,
    PodObserved,
    PodsObserved,
    PodTrouble,
    ProbeVerdict,
    RuntimePod,
)
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.units import Seconds, Timestamp
from messages.volumes import PodVolume
from runtimes.containers.contents import ContainerNotes, HookKey, HookRun, instances_in
from runtimes.containers.shape import ContainerPart, ContainerShape, PodShape
from runtimes.containers.situation import Flight, Step
from runtimes.containers.stopping import StopLine

ALL_READ: Final[Mapping[ObjectId, str]] = MappingProxyType({})
"""One for all pods of which every object is read: there may be 10,000."""
NO_VOLUMES: Final[Mapping[str, PodVolume]] = MappingProxyType({})
_TYPES: Final[Mapping[ContainerPart, str]] = {
    ContainerPart.INIT: "init_container",
    ContainerPart.SIDECAR: "init_container",
    ContainerPart.REGULAR: "container",
    ContainerPart.EPHEMERAL: "ephemeral_container",
}
_ON_THE_WAY = FindImage | PullImage | CreateContainer | StartContainer


@dataclass(slots=True)
class StartCounts:
    """Counts since the process began."""

    containers: Counter[str] = field(default_factory=Counter)
    """Attempts to start a container, those that failed included, by its type."""
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Of these, those that failed, by type and reason."""
    sandbox_errors: int = 0

    def note(
        self,
        step: Step,
        outcome: RuntimeOutcome,
        shape: PodShape | None,
        notes: Mapping[str, ContainerNotes] | None,
    ) -> None:
        """Count what the answer to ``step`` says. ``notes`` have learned from it already."""
        is_failure = isinstance(outcome, RuntimeFailure)
        if not (is_failure or isinstance(outcome, ImageFound | ContainerObserved)):
            return
        if isinstance(step.request, RunSandbox):
            self.sandbox_errors += is_failure
            return
        container = shape.get(step.target) if shape is not None else None
        if container is None or not isinstance(step.request, _ON_THE_WAY):
            return
        kind = _TYPES[container.part]
        if isinstance(step.request, StartContainer) and isinstance(outcome, ContainerObserved):
            self.containers[kind] += 1
            return
        error = notes[step.target].error if notes is not None and step.target in notes else None
        if error is not None and (is_failure or isinstance(outcome, ImageFound)):
            self.containers[kind] += 1
            self.errors[kind, error.reason] += 1


class Wanted(Enum):
    """What is to become of a pod."""

    NOTHING = auto()
    """Nobody commanded it: it is left alone."""
    RUN = auto()
    STOP = auto()
    FORGET = auto()


@dataclass(slots=True)
class Call:
    """One call that is in flight."""

    ref: int
    told: int
    """Its place in the order in which calls are told. A stop gets a later one when its turn comes."""
    uid: PodUid
    step: Step
    sent_at: Seconds
    deadline: Seconds

    @property
    def is_look(self) -> bool:
        """Whether it only asks what there is of the pod."""
        return isinstance(self.step.request, LookAtPod)


@dataclass(slots=True)
class RuntimeRecord:
    """What is known and wanted of one pod. All times but ``restart_all_at`` are monotonic."""

    uid: PodUid
    order: int
    """Of its first command: of pods that wait for their turn, the oldest is first."""
    wanted: Wanted = Wanted.NOTHING
    pod: Pod | None = None
    shape: PodShape | None = None
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    unread: Mapping[ObjectId, str] = field(default_factory=lambda: ALL_READ)
    services: ClusterServices = ()
    verdicts: Mapping[str, ProbeVerdict] = field(default_factory=dict)
    volumes: Mapping[str, PodVolume] = field(default_factory=lambda: NO_VOLUMES)
    outdated: frozenset[str] = frozenset()
    """Ids of instances that are to be replaced."""
    mark: Mark = NO_MARK
    """Of the last command."""
    obeyed: Mark = NO_MARK
    """Of the last command that has had its effect."""
    reply_to: Port[PodObserved] | None = None
    stop_by: Seconds = Seconds(0.0)
    """When what still runs is killed, once it is being stopped."""
    shortest: Seconds = Seconds(0.0)
    """What a sidecar has after that."""
    contents: tuple[SandboxContents, ...] = ()
    listed: RuntimePod | None = None
    """What questions are answered with; None until somebody asks after a change of ``contents``."""
    identity: PodIdentity | None = None
    notes: dict[str, ContainerNotes] | None = None
    hooks: dict[HookKey, HookRun] | None = None
    """Of instances that are there. None for most pods."""
    stops: dict[str, Seconds] | None = None
    """By id: when each instance that was told to stop is killed. None for most pods."""
    calls: tuple[Call, ...] = ()
    pull_began: Seconds | None = None
    """When the first of its images began to be pulled."""
    pulling: Seconds = Seconds(0.0)
    """From then until the last one was there."""
    is_in_doubt: bool = False
    """The effect of a call is uncertain: nothing is done before a look."""
    highest_sandbox: int = -1
    sandbox_failures: int = 0
    sandbox_retry_at: Seconds = Seconds(0.0)
    sandbox_error: str = ""
    impossible: PodTrouble | None = None
    """Why the pod can never run here."""
    failures: int = 0
    """How often in a row something else than a start failed: a stop, a removal, a look."""
    paused_until: Seconds = Seconds(0.0)
    restart_all_at: Timestamp | None = None
    told: PodObserved | None = None
    told_beginning: bool = False
    """Whether that says no more than that nothing has run yet."""
    tell_again: bool = False
    """Whether it is told even if nothing has changed."""
    tell_by: Seconds | None = None
    """When what has changed is told in any case; None if it is told at once, or nothing has changed."""
    wake_at: Seconds | None = None
    """When it is to be examined next, as ``DuePods`` has it."""

    @property
    def is_stopping(self) -> bool:
        """Whether nothing of it may start any more."""
        return self.wanted is Wanted.STOP or self.wanted is Wanted.FORGET

    @property
    def display_name(self) -> str:
        """``namespace/name``, or its UID if nothing else is known."""
        if self.pod is not None:
            return self.pod.display_name
        if self.identity is not None:
            return f"{self.identity.namespace}/{self.identity.name}"
        return self.uid

    def container(self, name: str) -> ContainerShape | None:
        """Return what the specification says of one container, if there is such a one."""
        return self.shape.get(name) if self.shape is not None else None

    def known_notes(self, name: str) -> ContainerNotes | None:
        """Return the notes about one container, if there are any."""
        return self.notes.get(name) if self.notes is not None else None

    def notes_of(self, name: str) -> ContainerNotes:
        """Return the notes about one container, begun if there are none."""
        if self.notes is None:
            self.notes = {}
        return self.notes.setdefault(name, ContainerNotes())

    def note_stop(self, stop: StopContainer, now: Seconds) -> None:
        """Note that an instance is told to stop. Its grace counts from the first time on."""
        before = self.stops or {}
        there = {one.id for one in instances_in(self.contents)}
        self.stops = {known: until for known, until in before.items() if known in there}
        until = Seconds(now + stop.grace)
        self.stops[stop.id] = min(until, before.get(stop.id, until))

    def busy(self) -> dict[str, Flight]:
        """Return the requests that are in flight, by what they change."""
        return {
            call.step.target: Flight(call.step.request, call.sent_at)
            for call in self.calls
            if not call.is_look
        }


@dataclass(slots=True)
class RuntimeMemory:
    """What outlives a life of the runtime of pods. One life at a time uses it, so it needs no lock."""

    records: dict[PodUid, RuntimeRecord] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    """By ref, the oldest first."""
    questions: list[Port[PodsObserved]] = field(default_factory=list)
    """Who asked what pods there are, while that is not known."""
    followers: dict[Port[PodsObserved], None] = field(default_factory=dict)
    """Who ever asked that: each life tells them."""
    counts: StartCounts = field(default_factory=StartCounts)
    stops: StopLine = field(default_factory=StopLine)
    """Stops of containers that wait for their turn: calls that were not told yet."""
    last_ref: int = 0
    last_order: int = 0

    def record_of(self, uid: PodUid) -> RuntimeRecord:
        """Return the record of this pod, begun if there is none."""
        record = self.records.get(uid)
        if record is None:
            self.last_order += 1
            record = self.records[uid] = RuntimeRecord(uid, self.last_order)
        return record
