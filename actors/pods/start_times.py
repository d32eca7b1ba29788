"""How long pods take from when the node first sees them until they run. Knows no actors."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime

from messages.pods import CONFIG_SEEN, TERMINAL_PHASES, Pod, PodPhase
from messages.statuses import START_BOUNDS, PodStatus, StartTimes
from messages.units import Timestamp


class StartTimesMemory:
    """The times since the process began."""

    def __init__(self) -> None:
        self._buckets = [0] * (len(START_BOUNDS) + 1)
        self._seconds = 0.0

    def note(self, pod: Pod, before: PodStatus | None, status: PodStatus, now: Timestamp) -> None:
        """Count ``pod`` if ``status`` is the first by which it runs. One that ran before is not counted."""
        if before is None or not is_first_run(before, status):
            return
        seen = _seen(pod)
        if seen is not None:
            took = max(0.0, now - seen)
            self._buckets[bisect_left(START_BOUNDS, took)] += 1
            self._seconds += took

    def described(self) -> StartTimes:
        """Return what was counted."""
        return StartTimes(buckets=tuple(self._buckets), seconds=self._seconds)


def is_first_run(before: PodStatus, status: PodStatus) -> bool:
    """Return whether a pod that was pending has begun to run by now, or has ended as one that ran."""
    return (
        before.phase is PodPhase.PENDING
        and status.phase in {PodPhase.RUNNING, *TERMINAL_PHASES}
        and status.observed is not None
    )


def _seen(pod: Pod) -> Timestamp | None:
    try:
        return Timestamp(datetime.fromisoformat(pod.annotations.get(CONFIG_SEEN, "")).timestamp())
    except ValueError:
        return None
