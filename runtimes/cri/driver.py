"""Drives operations: has each step carried out where it may block, and goes on when its outcome has come."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from kernel import Port
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.container_runtime import AskContainer, CallRuntime, RuntimeFailure, RuntimeFailureKind
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.operations.flow import Delay, Disk, DiskError, DiskJob, Operation, RpcError, Step
from runtimes.cri.operations.outcomes import failure_of, failure_of_disk
from runtimes.cri.purposes import Purpose
from runtimes.cri.wire.transport import Wire

_log = structlog.get_logger("runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """Tells the outcome of a call, a job or a delay of an operation."""

    ref: int
    step: int
    """Counts the steps of the operation."""
    place: int = 0
    """Which of the calls that were made together."""
    outcome: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEnded:
    """An operation has ended."""

    purpose: Purpose
    uid: PodUid | None
    """The pod that it has changed something of."""
    result: object = field(repr=False)
    """What it returned, or a ``RuntimeFailure``."""
    began: Seconds
    error: RpcError | None = None
    """What ended it, if that was a call without a reply."""


@dataclass(slots=True, eq=False)
class RunningOperation:
    """An operation that has not ended."""

    ref: int
    purpose: Purpose
    uid: PodUid | None
    """The pod that it changes something of; None if it changes nothing."""
    flow: Operation[Any] = field(repr=False)
    began: Seconds
    step: Step | None = None
    steps: int = 0
    outcomes: list[object] = field(default_factory=list, repr=False)
    missing: int = 0
    """So many outcomes of this step have not come."""


@dataclass(slots=True)
class DriverMemory:
    """What outlives a life of the actor: operations go on with the outcomes that come to its address."""

    running: dict[int, RunningOperation] = field(default_factory=dict)
    last_ref: int = 0
    in_hand: int | None = None
    """The operation that is being driven. A life that finds one here follows on a crash in it."""


class Driver:
    """Drives the operations of one runtime. Outcomes come as ``StepEnded`` to the actor's address."""

    def __init__(
        self,
        memory: DriverMemory,
        wire: Wire,
        disk: Disk,
        me: Port[StepEnded],
        later: Callable[[Seconds, StepEnded], object],
    ) -> None:
        self._memory = memory
        self._wire = wire
        self._disk = disk
        self._me = me
        self._later = later

    def resume(self) -> Purpose | None:
        """Go on after a crash. Return what the operation was for that it happened in: that one is lost."""
        memory = self._memory
        ref, memory.in_hand = memory.in_hand, None
        failed = memory.running.pop(ref, None) if ref is not None else None
        for running in memory.running.values():
            if isinstance(running.step, Delay):
                self._wait(running, running.step)  # the timer has ended with the life before
        return failed.purpose if failed is not None else None

    def begin(
        self, purpose: Purpose, flow: Operation[Any], now: Seconds, uid: PodUid | None = None
    ) -> OperationEnded | None:
        """Begin an operation. Return its end if it came at once."""
        self._memory.last_ref += 1
        running = RunningOperation(self._memory.last_ref, purpose, uid, flow, now)
        self._memory.running[running.ref] = running
        return self._go_on(running, None)

    def take(self, ended: StepEnded) -> OperationEnded | None:
        """Take the outcome of a step. Return the operation's end if that has come."""
        running = self._memory.running.get(ended.ref)
        if running is None or running.steps != ended.step:
            return None
        running.outcomes[ended.place] = ended.outcome
        running.missing -= 1
        if running.missing:
            return None
        is_calls = isinstance(running.step, tuple)
        return self._go_on(running, running.outcomes if is_calls else running.outcomes[0])

    def give_up(self, purpose: Purpose) -> bool:
        """Drop an operation. What it has sent may have its effect. Return whether it was in progress."""
        for ref, running in self._memory.running.items():
            if running.purpose is purpose:
                del self._memory.running[ref]
                running.flow.close()
                return True
        return False

    def drop_own(self) -> None:
        """Drop all that nobody else asked for. Outcomes that still come are ignored."""
        for purpose in tuple(self.own()):
            self.give_up(purpose)

    def own(self) -> Iterator[Purpose]:
        """Yield what the operations in progress are for that nobody else asked for."""
        return (
            each for each in self.purposes() if not isinstance(each, CallRuntime | AskContainer)
        )

    def is_changing(self, uid: PodUid) -> bool:
        """Return whether an operation is in progress that changes something of the pod."""
        return any(running.uid == uid for running in self._memory.running.values())

    def begun(self) -> tuple[RunningOperation, ...]:
        """Return what is in progress."""
        return tuple(self._memory.running.values())

    def purposes(self) -> Iterator[Purpose]:
        """Yield what the operations in progress are for."""
        return (running.purpose for running in self._memory.running.values())

    # --- inside ----------------------------------------------------------------------------------------

    def _go_on(self, running: RunningOperation, value: object) -> OperationEnded | None:
        """Have the operation decide its next step. A crash leaves it in hand."""
        self._memory.in_hand = running.ref
        purpose, error = running.purpose, None
        try:
            step = running.flow.send(value)
        except StopIteration as end:
            result = end.value
        except RpcError as raised:
            error, result = raised, failure_of(raised.failure)
        except DiskError as raised:
            result = failure_of_disk(str(raised))
        except ConfigRefusedError as refusal:
            result = refusal.failure
        except Exception as bug:  # noqa: BLE001  # one pod's operation; the others go on
            result = _failed_over(purpose, bug)
        else:
            self._start(running, step)
            self._memory.in_hand = None
            return None
        del self._memory.running[running.ref]
        self._memory.in_hand = None
        return OperationEnded(
            purpose=purpose, uid=running.uid, result=result, began=running.began, error=error
        )

    def _start(self, running: RunningOperation, step: Step) -> None:
        running.step = step
        running.steps += 1
        running.missing = len(step) if isinstance(step, tuple) else 1
        running.outcomes = [None] * running.missing
        match step:
            case Delay():
                self._wait(running, step)
            case DiskJob():
                self._disk.start(step, partial(self._tell, running.ref, running.steps, 0))
            case _:
                for place, rpc in enumerate(step):
                    self._wire.call(rpc, partial(self._tell, running.ref, running.steps, place))

    def _wait(self, running: RunningOperation, step: Delay) -> None:
        self._later(step.duration, StepEnded(ref=running.ref, step=running.steps))

    def _tell(self, ref: int, step: int, place: int, outcome: object) -> None:
        self._me.tell(StepEnded(ref=ref, step=step, place=place, outcome=outcome))


def _failed_over(purpose: Purpose, bug: Exception) -> RuntimeFailure:
    """Return what becomes of an operation with a bug. The exception's text may be confidential."""
    frames = traceback.extract_tb(bug.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    kind = type(bug).__name__
    _log.error("an operation failed", operation=type(purpose).__name__, error=kind, where=where)
    return RuntimeFailure(
        kind=RuntimeFailureKind.REFUSED, message=f"the agent failed over it: {kind} at {where}"
    )
