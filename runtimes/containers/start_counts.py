"""How many containers and sandboxes were started, and what kept others from it, as a kubelet counts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from messages.container_runtime import (
    CreateContainer,
    FindImage,
    ImageFound,
    PullImage,
    RunSandbox,
    RuntimeFailure,
    RuntimeOutcome,
    StartContainer,
)
from messages.pod_runtime import ContainerObserved
from runtimes.containers.notes import ContainerNotes
from runtimes.containers.shape import ContainerPart, PodShape
from runtimes.containers.situation import Step

_TYPES: Final[Mapping[ContainerPart, str]] = {
    ContainerPart.INIT: "init_container",
    ContainerPart.SIDECAR: "init_container",
    ContainerPart.REGULAR: "container",
    ContainerPart.EPHEMERAL: "ephemeral_container",
}
_ON_THE_WAY = FindImage | PullImage | CreateContainer | StartContainer


@dataclass(slots=True)
class StartCounts:
    """Counts since the process began."""

    containers: Counter[str] = field(default_factory=Counter)
    """Attempts to start a container, those that failed included, by its type."""
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Of these, those that failed, by type and reason."""
    sandbox_errors: int = 0

    def note(
        self,
        step: Step,
        outcome: RuntimeOutcome,
        shape: PodShape | None,
        notes: Mapping[str, ContainerNotes] | None,
    ) -> None:
        """Count what the answer to ``step`` says. ``notes`` have learned from it already."""
        is_failure = isinstance(outcome, RuntimeFailure)
        if not (is_failure or isinstance(outcome, ImageFound | ContainerObserved)):
            return
        if isinstance(step.request, RunSandbox):
            self.sandbox_errors += is_failure
            return
        container = shape.get(step.target) if shape is not None else None
        if container is None or not isinstance(step.request, _ON_THE_WAY):
            return
        kind = _TYPES[container.part]
        if isinstance(step.request, StartContainer) and isinstance(outcome, ContainerObserved):
            self.containers[kind] += 1
            return
        error = notes[step.target].error if notes is not None and step.target in notes else None
        if error is not None and (is_failure or isinstance(outcome, ImageFound)):
            self.containers[kind] += 1
            self.errors[kind, error.reason] += 1
