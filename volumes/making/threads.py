"""Threads that make and write volumes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

import structlog
from typing_extensions import override

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
    """Does jobs, a few at a time. It belongs to the process, not to a life of an actor.

    Its threads keep no process alive: work that hangs for good would keep it from ending.
    """

    def __init__(self) -> None:
        self._lanes = {lane: _Lane(f"volumes-{lane}", most) for lane, most in THREADS.items()}

    @override
    def start(self, job: VolumeJob, ended: Callable[[], None]) -> None:
        self._lanes[job.lane].start(job, ended)

    @override
    def give_up(self, job: VolumeJob) -> None:
        self._lanes[job.lane].add_one()


class _Lane:
    """Threads that take jobs in their order. Only the actor starts jobs."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._given_up = 0
        self._begun = 0
        self._idle = threading.Semaphore(0)
        """Counts the threads that wait for a job."""
        self._jobs: SimpleQueue[tuple[VolumeJob, Callable[[], None]]] = SimpleQueue()

    def start(self, job: VolumeJob, ended: Callable[[], None]) -> None:
        self._jobs.put((job, ended))
        if not self._idle.acquire(blocking=False):
            self._begin()

    def add_one(self) -> None:
        """Have one thread more: another one hangs."""
        if self._given_up < MOST_GIVEN_UP:
            self._given_up += 1
            self._begin()

    def _begin(self) -> None:
        if self._begun < self._most + self._given_up:
            self._begun += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while True:
            job, ended = self._jobs.get()
            do(job)
            ended()
            self._idle.release()


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
