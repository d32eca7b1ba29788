"""The operations of a runtime that are in progress, and what their failures mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import structlog

from kernel import Failure, GivenUpError, Operation, Operations
from messages.container_runtime import AskContainer, CallRuntime, RuntimeFailure, RuntimeFailureKind
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.followers import uncertain
from runtimes.cri.messages import Purpose, RunningOperation
from runtimes.cri.operations.flow import DiskError, RpcError, failure_of, failure_of_disk

_log = structlog.get_logger("runtime")


class RunningOperations:
    """What is in progress, and for what."""

    def __init__(self, engine: Operations[RunningOperation]) -> None:
        self._engine = engine

    def recover(self) -> Iterator[RunningOperation]:
        """Go on after a crash. Yield the operations over which it happened: they are lost."""
        return iter(self._engine.recover())

    def begin(self, running: RunningOperation, flow: Operation[Any], within: Seconds) -> None:
        """Begin an operation. It may have ended when this returns."""
        self._engine.begin(running, flow, within)

    def drop_own(self) -> None:
        """Drop our own operations. Outcomes that still come are ignored."""
        for each in tuple(self._engine.purposes()):
            if not isinstance(each.purpose, CallRuntime | AskContainer):
                self._engine.drop(each)

    def own(self) -> Iterator[Purpose]:
        """Yield the purposes of our own operations in progress."""
        return (
            each for each in self.purposes() if not isinstance(each, CallRuntime | AskContainer)
        )

    def is_changing(self, uid: PodUid) -> bool:
        """Return whether an operation is in progress that changes something of the pod."""
        return any(each.uid == uid for each in self._engine.purposes())

    def purposes(self) -> Iterator[Purpose]:
        """Yield what the operations in progress are for."""
        return (each.purpose for each in self._engine.purposes())


def as_runtime_failure(failed: Failure, purpose: Purpose) -> RuntimeFailure:
    """Return what the failure of an operation means for who asked. A bug is logged.

    The text of a bug's exception may be confidential: its type and place are not.
    """
    match failed.error:
        case RpcError(failure=failure):
            return failure_of(failure)
        case DiskError() as error:
            return failure_of_disk(str(error))
        case ConfigRefusedError(failure=failure):
            return failure
        case GivenUpError():
            return uncertain("it took too long")
        case bug:
            kind, where = type(bug).__name__, failed.where
            _log.error(
                "an operation failed", operation=type(purpose).__name__, error=kind, where=where
            )
            return RuntimeFailure(
                kind=RuntimeFailureKind.REFUSED,
                message=f"the agent failed over it: {kind} at {where}",
            )
