"""What runtimes say of containers that they cannot start, without values of Secrets. Pure.

A runtime repeats the command that it cannot run. Variables are replaced in it by then, those with values of
Secrets too. That is shown to nobody: statuses, events and the log are read by people who may not read
Secrets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from messages.container_runtime import RuntimeFailure, RuntimeOutcome
from messages.pod_runtime import ContainerObserved, ContainerState
from runtimes.containers.shape import ContainerShape, PodShape

WITHHELD: Final = (
    "the runtime could not start it; what it says of that is not shown, since command or arguments may have "
    "values of Secrets"
)

_NEVER_RAN: Final = frozenset({"ContainerCannotRun", "StartError"})
"""Reasons of containers whose program never began."""


def never_ran(container: ContainerObserved) -> bool:
    """Return whether the runtime could not start this container: what it has is no end of its program."""
    return container.state is ContainerState.EXITED and container.reason in _NEVER_RAN


def in_public(
    container: ContainerObserved | None, shape: PodShape | None
) -> ContainerObserved | None:
    """Return ``container`` as it may be shown to everybody."""
    if container is None or shape is None or not never_ran(container):
        return container
    known = shape.get(container.name)
    has_secrets = known is not None and known.has_secret_words
    return replace(container, message=WITHHELD) if has_secrets else container


def start_in_public(outcome: RuntimeOutcome, shape: ContainerShape | None) -> RuntimeOutcome:
    """Return what came of a start, as it may be shown to everybody."""
    if shape is None or not shape.has_secret_words:
        return outcome
    match outcome:
        case RuntimeFailure():
            return replace(outcome, message=WITHHELD)
        case ContainerObserved() if never_ran(outcome):
            return replace(outcome, message=WITHHELD)
        case _:
            return outcome
