"""What the keeper of pods hears, whom it talks to, and what outlives it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from actors.pods.admission import Admission
from actors.pods.node_fit import NodeView
from actors.pods.orders import LifeIs, WorkerGone
from actors.pods.pod_workers_state import Launch, PodWorkersMemory
from actors.pods.records import KeptPod, KeptPodsAre, PodRecordsMessage
from actors.pods.times import WorkTimes
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from kernel import Address, DynamicMessage, Key, Port
from messages.node import FollowNode, NodeFact
from messages.pod_lives import PodLivesMessage
from messages.pod_manager import PodFact, Subscribe
from messages.pod_runtime import ListRuntimePods, PodsObserved
from messages.pods import PodUid, SourceName
from messages.statuses import ForgetPodStatus, PodStatusIs

WINDOW: Final = 64
"""Starts and stops of workers that may be under way at a time."""


@dataclass(frozen=True, slots=True)
class NextPortion:
    """Go on with the next portion."""


PodKeeperMessage: TypeAlias = (
    PodFact
    | NodeFact
    | PodsObserved
    | KeptPodsAre
    | PodLivesMessage
    | LifeIs
    | WorkerGone
    | NextPortion
)


def _pod_of_life(message: PodKeeperMessage) -> Hashable | None:
    return message.uid if isinstance(message, LifeIs) else None


POD_KEEPER = Key[PodKeeperMessage]("pod-keeper", coalesce=_pod_of_life)
"""Of what a worker told of its pod's life only the newest is handled: a life only goes forward."""
PODS = Key[DynamicMessage]("pods")
"""The supervisor of the workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodKeeperPorts:
    """Whom the keeper of pods talks to."""

    pod_manager: Port[Subscribe]
    node: Port[FollowNode] | None
    """Who knows the Node; None if the agent belongs to no cluster."""
    workers: Port[DynamicMessage]
    runtime: Port[ListRuntimePods]
    statuses: Port[PodStatusIs | ForgetPodStatus]
    worker: WorkerPorts
    """What every worker gets."""
    records: Port[PodRecordsMessage] | None = None
    """Who has what an earlier process kept; None if nothing is kept."""
    address: Address
    me: Port[PodKeeperMessage]
    """Its own address, which outlives it."""


@dataclass(slots=True)
class PodKeeperMemory:
    """What outlives a life of the keeper of pods, whose workers live on."""

    pod_workers: PodWorkersMemory
    admission: Admission
    configured: NodeView
    """The node as it is configured: what the API server shows of it is added."""
    sources: frozenset[SourceName]
    """All sources of pods that this agent has."""
    pods_at_once: int = 64
    """Pods that one turn looks after. Others of the pool have theirs in between."""
    workers_at_once: int = WINDOW
    """Workers that are being started or stopped."""
    launches: deque[Launch] = field(default_factory=deque)
    """Starts and stops of workers that wait."""
    workers: dict[PodUid, WorkerMemory] = field(default_factory=dict)
    times: WorkTimes = field(default_factory=WorkTimes)
    listed: set[SourceName] = field(default_factory=set)
    """The sources that have listed for good."""
    has_runtime_listed: bool = False
    """What the runtime has was carried out once. Heard alone, it is lost with the life that heard it."""
    has_node: bool = False
    """The cluster has shown the Node, or was waited for long enough."""
    runtime_life: int | None = None
    """Which life of the runtime has listed last."""
    kept: dict[PodUid, KeptPod] | None = None
    """What an earlier process has kept, of pods that were not started yet; None until that is known."""


def keeper_memory(node: NodeView, sources: frozenset[SourceName]) -> PodKeeperMemory:
    """Return the memory of a keeper that knows no pods yet."""
    return PodKeeperMemory(
        pod_workers=PodWorkersMemory(), admission=Admission(node), configured=node, sources=sources
    )
