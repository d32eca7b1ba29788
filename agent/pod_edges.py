"""Where the part of the agent that runs pods ends: what it is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from actors.node.machine import Machine
from actors.probes.watching import ProbesToRun
from agent.edges import Edges
from agent.last_calls import LastCalls
from agent.process_edges import ProcessEdges
from kernel import AnySpec, Followable, Port
from messages.api import CallApi
from messages.change_hooks import RolloutMessage
from messages.container_logs import DescribeContainerLogs
from messages.container_runtime import AskContainer
from messages.container_runtime_health import DescribeContainerRuntime
from messages.events import PostEvent
from messages.images import DescribeImages
from messages.node import FollowNode, RuntimeHasNews
from messages.objects import HeldObject, ObjectId, ObjectKind, ObjectManagerMessage
from messages.pod_lives import PodLivesMessage
from messages.pod_runtime import PodRuntimeMessage, RuntimeNode
from messages.probing import DescribeAnswers, ProbesMessage
from messages.statuses import StatusKeeperMessage
from messages.tokens import TokensMessage
from messages.volume_state import DescribeVolumes
from messages.watches import Unwatch, Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class PodApiPorts:
    """Whom the keepers of pods and of statuses talk to about the API server."""

    calls: Port[CallApi]
    watches: Port[Watch | Unwatch]
    node: Port[FollowNode | RuntimeHasNews]
    events: Port[PostEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPorts:
    """The addresses that the endpoints ask about pods that run."""

    lives: Port[PodLivesMessage]
    statuses: Port[StatusKeeperMessage]
    runtime: Port[PodRuntimeMessage]
    containers: Port[DescribeContainerRuntime] | None = None
    """Who speaks with a container runtime; None where there is none outside of the agent."""
    images: Port[DescribeImages] | None = None
    """Who keeps images; None where pods have none of their own."""
    logs: Port[DescribeContainerLogs] | None = None
    """None where logs are nobody's."""
    probes: Port[ProbesMessage]
    """Who knows which probes there are."""
    answers: Port[DescribeAnswers]
    """Who knows what they answered."""
    volumes: Port[DescribeVolumes] | None = None
    """Who makes volumes; None where nobody does."""
    rollouts: Port[RolloutMessage]
    """Who knows what came of change hooks."""
    asked: Port[AskContainer] | None = None
    """Who answers questions about single containers; None where nobody does."""
    tokens: Port[TokensMessage] | None = None
    """Who gets tokens of service accounts; None where pods have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEdges:
    """Where the part of the agent that runs pods ends."""

    api: Callable[[], PodApiPorts | None]
    """Returns whom to talk to about the API server; None if the agent belongs to no cluster."""
    managers: Callable[[], Mapping[ObjectKind, Port[ObjectManagerMessage]]]
    """Returns those of Secrets and ConfigMaps."""
    objects: Mapping[ObjectKind, Followable[ObjectId, HeldObject]]
    """What is known of Secrets and ConfigMaps."""
    machine: Machine
    last_calls: LastCalls
    """Notes the calls that the end of the process waits for."""
    outside: Edges
    """What is put in the place of what the process has outside of it."""
    process: ProcessEdges
    """What all agents of the process share."""


class ComposedRuntime(Protocol):
    """The actors of a runtime of pods."""

    def specs(self) -> tuple[AnySpec, ...]:
        """Return their specs, in the order in which they start."""
        ...

    def port(self) -> Port[PodRuntimeMessage]:
        """Return the address that takes commands about pods."""
        ...

    def containers(self) -> Port[DescribeContainerRuntime] | None:
        """Return the address of who speaks with a container runtime; None if there is none outside."""
        ...

    def images(self) -> Port[DescribeImages] | None:
        """Return the address of who keeps images; None if nobody does."""
        ...

    def logs(self) -> Port[DescribeContainerLogs] | None:
        """Return the address of the keeper of logs; None if there is none."""
        ...

    def asked(self) -> Port[AskContainer] | None:
        """Return the address of who answers questions about single containers; None if nobody does."""
        ...

    def probes(self) -> Port[ProbesToRun]:
        """Return the address of who carries probes out."""
        ...

    def node(self) -> RuntimeNode | None:
        """Return what the runtime says of the Node; None if that is nothing. On any thread."""
        ...

    def uses_services(self) -> bool:
        """Return whether its containers are told of the cluster's Services, and pods have RuntimeClasses."""
        ...
