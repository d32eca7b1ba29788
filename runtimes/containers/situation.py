"""What a decision about one pod depends on, and what is decided. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from messages.cluster import ClusterServices
from messages.container_runtime import RuntimeRequest, SandboxContents
from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import ContainerWait, ProbeVerdict
from messages.pods import Pod
from messages.units import Seconds, Timestamp
from messages.volumes import PodVolume
from runtimes.containers.contents import ASK_AGAIN_AFTER, LATE, ContainerNotes, HookKey, HookRun
from runtimes.containers.shape import PodShape
from runtimes.lifecycle_hooks.messages import HookKind

SANDBOX: Final = ""
"""The target of steps about the sandbox. No container has this name."""


class Step(NamedTuple):
    """One request to make."""

    target: str
    """What it changes: the name of a container, the id of one that is left over, or SANDBOX. One request is
    in flight for each target."""
    request: RuntimeRequest
    why: str = ""
    """For people: why it is made, if that is worth text."""
    replaces: str = ""
    """The instance that another one is to run in the place of, whatever its restart policy says."""


class HookStep(NamedTuple):
    """A hook is to be called, or to be given less time."""

    target: str
    """The name of the container."""
    container_id: str
    kind: HookKind
    within: Seconds
    """From now on."""
    is_call: bool
    """Whether it is called, perhaps once more. Otherwise it is in progress, and gets less time."""
    why: str = ""
    """For people: why the container is stopped."""
    replaces: str = ""
    """As of a ``Step``."""

    @property
    def key(self) -> HookKey:
        """Which hook it is."""
        return self.container_id, self.kind


class Flight(NamedTuple):
    """A request that is in flight."""

    request: RuntimeRequest
    sent_at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a configuration may change about the plan."""

    longest_backoff: Seconds = Seconds(300.0)
    """``crashLoopBackOff.maxContainerRestartPeriod``."""
    assumes_images: bool = False
    """See ``ContainersAre.assumes_images``."""
    mounts_images: bool = False
    """See ``ContainersAre.mounts_images``."""
    network_trouble: str = ""
    """See ``ContainersAre.network_trouble``."""


@dataclass(slots=True, kw_only=True)
class PodSituation:
    """Everything that a decision about one pod depends on. Not frozen: that takes three times as long."""

    pod: Pod
    shape: PodShape
    contents: tuple[SandboxContents, ...]
    """What the runtime has of it, the newest sandbox first."""
    busy: Mapping[str, Flight] = field(default_factory=dict)
    """The requests that are in flight, by target."""
    notes: Mapping[str, ContainerNotes] = field(default_factory=dict)
    hooks: Mapping[HookKey, HookRun] = field(default_factory=dict)
    """The hooks that are due or were called, of instances that are there."""
    stops: Mapping[str, Seconds] = field(default_factory=dict)
    """By id: when each instance that was told to stop is killed."""
    verdicts: Mapping[str, ProbeVerdict] = field(default_factory=dict)
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    unread: Mapping[ObjectId, str] = field(default_factory=dict)
    services: ClusterServices = ()
    volumes: Mapping[str, PodVolume] = field(default_factory=dict)
    outdated: frozenset[str] = frozenset()
    highest_sandbox: int = -1
    """The highest attempt of a sandbox that was ever seen."""
    sandbox_retry_at: Seconds = Seconds(0.0)
    restart_all_at: Timestamp | None = None
    """When a container demanded that all start again; None if none did. Older instances do not count."""
    limits: Limits = Limits()
    now: Seconds
    """Of the monotonic clock, as all deadlines are."""


class Plan(NamedTuple):
    """What to do next about a pod."""

    steps: tuple[Step, ...]
    waits: Mapping[str, ContainerWait]
    """By name: why a container does not run, or not yet."""
    wake_at: Seconds | None
    """When to plan again, if nothing happens before."""
    has_ended: bool = False
    """All of it has ended for good: nothing starts any more."""
    hooks: tuple[HookStep, ...] = ()
    awaits_network: bool = False
    """No sandbox is made, since it cannot have a network."""


CREATING: Final = ContainerWait(reason="ContainerCreating")
INITIALIZING: Final = ContainerWait(reason="PodInitializing")


class Draft:
    """A plan that is being made."""

    __slots__ = (
        "_wake_at",
        "awaits_network",
        "default_wait",
        "has_ended",
        "hooks",
        "now",
        "steps",
        "waits",
    )

    def __init__(self, now: Seconds, default_wait: ContainerWait) -> None:
        self.now = now
        self.steps: list[Step] = []
        self.hooks: list[HookStep] = []
        self.waits: dict[str, ContainerWait] = {}
        self.default_wait = default_wait
        self.has_ended = False
        self.awaits_network = False
        self._wake_at: Seconds | None = None

    def wait_until(self, due: Seconds) -> None:
        """Plan again then, if that is later than now."""
        if due > self.now and (self._wake_at is None or due < self._wake_at):
            self._wake_at = due

    def call_hook(self, step: HookStep) -> None:
        """Call a hook, perhaps once more, and plan again when its end may have to be asked for."""
        self.hooks.append(step)
        self.wait_until(Seconds(self.now + min(ASK_AGAIN_AFTER, step.within + LATE)))

    def ask_again(self, name: str, key: HookKey, run: HookRun) -> None:
        """Ask for the end of a hook that was called, if it is time for that."""
        if self.now >= run.ask_again_at:
            within = Seconds(max(0.0, run.until - self.now))
            self.call_hook(HookStep(name, *key, within, is_call=True))
        else:
            self.wait_until(run.ask_again_at)

    def finished(self) -> Plan:
        """Return the plan."""
        return Plan(
            tuple(self.steps),
            self.waits,
            self._wake_at,
            self.has_ended,
            tuple(self.hooks),
            self.awaits_network,
        )
