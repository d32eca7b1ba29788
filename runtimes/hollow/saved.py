"""What of hollow containers outlives the agent's process. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from messages.container_runtime import PodIdentity
from messages.pod_runtime import ContainerObserved, SandboxObserved
from messages.pods import PodUid
from messages.units import Timestamp
from runtimes.hollow.behaviour import ContainerBehaviour, Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedContainer:
    """One container."""

    observed: ContainerObserved
    behaviour: ContainerBehaviour
    ends_at: Timestamp | None = None
    """When it will end, as far as that is known."""
    ending: Ending | None = None
    """How it will end then."""
    ready_at: Timestamp | None = None
    """When it will be ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSandbox:
    """One sandbox with its containers."""

    pod: PodIdentity
    observed: SandboxObserved
    containers: tuple[SavedContainer, ...] = ()
    dies_at: Timestamp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPod:
    """Everything of one pod: its sandboxes, with the newest first, or none when it is gone."""

    uid: PodUid
    sandboxes: tuple[SavedSandbox, ...] = ()
