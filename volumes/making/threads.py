"""Threads that make and write volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
from typing_extensions import override

from kernel.work_threads import WorkThreads
from volumes.making.jobs import VolumeJob, VolumeJobFailure, VolumeLane, VolumeWriters

THREADS: Final = {
    VolumeLane.MEMORY: 1,
    VolumeLane.DISK: 2,
    VolumeLane.NODE: 16,
    VolumeLane.REMOVALS: 2,
}
"""At the most, and begun as they are needed. On file systems in memory two threads gained nothing and four
lost; on a disk two gained a quarter (measured)."""
MOST_GIVEN_UP: Final = 32
"""Threads of one lane that hang and were replaced. With more of them the machine has other troubles."""

_log = structlog.get_logger("volumes")


class VolumeThreads(VolumeWriters):
    """Does jobs, a few of each lane at a time. It belongs to the process, not to a life of an actor.

    Only the actor starts jobs.
    """

    def __init__(self) -> None:
        self._lanes = {lane: WorkThreads(f"volumes-{lane}", most) for lane, most in THREADS.items()}
        self._given_up: Counter[VolumeLane] = Counter()

    @override
    def start(self, job: VolumeJob, ended: Callable[[], None]) -> None:
        self._lanes[job.lane].start(partial(do, job), lambda _: ended())

    @override
    def give_up(self, job: VolumeJob) -> None:
        if self._given_up[job.lane] < MOST_GIVEN_UP:
            self._given_up[job.lane] += 1
            self._lanes[job.lane].add_one()


def do(job: VolumeJob) -> None:
    """Do ``job`` on this thread."""
    job.is_running = True
    try:
        job.outcome = job.work()
    except OSError as error:
        job.outcome = VolumeJobFailure(str(error) or type(error).__name__)
    except Exception as error:  # noqa: BLE001  # a bug: whoever waits must hear of it all the same
        # Its text may show a value that is nobody's business.
        _log.error("a job about a volume failed", error=type(error).__name__)
        job.outcome = VolumeJobFailure(f"the agent has a bug: {type(error).__name__}")
