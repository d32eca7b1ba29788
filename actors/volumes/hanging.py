"""Finding the jobs about volumes that hang. A part of the keeper of volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.volumes.keeper_parts import HangingDue, JobOf, VolumeKeeperMemory
from actors.volumes.making.jobs import VolumeJob
from kernel import Timer
from messages.units import Seconds

LOOKS_FOR_HANGING: Final = Seconds(5.0)
"""Between two looks, while any job is under way."""
HANGS_AFTER: Final = Seconds(30.0)
"""How long anybody waits for a job that is being done."""


class HangingJobs:
    """Looks for them, for one life of the keeper. While no job is under way, there is no timer."""

    def __init__(
        self,
        memory: VolumeKeeperMemory,
        after: Callable[[Seconds, HangingDue], Timer],
    ) -> None:
        self._memory = memory
        self._after = after
        self._timer: Timer | None = None

    def watch(self) -> None:
        """Have a timer, if any job is under way."""
        if self._timer is None and self._memory.jobs:
            self._timer = self._after(LOOKS_FOR_HANGING, HangingDue())

    def give_up(self, now: Seconds) -> list[JobOf]:
        """Let others take the place of jobs that hang. Return whose these are. The timer told so."""
        self._timer = None
        found = [(job, whose) for job, whose in self._memory.jobs.items() if _hangs(job, now)]
        for job, _ in found:
            job.is_hanging = True
            if job.in_flight is not None:
                job.in_flight.abandon()
        return [whose for _, whose in found]


def _hangs(job: VolumeJob, now: Seconds) -> bool:
    """Return whether ``job`` has begun to hang. Notes when it was seen first that a thread is at it."""
    in_flight = job.in_flight
    if in_flight is None or not in_flight.has_begun or job.is_hanging or job.outcome is not None:
        return False
    if job.seen_at is None:
        job.seen_at = now
    return now - job.seen_at >= HANGS_AFTER
