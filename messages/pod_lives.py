"""The lives of pods on this node: what their keeper answers about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from messages.pods import PodUid
from messages.port import Port


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePodLives:
    """Asks where each pod is in its life. Answered by one ``PodLivesDescribed``."""

    reply_to: Port[PodLivesDescribed]


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
