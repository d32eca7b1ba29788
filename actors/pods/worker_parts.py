"""Whom the workers of pods talk to, and what outlives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from actors.pods.lifecycle import Life
from actors.pods.object_reading import ObjectManagers
from actors.pods.orders import LifeIs, PodWish, WorkerGone
from kernel import Port
from messages.events import PostEvent
from messages.pod_runtime import ForgetPod, RunPod, StopPod
from messages.statuses import PodStatus, PodStatusIs
from messages.units import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPorts:
    """Whom workers talk to. One value for all of them."""

    keeper: Port[LifeIs | WorkerGone]
    runtime: Port[RunPod | StopPod | ForgetPod]
    statuses: Port[PodStatusIs]
    objects: ObjectManagers
    events: Port[PostEvent] | None
    """Who posts events; None if the agent belongs to no cluster."""
    host_ips: Callable[[], tuple[str, ...]]
    """Returns the addresses of this machine."""
    logs_steps: bool = True
    """Whether each step of a pod's life is logged at level info. Otherwise at debug."""


@dataclass(slots=True)
class WorkerMemory:
    """What outlives a life of a worker. One life at a time uses it."""

    wish: PodWish
    """The last one that was taken, or the first one."""
    start_time: Timestamp | None = None
    """When the node took the pod on, if an earlier life of the agent knew."""
    life: Life = field(default_factory=Life)
    status: PodStatus | None = None
    """The last one that was told."""
    has_begun: bool = False
    """The runtime was told to run it, or had it before: files of volumes are not waited for any more."""
