"""What the actor that runs pods as containers hears, whom it tells, and what can be configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from kernel import Key, Port
from messages.container_runtime import ContainerRuntimeMessage, RuntimeAnswered, RuntimeFact
from messages.events import PostEvent
from messages.pod_runtime import PodRuntimeMessage
from messages.units import Seconds
from runtimes.lifecycle_hooks.messages import HookEnded, HooksMessage


@dataclass(frozen=True, slots=True)
class RestOfPods:
    """Told to itself: examine the pods that did not fit into the last turn."""


ContainersRuntimeMessage: TypeAlias = (
    PodRuntimeMessage | RuntimeAnswered | RuntimeFact | HookEnded | RestOfPods
)

POD_RUNTIME = Key[ContainersRuntimeMessage]("runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersPorts:
    """Whom the runtime of pods tells."""

    containers: Port[ContainerRuntimeMessage]
    hooks: Port[HooksMessage]
    """Who carries out the hooks of containers."""
    me: Port[ContainersRuntimeMessage]
    """Its own address, which outlives a crash: what it subscribes with, and where answers go."""
    events: Port[PostEvent] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersOptions:
    """What a configuration says about running containers."""

    longest_backoff: Seconds = Seconds(300.0)
    """``crashLoopBackOff.maxContainerRestartPeriod``."""
    parallel_starts: int | None = None
    """Sandboxes and containers that are started at the same time; None for any number."""
    parallel_stops: int | None = None
    """Containers that are stopped at the same time, but for those that take long; None for any number."""
    pods_at_once: int = 64
    """Pods that are examined in one turn, so that others need not wait for long."""
    pods_told_of: int = 100
    """While there are no more pods than these, each step has a line of the log at level info. With more of
    them its level is debug: such a line takes 23 us, and nobody reads thousands."""


DEFAULT_OPTIONS: Final = ContainersOptions()
