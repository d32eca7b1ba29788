"""Lanes: threads for work that may block, so many jobs at a time, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import structlog
from typing_extensions import override

from kernel.endings import BugError, BusyError, Failure, StepError, failure_of, where_of

K = TypeVar("K")

Done: TypeAlias = Callable[[Any], None]
"""Hears an outcome, on any thread."""

BeginWorker: TypeAlias = Callable[[str, Callable[[], bool]], None]
"""Has a worker of this name call the function again and again, until that returns False.

Raises RuntimeError if there can be none.
"""

HANG_AT_MOST: Final = 64
"""Threads that a lane has more, at the most, while as many others hang."""
IDLE_FOR: Final = 60.0
"""Seconds that a thread waits for more to do before it ends."""

_log = structlog.get_logger("kernel")


class InFlight(Protocol):
    """A step of an operation that was begun, as those see it who wait for its outcome."""

    @property
    def has_begun(self) -> bool:
        """Whether somebody is at it. Until then it waits in a line, and no deadline counts."""
        ...

    def abandon(self) -> None:
        """Nobody waits for it any more. What has begun may have its effect."""
        ...


class LaneSize(NamedTuple):
    """How many threads a lane has."""

    most: int
    more: int = HANG_AT_MOST
    """How many more at the most, while as many others hang. 0 where what jobs touch is one thread's alone."""


def on_a_thread(name: str, worker: Callable[[], bool]) -> None:
    """Begin a worker on a daemon thread: work that hangs for good keeps no process from ending."""

    def run() -> None:
        while worker():
            pass

    threading.Thread(target=run, name=name, daemon=True).start()


class Lanes(Generic[K]):
    """Does work that may block: of each lane so many jobs at a time, in the order in which they came.

    They belong to the process. A lane's threads begin as they are needed, and end when they had nothing to do
    for a while. Of one turn, whatever the lanes of its jobs are, one job is done at a time and in order: two
    threads never change the same thing. A job that waits for its turn takes no thread.

    ===============================  ======================================================================
    a job is abandoned, and waits    it is never begun; one that is due anyway is
    it is abandoned, and has begun   it counts as hanging: it keeps its thread and its turn, and its lane has
                                     one thread more until it returns
    it raises                        its outcome is a ``Failure``: over an ``OSError`` or ``StepError`` as it
                                     is, over anything else a ``BugError``
    no thread can be had             the lane goes on with those that it has; without any, what waits fails
    the lanes are closed             what waits, and what comes later, fails; what has begun goes on
    ===============================  ======================================================================
    """

    def __init__(
        self,
        name: str,
        sizes: Mapping[K, LaneSize],
        begin: BeginWorker = on_a_thread,
        idle_for: float = IDLE_FOR,
    ) -> None:
        """``name`` begins the names of the threads. A worker that is not to wait has 0 for ``idle_for``."""
        self._turns = _Turns(begin, idle_for)
        self._lanes = {key: Lane(f"{name}-{key}", size, self._turns) for key, size in sizes.items()}

    def __getitem__(self, key: K) -> Lane:
        """Return one of the lanes."""
        return self._lanes[key]

    def close(self) -> None:
        """Begin nothing more, and end the threads. What is being done is not waited for."""
        turns = self._turns
        with turns.lock:
            turns.is_closed = True
            lines = [*(each.waiting for each in self._lanes.values()), *turns.waiting.values()]
            left = [job for line in lines for job in line]
            for line in lines:
                line.clear()
            for lane in self._lanes.values():
                lane.changed.notify_all()
        for job in left:
            job.done(Failure(_over()))


