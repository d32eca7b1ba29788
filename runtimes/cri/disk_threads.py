"""Threads for work that may block: files of pods, cgroups, plugins and files of images."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from typing_extensions import override

from runtimes.cri.operations.flow import Disk, DiskFailure, DiskJob, Lane, result_of

THREADS: Final = {
    Lane.FILES: 64,
    Lane.CGROUPS: 1,
    Lane.REMOVALS: 1,
    Lane.WORDS: 4,
    Lane.LOGS: 4,
    Lane.IMAGES: 16,
}
"""At the most, and begun as they are needed. A file system that hangs takes one thread for each container
that uses it, however often that is tried again: so there are more than pods that use one, and not any
number."""
IN_PROGRESS: Final = "the disk has not answered an earlier attempt yet"


class DiskThreads(Disk):
    """Does jobs, a few at a time. It belongs to the process, not to a life of an actor.

    Its threads keep no process alive: work that hangs for good would keep it from ending.
    """

    def __init__(self) -> None:
        self._lanes = {lane: _Workers(f"cri-{lane}", most) for lane, most in THREADS.items()}
        self._keys: set[str] = set()
        """Of the jobs in progress that have one."""

    @override
    def start(self, job: DiskJob[object], done: Callable[[object], None]) -> None:
        if job.key in self._keys:
            done(DiskFailure(IN_PROGRESS))
            return
        if job.key:
            self._keys.add(job.key)

        def ended(outcome: object) -> None:
            self._keys.discard(job.key)
            done(outcome)

        self._lanes[job.lane].start(job.work, ended)

    def close(self) -> None:
        """Begin nothing more. What is being done is not waited for."""
        for lane in self._lanes.values():
            lane.close()


class _Workers:
    """Threads that take jobs in their order."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._begun = 0
        self._idle = threading.Semaphore(0)
        """Counts the threads that wait for a job."""
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_closed = threading.Event()

    def start(self, work: Callable[[], object], done: Callable[[object], None]) -> None:
        def job() -> None:
            is_over = self._is_closed.is_set()
            done(DiskFailure("the agent stops") if is_over else result_of(work))

        self._jobs.put(job)
        if not self._idle.acquire(blocking=False) and self._begun < self._most:
            self._begun += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()
        for _ in range(self._begun):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            self._idle.release()
