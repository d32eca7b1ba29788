"""Threads for work that may block: files of pods, cgroups, plugins and files of images."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Final, NamedTuple, TypeAlias

from typing_extensions import override

from kernel.work_threads import WorkThreads
from runtimes.cri.operations.flow import Disk, DiskFailure, DiskJob, DiskLane, result_of

THREADS: Final = {
    DiskLane.FILES: 64,
    DiskLane.CGROUPS: 1,
    DiskLane.CGROUP_REMOVALS: 4,
    DiskLane.REMOVALS: 1,
    DiskLane.WORDS: 4,
    DiskLane.LOGS: 4,
    DiskLane.IMAGES: 16,
}
"""At the most, and begun as they are needed. A file system that hangs takes one thread for each container
that uses it, however often that is tried again: so there are more than pods that use one, and not any
number."""
IN_PROGRESS: Final = "the disk has not answered an earlier attempt yet"
STOPS: Final = "the agent stops"


class _Begun(NamedTuple):
    """Somebody wants this job done."""

    job: DiskJob[object]
    done: Callable[[object], None]


class _Ended(NamedTuple):
    """A thread has done a job, and can take another one."""

    job: DiskJob[object]


class _Over(NamedTuple):
    """Nothing more is to be begun."""


_Told: TypeAlias = _Begun | _Ended | _Over


class DiskThreads(Disk):
    """Does jobs, a few at a time. It belongs to the process, not to a life of an actor.

    One thread hands the jobs out, and it alone knows what is in progress and whose turn it is. Everybody else
    only tells it, so nothing is shared. Its threads keep no process alive: work that hangs for good would
    keep it from ending.
    """

    def __init__(self) -> None:
        self._told: SimpleQueue[_Told] = SimpleQueue()
        self._is_closed = threading.Event()
        hands_out = _HandsOut(self._told, self._is_closed)
        threading.Thread(target=hands_out.run, name="cri-disk", daemon=True).start()

    @override
    def start(self, job: DiskJob[object], done: Callable[[object], None]) -> None:
        if self._is_closed.is_set():
            done(DiskFailure(STOPS))
        else:
            self._told.put(_Begun(job, done))

    def close(self) -> None:
        """Begin nothing more. What is being done is not waited for."""
        self._is_closed.set()
        self._told.put(_Over())


class _HandsOut:
    """Hands jobs out to the threads of their lanes, each in its turn. What it knows is one thread's."""

    def __init__(self, told: SimpleQueue[_Told], is_closed: threading.Event) -> None:
        self._told = told
        self._is_closed = is_closed
        self._lanes = {lane: WorkThreads(f"cri-{lane}", most) for lane, most in THREADS.items()}
        self._keys: set[str] = set()
        """Of the jobs in progress that have one."""
        self._turns: dict[str, deque[_Begun]] = {}
        """The turns of jobs in progress, with who waits for theirs."""

    def run(self) -> None:
        """Take what is told, until that is the end."""
        while True:
            match self._told.get():
                case _Begun() as begun:
                    self._begin(begun)
                case _Ended(job=job):
                    self._end(job)
                case _Over():
                    break
        for lane in self._lanes.values():
            lane.close()
        for begun in (each for line in self._turns.values() for each in line):
            begun.done(DiskFailure(STOPS))

    def _begin(self, begun: _Begun) -> None:
        job = begun.job
        if job.key in self._keys:
            begun.done(DiskFailure(IN_PROGRESS))
            return
        if job.key:
            self._keys.add(job.key)
        if job.turn in self._turns:
            self._turns[job.turn].append(begun)
            return
        if job.turn:
            self._turns[job.turn] = deque()
        self._hand_out(begun)

    def _end(self, job: DiskJob[object]) -> None:
        self._keys.discard(job.key)
        line = self._turns.get(job.turn)
        if line:
            self._hand_out(line.popleft())
        else:
            self._turns.pop(job.turn, None)

    def _hand_out(self, begun: _Begun) -> None:
        self._lanes[begun.job.lane].start(
            partial(self._outcome, begun.job), partial(self._tell, begun)
        )

    # --- on the threads of the lanes -------------------------------------------------------------------

    def _outcome(self, job: DiskJob[object]) -> object:
        return DiskFailure(STOPS) if self._is_closed.is_set() else result_of(job.work)

    def _tell(self, begun: _Begun, outcome: object) -> None:
        # Who is told may begin the next job, which is then handed out after this end.
        self._told.put(_Ended(begun.job))
        begun.done(outcome)
