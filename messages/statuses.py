"""The status of pods: what is told of it, and to whom. ``stores/statuses`` says how it comes about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from messages.pod_runtime import PodObserved, ProbeVerdict
from messages.pods import Pod, PodPhase, PodUid
from messages.port import Port
from messages.units import TimesCounted, Timestamp

REJECTED: Final = "Pod was rejected: "
"""How the message of a pod begins that this node never took on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFailure:
    """Why the node itself failed a pod, or refused it: ``status.reason`` and ``status.message``."""

    reason: str
    """``OutOfcpu``, ``NodeAffinity``, ``DeadlineExceeded``, ``Evicted``, ``Preempting``, ..."""
    message: str

    def as_rejection(self) -> PodFailure:
        """Return the same of a pod that was never taken on."""
        return PodFailure(reason=self.reason, message=f"{REJECTED}{self.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCondition:
    """One condition of a pod that the node owns."""

    type: str
    status: str
    """``True``, ``False`` or ``Unknown``."""
    since: Timestamp
    """When ``status`` became what it is (rule V4)."""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStatus:
    """The status of one pod, in few bytes. ``stores.statuses.rendering`` makes the API's form of it.

    Two statuses are equal if people see the same.
    """

    phase: PodPhase
    conditions: tuple[PodCondition, ...]
    observed: PodObserved | None
    """What the statuses of its containers are rendered from; None for a pod that never reached a runtime."""
    verdicts: Mapping[str, ProbeVerdict] | None = None
    """What the probes said, by name of the container; None if there are none."""
    start_time: Timestamp | None = None
    """When the node took it on. Fixed once set (rule V4)."""
    host_ips: tuple[str, ...] = ()
    reason: str = ""
    message: str = ""
    is_ended: bool = False
    """Nothing of it runs or will run: containers without an end are shown as ended (rule V12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStatusIs:
    """The status of a pod is this, from now on. Coalesced per pod: the newest counts. May repeat."""

    pod: Pod
    status: PodStatus
    is_finished: bool = False
    """Nothing of the pod is left on this node, so that its API object may go if it is being deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPodStatus:
    """The pod is not this node's any more, and nothing of it is left. May repeat."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStatusChanged:
    """Told to followers: the status of a pod is another one than before."""

    pod: Pod
    status: PodStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowStatuses:
    """Subscribes to every ``PodStatusChanged`` from now on. Outlives crashes on both sides. May repeat."""

    subscriber: Port[PodStatusChanged]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfollowStatuses:
    """Ends a subscription. Changes that are under way may still arrive. May repeat."""

    subscriber: Port[PodStatusChanged]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeStatuses:
    """Asks for the statuses of all pods. Answered by one ``StatusesDescribed``."""

    reply_to: Port[StatusesDescribed]


START_BOUNDS: Final = (
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0, 30.0, 45.0),
    *(60.0, 120.0, 180.0, 240.0, 300.0, 360.0, 480.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0),
)
"""Upper bounds of the times that pods take to start, in seconds: a kubelet's, and three below them."""
SLI_BOUNDS: Final = START_BOUNDS[3:]
"""The same without those: exactly a kubelet's."""
SYNC_BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)
"""Upper bounds of the times that statuses take to the API server, in seconds: a kubelet's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLatencies:
    """How long API pods took from their creation until the API server showed that all containers run.

    By ``true`` for the first pod with a network of its own, and an empty text for all others.
    """

    sli: Mapping[str, TimesCounted]
    """Without the time of pulling images and of init containers."""
    total: Mapping[str, TimesCounted]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusesDescribed:
    """The statuses of all pods, and what became of writing them. Counts are since the process began."""

    statuses: Mapping[PodUid, PodStatus]
    """Read-only: made anew by the owner for each answer."""
    written: int = 0
    """Statuses that the API server took."""
    waiting: int = 0
    """Statuses that the API server does not have yet."""
    refused: Mapping[str, int] | None = None
    """Failed writes by the kind of failure."""
    deleted: int = 0
    """API objects of deleted pods that were removed."""
    starts: TimesCounted | None = None
    latencies: StartLatencies | None = None
    syncs: TimesCounted | None = None
    """From a change of a status until the API server had it."""
    troubles: Mapping[PodUid, str] | None = None
    """Why the API server does not have the status of a pod, as a sentence, for those that it refuses."""


StatusKeeperMessage: TypeAlias = (
    PodStatusIs | ForgetPodStatus | FollowStatuses | UnfollowStatuses | DescribeStatuses
)
"""What the keeper of statuses hears from others."""
