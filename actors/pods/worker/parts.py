"""Whom the workers of pods talk to, and what outlives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import structlog

from actors.pods.lifecycle import Life
from actors.pods.orders import LifeIs, PodWish, WorkerGone
from actors.pods.records import KeepPods, KeptPod
from actors.pods.worker.object_hooks import HooksMemory
from actors.pods.worker.probe_reading import ProbesMemory
from kernel import Followable, Port
from messages.change_hooks import RolloutMessage
from messages.cluster import ClusterServices, ServicesIn
from messages.events import PostEvent
from messages.objects import (
    ChangeMissed,
    FollowObjects,
    HeldObject,
    ObjectId,
    ObjectKind,
    RegisterPod,
    UnfollowObjects,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pod_runtime import ForgetPod, PodObserved, RunPod, SignalContainers, StopPod
from messages.probing import ProbesMessage
from messages.statuses import PodCondition, PodStatus, PodStatusIs
from messages.volumes import VolumeMessage

ObjectManagers: TypeAlias = Mapping[
    ObjectKind,
    Port[
        RegisterPod | UnregisterPod | FollowObjects | UnfollowObjects | UnprovenTaken | ChangeMissed
    ],
]
"""The addresses of the managers of Secrets and of ConfigMaps."""
ObjectLevels: TypeAlias = Mapping[ObjectKind, Followable[ObjectId, HeldObject]]
"""What is known of Secrets and of ConfigMaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPorts:
    """Whom workers talk to. One value for all of them."""

    keeper: Port[LifeIs | WorkerGone]
    runtime: Port[RunPod | StopPod | ForgetPod | SignalContainers]
    statuses: Port[PodStatusIs]
    managers: ObjectManagers
    objects: ObjectLevels
    services: Followable[ServicesIn, ClusterServices | None] | None = None
    """The Services of the cluster; None where nobody knows any, and where the runtime has no use for them."""
    volumes: Port[VolumeMessage] | None = None
    """Who makes volumes; None where the runtime does that itself, or pods have none."""
    rollouts: Port[RolloutMessage] | None = None
    """Who lets one container of a group restart at a time; None where nobody does."""
    restarts_containers: bool = True
    """Whether the runtime starts containers again that are outdated."""
    probes: Port[ProbesMessage] | None = None
    """Who has probes run; None where nobody does, so that all of them count as passed."""
    events: Port[PostEvent] | None
    """Who posts events; None if the agent belongs to no cluster."""
    records: Port[KeepPods] | None = None
    """Who keeps what the next process is to know; None if nothing is to outlive this one."""
    keeps_starts: bool = False
    """Whether it is kept when containers started, since the next process has nobody to ask."""
    host_ips: Callable[[], tuple[str, ...]]
    """Returns the addresses of this machine."""
    logs_steps: bool = True
    """Whether each step of a pod's life is logged at level info. Otherwise at debug."""
    log: Any = field(default_factory=lambda: structlog.get_logger("pods").bind(), repr=False)
    """Bound once for all workers: what is below the level of the log then costs next to nothing."""


@dataclass(slots=True)
class WorkerMemory:
    """What outlives a life of a worker. One life at a time uses it."""

    wish: PodWish
    """The last one that was taken, or the first one."""
    kept: KeptPod | None = None
    """What is on disk of it, if an earlier process kept it or this one did."""
    is_end_kept: bool = False
    """That it has ended by itself is on disk; or it cannot be."""
    has_needs: bool = False
    """It follows objects or Services, or has been following them in a life that crashed."""
    has_volumes: bool = False
    """There may be volumes of it that have to be taken away."""
    was_compared: bool = False
    """Objects that changed while no agent was there were decided on, or there was nothing to compare."""
    life: Life = field(default_factory=Life)
    has_seen_mirror: bool = False
    """What its mirror shows of an earlier process is known, or there is nothing to know."""
    status: PodStatus | None = None
    """The last one that was told."""
    shown_before: tuple[PodCondition, ...] = ()
    """The conditions that an earlier process kept, until the runtime has told how the pod is. Those that are
    the same then keep their times."""
    probes: ProbesMemory | None = None
    """What the probes of its containers say; None if it has none."""
    hooks: HooksMemory | None = None
    """What is to be done about changes of objects. None until the first change."""
    first_digests: Mapping[str, str] | None = None
    """See ``RunPod.first_digests``. None before the first life."""
    is_new_here: bool = False
    """No earlier process that knew digests has seen the pod: it may have been edited unnoticed."""
    has_begun: bool = False
    """The runtime was told to run it, or had it before: files of volumes are not waited for any more."""

    @property
    def observed(self) -> PodObserved | None:
        """What the runtime told last of the pod, as the last status has it; None before."""
        return self.status.observed if self.status is not None else None
