"""How long it takes until what is wished of a pod is carried out, by kind of operation. Pure.

Nobody looks after all pods from time to time here, so of a kubelet's operations there is no ``sync``.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from typing import Final, NamedTuple

from messages.pod_lives import OPERATION_BOUNDS, OperationTimes, PodLife
from messages.pods import PodUid
from messages.units import Seconds

_STOPPED: Final = frozenset({PodLife.TERMINATED, PodLife.FINISHED})


class Operation(StrEnum):
    """What is wished, in a kubelet's words."""

    CREATE = "create"
    """It is to run, and had no worker: done when its worker is up."""
    UPDATE = "update"
    """Another version of it: done when its worker has taken it."""
    KILL = "kill"
    """It is to end: done when nothing of it runs."""


class _Begun(NamedTuple):
    operation: Operation
    wish: int
    at: Seconds


class WorkTimes:
    """The operations that are under way, and the times of all others since the process began."""

    def __init__(self) -> None:
        self._begun: dict[PodUid, _Begun] = {}
        self._buckets = {each: [0] * (len(OPERATION_BOUNDS) + 1) for each in Operation}
        self._seconds = dict.fromkeys(Operation, 0.0)

    def note_wish(self, uid: PodUid, operation: Operation, wish: int, now: Seconds) -> None:
        """Note that a wish was told. While an operation is under way, only an end begins another one."""
        before = self._begun.get(uid)
        is_end = operation is Operation.KILL
        if before is None or (is_end and before.operation is not Operation.KILL):
            self._begun[uid] = _Begun(operation, wish, now)

    def note_life(self, uid: PodUid, wish: int, life: PodLife, now: Seconds) -> None:
        """Note what a worker told of its pod: the ``wish`` that it took last, and where the pod is."""
        begun = self._begun.get(uid)
        if begun is None or wish < begun.wish:
            return
        if begun.operation is Operation.KILL and life not in _STOPPED:
            return
        del self._begun[uid]
        took = max(0.0, now - begun.at)
        self._buckets[begun.operation][bisect_left(OPERATION_BOUNDS, took)] += 1
        self._seconds[begun.operation] += took

    def forget(self, uid: PodUid) -> None:
        """Forget a pod that is no more."""
        self._begun.pop(uid, None)

    def described(self) -> dict[str, OperationTimes]:
        """Return the times by kind of operation."""
        return {
            each.value: OperationTimes(
                buckets=tuple(self._buckets[each]), seconds=self._seconds[each]
            )
            for each in Operation
        }
