"""How one container behaves, or one pod as a whole, as annotations, commands and rules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from manifests.durations import Span
from runtimes.hollow.rules import NO_TIME


class Ending(NamedTuple):
    """How a container ends."""

    exit_code: int
    reason: str


COMPLETED: Final = Ending(0, "Completed")
KILLED: Final = Ending(137, "Error")
"""By SIGKILL."""
OUT_OF_MEMORY: Final = Ending(137, "OOMKilled")
NOT_STARTED: Final = Ending(128, "StartError")
"""Its command could not be executed."""


def ending_of(exit_code: int) -> Ending:
    """Return the ending of a process that ends with ``exit_code``."""
    return Ending(exit_code, "Error") if exit_code else COMPLETED


class Said(NamedTuple):
    """Something that a container writes to its log, so long after its start."""

    after: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerBehaviour:
    """What one container does. Equal ones are one object, so thousands of containers share it."""

    to_create: Span = NO_TIME
    to_start: Span = NO_TIME
    to_stop: Span = NO_TIME
    run_for: Span | None = None
    """How long it runs; None for ever."""
    exits: tuple[Ending | None, ...] = (COMPLETED,)
    """How each attempt ends, the first one first; the last is that of all later ones. None for an attempt
    that does not end by itself."""
    ready_after: Span = NO_TIME
    started_after: Span = NO_TIME
    """When its startup probe begins to succeed."""
    unready_after: Span | None = None
    """When its readiness probe begins to fail; None for never."""
    unready_for: Span | None = None
    """How long it fails then, before both begin anew; None for good."""
    hangs_after: Span | None = None
    """When none of its probes gets an answer any more; None for never."""
    message: str = ""
    """The termination message."""
    ignores_sigterm: bool = False
    stop_ending: Ending = COMPLETED
    """How it ends after SIGTERM."""
    create_error: str = ""
    """Why it cannot be created; empty if it can."""
    ends_by_signal: str = ""
    """A signal that it does not handle, such as ``SIGHUP``; empty if none ends it but those of a stop."""
    resize_error: str = ""
    exec_exit_code: int = 0
    for_post_start: Span | None = None
    """How long its hook takes; None for what the hook itself says."""
    post_start_error: str = ""
    """Why that hook fails; empty if it does not."""
    for_pre_stop: Span | None = None
    pre_stop_error: str = ""
    says: tuple[Said, ...] = ()

    def ending(self, attempt: int) -> Ending | None:
        """Return how this attempt ends; None if it runs until it is stopped."""
        return self.exits[min(attempt, len(self.exits) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBehaviour:
    """What happens when an image is pulled for a pod."""

    to_pull: Span = NO_TIME
    error: str = ""
    """Why it cannot be pulled; empty if it can."""
    failures: int | None = None
    """How many attempts fail with that error; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxBehaviour:
    """What happens to the sandboxes of a pod."""

    to_create: Span = NO_TIME
    error: str = ""
    """Why none can be made; empty if one can."""
    dies_after: Span | None = None
    """When the pod's first sandbox dies by itself; None for never."""
