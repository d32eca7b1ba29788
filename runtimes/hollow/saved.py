"""What of hollow containers outlives the agent's process: a line for each pod. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter, ValidationError

from messages.pod_runtime import ContainerObserved, SandboxObserved
from messages.pods import JsonObject, PodUid
from messages.units import Timestamp
from runtimes.container_runtime import PodIdentity
from runtimes.hollow.behaviour import ContainerBehaviour, Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedContainer:
    """One container."""

    observed: ContainerObserved
    behaviour: ContainerBehaviour
    resources: JsonObject | None = None
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


_POD: Final = TypeAdapter(SavedPod)


def encoded(pod: SavedPod) -> bytes:
    """Return ``pod`` as one line, without its end."""
    return _POD.dump_json(pod, exclude_defaults=True)


def decoded(line: bytes) -> SavedPod:
    """Return the pod of a line. Raises ``ValueError`` for one that ``encoded`` has not made."""
    try:
        pod = _POD.validate_json(line)
    except ValidationError as error:
        raise ValueError(f"not a record of a pod: {error.error_count()} mistakes") from None
    if any(sandbox.pod.uid != pod.uid for sandbox in pod.sandboxes):
        raise ValueError("a record of several pods")
    return pod
