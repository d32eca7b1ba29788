"""The life of one pod on this node, as data (rules X1 to X9 and X26). Pure.

A life is in one stage, and only goes forward (rule X1). What ends a pod is latched: a later version of the
pod takes nothing of it back (rule X2).

| stage | what the runtime is told | leaves for the next stage when |
|---|---|---|
| sync | ``RunPod`` | the pod is being deleted, was removed, is killed, or has ended by itself |
| terminating | ``StopPod`` with the grace | the runtime has stopped it |
| terminated | nothing; ``ForgetPod``, once volumes are gone, if it leaves | the runtime has nothing left |
| finished | nothing, ever (rule X4) | never: the next pod of this UID has a life of its own (rule X3) |

A pod whose phase is terminal when it is seen first begins in terminating (rule X5). The runtime answers at
once if nothing of it runs, and otherwise stops it. So does a pod that only the runtime knows (rule X26).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from messages.pod_lives import PodLife
from messages.pods import JsonObject, Pod, PodPhase
from messages.statuses import PodFailure
from messages.units import Seconds

LEAST_GRACE: Final = Seconds(1.0)
"""What a pod that only the runtime knows gets if nothing is written at it, and every pod gets at least."""
DEFAULT_GRACE: Final = Seconds(30.0)
"""For a pod that says nothing, as the API server would have set it."""
OVERDUE: Final = PodFailure(
    reason="DeadlineExceeded",
    message="Pod was active on the node longer than the specified deadline",
)
"""The failure of a pod that was active for longer than ``activeDeadlineSeconds``."""


class LifeEvent(StrEnum):
    """What moves a life forward."""

    END = "end"
    """It shall run no more, whatever the reason."""
    STOPPED = "stopped"
    """The runtime has stopped it: nothing of it runs."""
    FORGOTTEN = "forgotten"
    """The runtime has nothing left of it."""


_NEXT: Final = {
    (PodLife.SYNC, LifeEvent.END): PodLife.TERMINATING,
    (PodLife.TERMINATING, LifeEvent.STOPPED): PodLife.TERMINATED,
    (PodLife.TERMINATED, LifeEvent.FORGOTTEN): PodLife.FINISHED,
}
"""All transitions. Every other event changes nothing."""


@dataclass(frozen=True, slots=True)
class RunStep:
    """Have it run."""


@dataclass(frozen=True, slots=True)
class StopStep:
    """Have it stopped."""

    grace: Seconds


@dataclass(frozen=True, slots=True)
class KeepStep:
    """Nothing: it is stopped, and what is left of it stays for people to look at."""


@dataclass(frozen=True, slots=True)
class ForgetStep:
    """Have everything removed that is left of it."""


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """Nothing, ever."""


LifeStep: TypeAlias = RunStep | StopStep | KeepStep | ForgetStep | FinishedStep

RUN: Final = RunStep()
KEEP: Final = KeepStep()
FORGET: Final = ForgetStep()
FINISHED: Final = FinishedStep()


@dataclass(slots=True)
class Life:
    """Where a pod is in its life, and what is latched."""

    stage: PodLife = PodLife.SYNC
    is_leaving: bool = False
    """It is being deleted, or was removed: nothing of it stays."""
    grace: Seconds | None = None
    """The shortest that anybody asked for; None if nobody asked for any (rule X8)."""
    failure: PodFailure | None = None
    """Why the node ended it. The last one counts (rule X9)."""
    ended_as: PodPhase | None = None
    """How it has ended by itself; None if it has not."""

    @property
    def is_stopped(self) -> bool:
        """Whether nothing of it runs, and nothing of it will."""
        return self.stage.is_stopped

    def note(self, event: LifeEvent) -> None:
        """Go to the next stage, if ``event`` leads to one."""
        self.stage = _NEXT.get((self.stage, event), self.stage)

    def end(self, failure: PodFailure | None = None, grace: Seconds | None = None) -> None:
        """Note that the pod shall run no more. May repeat, with a shorter ``grace``."""
        if self.is_stopped:
            return
        self.grace = shorter(self.grace, grace)
        self.failure = failure or self.failure
        self.note(LifeEvent.END)

    def end_by_itself(self, phase: PodPhase, failure: PodFailure | None = None) -> None:
        """Note that the pod has ended by itself, in a terminal ``phase``, or by its own deadline."""
        if self.stage is PodLife.SYNC:
            self.ended_as = phase
            self.end(failure)

    def leave(self) -> None:
        """Note that the pod is being deleted, or was removed."""
        self.is_leaving = True
        self.note(LifeEvent.END)

    def note_pod(self, pod: Pod) -> None:
        """Note the newest version of the pod: whether it is being deleted, or has ended."""
        if pod.is_deleting:
            self.end(grace=deletion_grace(pod.document))
            self.leave()
        if pod.is_terminal:
            self.end()

    def next_step(self, pod: Pod, *, has_volumes: bool = False) -> LifeStep:
        """Return what is to be done with ``pod`` in this stage. ``has_volumes``: some may be left."""
        match self.stage:
            case PodLife.SYNC:
                return RUN
            case PodLife.TERMINATING:
                return StopStep(effective_grace(self.grace, pod.document))
            case PodLife.TERMINATED:
                return FORGET if self.is_leaving and not has_volumes else KEEP
            case _:
                return FINISHED


def shorter(grace: Seconds | None, asked: Seconds | None) -> Seconds | None:
    """Return the grace after somebody ``asked`` for one. It never grows; a first zero asks for nothing."""
    if asked is None or (grace is None and asked <= 0):
        return grace
    return asked if grace is None else min(grace, asked)


def effective_grace(grace: Seconds | None, document: JsonObject) -> Seconds:
    """Return how long containers get to stop, if ``grace`` is the shortest that anybody asked for."""
    if grace is None:
        grace = _seconds(document.get("spec"), "terminationGracePeriodSeconds")
    return max(DEFAULT_GRACE if grace is None else grace, LEAST_GRACE)


def deletion_grace(document: JsonObject) -> Seconds | None:
    """Return the grace of who deletes the pod; None if it names none."""
    return _seconds(document.get("metadata"), "deletionGracePeriodSeconds")


def active_deadline(document: JsonObject) -> Seconds | None:
    """Return how long the pod may be active, from its start time on; None for any time."""
    return _seconds(document.get("spec"), "activeDeadlineSeconds")


def _seconds(part: JsonObject | None, field: str) -> Seconds | None:
    value = (part or {}).get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Seconds(float(value))
