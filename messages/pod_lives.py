"""The lives of pods on this node: what their keeper hears from others and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from messages.pods import PodUid
from messages.port import Port
from messages.statuses import PodFailure
from messages.units import Seconds, TimesCounted


class PodLife(StrEnum):
    """Where a pod is in its life (rules X1 to X26). It only ever goes forward."""

    WAITING = "waiting"
    """Its worker may not start yet: another static pod of its name is being stopped (rule X18)."""
    SYNC = "sync"
    """It is to run."""
    TERMINATING = "terminating"
    """Its containers are being stopped."""
    TERMINATED = "terminated"
    """No container runs. What is left of it is being removed, if it is to go."""
    FINISHED = "finished"
    """Nothing is to be done about it any more."""

    @property
    def is_stopped(self) -> bool:
        """Whether nothing of the pod runs, and nothing of it will."""
        return self in {PodLife.TERMINATED, PodLife.FINISHED}


@dataclass(frozen=True, slots=True, kw_only=True)
class KillPod:
    """Ends a pod for the node's own sake, as an eviction does (rule X14). May repeat.

    The pod fails with ``failure``, and stays until it is deleted. Answered by one ``PodKilled`` as soon as
    nothing of it runs: at once for a pod that is not known, or does not run any more. Who asked has a
    deadline of its own; the pod is being killed whatever that says.
    """

    uid: PodUid
    failure: PodFailure
    reply_to: Port[PodKilled]
    grace: Seconds | None = None
    """None: what the pod asks for. A longer one than was asked for before changes nothing (rule X8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodKilled:
    """Nothing of this pod runs any more."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatPodStatuses:
    """Asks that the status of each pod is told once more to the keeper of statuses. May repeat.

    It asks itself, since a status may be lost with a life of it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePodLives:
    """Asks where each pod is in its life. Answered by one ``PodLivesDescribed``."""

    reply_to: Port[PodLivesDescribed]


class WorkingPod(NamedTuple):
    """A kind of pod, in a kubelet's words."""

    lifecycle: str
    """``sync``, ``terminating`` or ``terminated``."""
    config: str
    """``desired``; ``orphan`` if its source lists it no more; ``runtime_only`` if none ever did."""
    static: str
    """``true``, empty, or ``unknown`` of a pod that only the runtime has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLivesDescribed:
    """Where each pod is in its life. Counts and times are since the process began."""

    lives: Mapping[PodUid, PodLife]
    started: int
    """Pods that workers were started for: ``kubelet_started_pods_total``."""
    refused: Mapping[str, int]
    """Pods that were not admitted, by reason."""
    restarted_static: int
    """``kubelet_restarted_pods_total{static="true"}``: pods whose UID was added again."""
    restarted: int
    """The same of other pods."""
    preempted: int
    working: Mapping[WorkingPod, int] = field(default_factory=dict)
    """How many pods there are of each kind: ``kubelet_working_pods``."""
    orphans: int = 0
    """Pods that only the runtime had, and that were stopped: ``kubelet_orphaned_runtime_pods_total``."""
    operations: Mapping[str, TimesCounted] | None = None
    """How long it took until what was wished of pods was carried out: ``create``, ``update``, ``kill``."""


PodLivesMessage: TypeAlias = KillPod | RepeatPodStatuses | DescribePodLives
"""What the keeper of pods hears from others, beside the facts that it subscribes to."""
