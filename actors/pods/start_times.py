"""How long pods take from when the node first sees them until they run. Knows no actors."""

from __future__ import annotations

from bisect import bisect_left

from manifests.times import moment_of
from messages.pods import CONFIG_SEEN, TERMINAL_PHASES, Pod, PodPhase
from messages.statuses import START_BOUNDS, PodStatus, StartTimes
from messages.units import Timestamp


class StartTimesMemory:
    """The times since the process began."""

    def __init__(self) -> None:
        self._buckets = [0] * (len(START_BOUNDS) + 1)
        self._seconds = 0.0

    def note(self, pod: Pod, before: PodStatus | None, status: PodStatus, now: Timestamp) -> None:
        """Count ``pod`` if ``status`` is the first by which it runs, and it did not run before that."""
        seen = moment_of(pod.annotations.get(CONFIG_SEEN))
        if seen is not None and is_first_run(before, status) and not _ran_before(status, seen):
            took = max(0.0, now - seen)
            self._buckets[bisect_left(START_BOUNDS, took)] += 1
            self._seconds += took

    def described(self) -> StartTimes:
        """Return what was counted."""
        return StartTimes(buckets=tuple(self._buckets), seconds=self._seconds)


def is_first_run(before: PodStatus | None, status: PodStatus) -> bool:
    """Return whether a pod has begun to run by now, or has ended as one that ran.

    ``before`` is its last status: None if this one is the first, as of a pod that starts at once.
    """
    return (
        (before is None or before.phase is PodPhase.PENDING)
        and status.phase in {PodPhase.RUNNING, *TERMINAL_PHASES}
        and status.observed is not None
    )


def _ran_before(status: PodStatus, seen: Timestamp) -> bool:
    """Return whether a container started before the pod was ``seen``: an earlier life of the agent ran it."""
    histories = status.observed.containers.values() if status.observed is not None else ()
    instances = (each for history in histories for each in (history.current, history.last))
    starts = (each.started_at for each in instances if each is not None)
    return any(started is not None and started < seen for started in starts)