class Lane:
    """One of several ``Lanes``: its threads, and what waits for them."""

    def __init__(self, name: str, size: LaneSize, turns: _Turns) -> None:
        self._name = name
        self._size = size
        self._turns = turns
        self._threads = 0
        self._idle = 0
        self.changed = threading.Condition(turns.lock)
        self.waiting: deque[_Job] = deque()
        self.hanging = 0
        """Jobs that a thread is at, and that nobody waits for."""

    def start(
        self,
        work: Callable[[], object],
        done: Done,
        turn: Hashable | None = None,
        *,
        waits: bool = True,
        is_due_anyway: bool = False,
    ) -> InFlight:
        """Do ``work`` on a thread, and then tell ``done`` on it what came of it, once. Does not raise.

        ``waits`` says what happens while another job of ``turn`` has not ended: it waits, or it fails at once
        with a ``BusyError``. What is begun by whoever ``done`` tells may have the same thread.
        """
        job = _Job(self._turns, self, work, done, turn, is_due_anyway)
        with self._turns.lock:
            refusal = self._turns.enter(job, waits=waits)
        if refusal is not None:
            done(Failure(refusal))
        else:
            self.serve()
        return job

    def serve(self) -> None:
        """Have a thread do what waits, if there may be one."""
        with self._turns.lock:
            if self._turns.is_closed or not self.waiting:
                return
            if self._idle >= len(self.waiting):
                self.changed.notify()
                return
            if self._threads >= self._limit:
                return
            self._threads += 1
        try:
            self._turns.begin(self._name, self._do_next)
        except RuntimeError:
            self._note_no_thread()

    @property
    def _limit(self) -> int:
        return self._size.most + min(self.hanging, self._size.more)

    def _note_no_thread(self) -> None:
        """Free the place of a thread that could not be begun. Without any, nobody would do what waits."""
        _log.error("no thread can be had for work that may block", lane=self._name)
        with self._turns.lock:
            self._threads -= 1
            left = [] if self._threads else list(self.waiting)
            if left:
                self.waiting.clear()
        for job in left:
            self._turns.end(job, Failure(StepError("no thread can be had for it")))

    def _do_next(self) -> bool:
        """Do the next job as soon as there is one. Return False if this thread is to end."""
        job = self._take()
        if job is None:
            return False
        if job.is_abandoned:
            self.serve()
        self._turns.end(job, outcome_of(job.work))
        return True

    def _take(self) -> _Job | None:
        with self._turns.lock:
            while not self._turns.is_closed and self._threads <= self._limit:
                if self.waiting:
                    job = self.waiting.popleft()
                    job.has_begun = True
                    self.hanging += job.is_abandoned
                    return job
                if not self._wait():
                    break
            self._threads -= 1
            return None

    def _wait(self) -> bool:
        """Wait for more to do. Return whether to look again."""
        if self._turns.idle_for <= 0:
            return False
        self._idle += 1
        is_told = self.changed.wait(self._turns.idle_for)
        self._idle -= 1
        return is_told or bool(self.waiting)


@dataclass(slots=True, eq=False)
class _Job(InFlight):
    """Work that somebody wants done."""

    turns: _Turns
    lane: Lane
    work: Callable[[], object]
    done: Done
    turn: Hashable | None
    is_due_anyway: bool
    has_begun: bool = False
    is_abandoned: bool = False

    @override
    def abandon(self) -> None:
        self.turns.abandon(self)


class _Turns:
    """What lanes that belong together share: one lock, whose turn it is, and how threads begin."""

    def __init__(self, begin: BeginWorker, idle_for: float) -> None:
        self.begin = begin
        self.idle_for = idle_for
        self.lock = threading.Lock()
        self.is_closed = False
        self.waiting: dict[Hashable, deque[_Job]] = {}
        """The turns of jobs that wait for a thread or have one, with who waits for theirs."""

    def enter(self, job: _Job, *, waits: bool) -> StepError | None:
        """Line a job up. Return why not. Under the lock."""
        if self.is_closed:
            return _over()
        line = None if job.turn is None else self.waiting.get(job.turn)
        if line is None:
            if job.turn is not None:
                self.waiting[job.turn] = deque()
            job.lane.waiting.append(job)
        elif waits:
            line.append(job)
        else:
            return BusyError("earlier work has not ended yet")
        return None

    def abandon(self, job: _Job) -> None:
        """Take that nobody waits for ``job`` any more, and begin what may begin now. May repeat."""
        with self.lock:
            if job.is_abandoned:
                return
            job.is_abandoned = True
            lane = self._let_go(job)
        if lane is not None:
            lane.serve()

    def end(self, job: _Job, outcome: object) -> None:
        """Begin the next job of the same turn, and tell what came of this one."""
        with self.lock:
            if job.has_begun:
                job.lane.hanging -= job.is_abandoned
            job.is_abandoned = True  # there is nothing left to abandon
            lane = self._next_of(job.turn)
        if lane is not None:
            lane.serve()
        job.done(outcome)

    def _let_go(self, job: _Job) -> Lane | None:
        """Return the lane in which something more may begin now. Under the lock."""
        if job.has_begun:
            job.lane.hanging += 1
            return job.lane
        if job.is_due_anyway:
            return None
        if job in job.lane.waiting:
            job.lane.waiting.remove(job)
            return self._next_of(job.turn)
        line = self.waiting.get(job.turn)
        if line is not None and job in line:
            line.remove(job)
        return None

    def _next_of(self, turn: Hashable | None) -> Lane | None:
        """Have the next of a turn wait for a thread. Return its lane. Under the lock."""
        line = self.waiting.get(turn)
        if not line:
            self.waiting.pop(turn, None)
            return None
        job = line.popleft()
        job.lane.waiting.append(job)
        return job.lane


def _over() -> StepError:
    return StepError("nothing is begun any more")


def outcome_of(work: Callable[[], object]) -> object:
    """Do ``work`` on this thread, and return its result, or a ``Failure``. Does not raise."""
    try:
        return work()
    except (OSError, StepError) as error:
        return failure_of(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a bug in one job; the others go on
        kind, where = type(error).__name__, where_of(error)
        _log.error("a job failed", error=kind, where=where)
        return Failure(BugError(kind), where)
