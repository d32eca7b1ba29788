"""Lanes: so much at a time, in the order in which it came.

``Lanes`` have threads, for work that may block, and belong to the process. ``CallLane`` has none: it holds
back calls of one actor, and outlives its lives.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import structlog

from kernel.failures import BugError, BusyError, Failure, StepError, failure_of, where_of

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


class Job:
    """Work that somebody wants done: an ``InFlight``."""

    __slots__ = (
        "_lanes",
        "done",
        "has_begun",
        "is_abandoned",
        "is_due_anyway",
        "line",
        "turn",
        "work",
    )

    def __init__(
        self,
        lanes: Lanes[Any],
        line: _Line,
        work: Callable[[], object],
        done: Done,
        turn: Hashable | None,
        *,
        is_due_anyway: bool,
    ) -> None:
        self._lanes = lanes
        self.line = line
        self.work = work
        self.done = done
        self.turn = turn
        self.is_due_anyway = is_due_anyway
        self.has_begun = False
        self.is_abandoned = False

    def abandon(self) -> None:
        """Nobody waits for it any more. If a thread hangs in it, another one does what waits."""
        self._lanes.abandon(self)


class _Line:
    """What waits for the threads of one lane."""

    __slots__ = ("changed", "hanging", "idle", "name", "size", "threads", "waiting")

    def __init__(self, name: str, size: LaneSize, lock: threading.Lock) -> None:
        self.name = name
        self.size = size
        self.changed = threading.Condition(lock)
        self.waiting: deque[Job] = deque()
        self.threads = 0
        self.idle = 0
        self.hanging = 0
        """Jobs that a thread is at, and that nobody waits for."""

    @property
    def limit(self) -> int:
        return self.size.most + min(self.hanging, self.size.more)


class Lanes(Generic[K]):
    """Does work that may block: of each lane so many jobs at a time, in the order in which they came.

    A lane's threads begin as they are needed, and end when they had nothing to do for a while. Of one turn,
    whatever the lanes of its jobs are, one job is done at a time and in order: two threads never change the
    same thing. A job that waits for its turn takes no thread.

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
        self._begin = begin
        self._idle_for = idle_for
        self._lock = threading.Lock()
        self._lines = {key: _Line(f"{name}-{key}", size, self._lock) for key, size in sizes.items()}
        self._turns: dict[Hashable, deque[Job]] = {}
        """The turns of jobs that wait for a thread or have one, with who waits for theirs."""
        self._is_closed = False

    def __getitem__(self, key: K) -> Lane:
        """Return one of the lanes, for those who need no other."""
        return Lane(self, key)

    def start(
        self,
        lane: K,
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
        line = self._lines[lane]
        job = Job(self, line, work, done, turn, is_due_anyway=is_due_anyway)
        with self._lock:
            refusal = self._enter(job, waits=waits)
        if refusal is not None:
            done(Failure(refusal))
        else:
            self._serve(line)
        return job

    def abandon(self, job: Job) -> None:
        """Take that nobody waits for ``job`` any more. May repeat."""
        with self._lock:
            if job.is_abandoned:
                return
            job.is_abandoned = True
            line = self._let_go(job)
        self._serve(line)

    def close(self) -> None:
        """Begin nothing more, and end the threads. What is being done is not waited for."""
        with self._lock:
            self._is_closed = True
            lines = [*(each.waiting for each in self._lines.values()), *self._turns.values()]
            left = [job for line in lines for job in line]
            for line in lines:
                line.clear()
            for each in self._lines.values():
                each.changed.notify_all()
        for job in left:
            job.done(Failure(_over()))

    # --- under the lock --------------------------------------------------------------------------------

    def _enter(self, job: Job, *, waits: bool) -> StepError | None:
        """Line a job up. Return why not."""
        if self._is_closed:
            return _over()
        line = None if job.turn is None else self._turns.get(job.turn)
        if line is None:
            if job.turn is not None:
                self._turns[job.turn] = deque()
            job.line.waiting.append(job)
        elif waits:
            line.append(job)
        else:
            return BusyError("earlier work has not ended yet")
        return None

    def _let_go(self, job: Job) -> _Line | None:
        """Return the line in which something more may begin now."""
        if job.has_begun:
            job.line.hanging += 1
            return job.line
        if job.is_due_anyway:
            return None
        if job in job.line.waiting:
            job.line.waiting.remove(job)
            return self._next_of(job.turn)
        line = self._turns.get(job.turn)
        if line is not None and job in line:
            line.remove(job)
        return None

    def _next_of(self, turn: Hashable | None) -> _Line | None:
        """Have the next of a turn wait for a thread. Return its line."""
        line = self._turns.get(turn)
        if not line:
            self._turns.pop(turn, None)
            return None
        job = line.popleft()
        job.line.waiting.append(job)
        return job.line

    # --- threads ---------------------------------------------------------------------------------------

    def _serve(self, line: _Line | None) -> None:
        """Have a thread do what waits in a line, if there may be one."""
        if line is None:
            return
        with self._lock:
            if self._is_closed or not line.waiting:
                return
            if line.idle >= len(line.waiting):
                line.changed.notify()
                return
            if line.threads >= line.limit:
                return
            line.threads += 1
        try:
            self._begin(line.name, partial(self._do_next, line))
        except RuntimeError:
            self._note_no_thread(line)

    def _note_no_thread(self, line: _Line) -> None:
        """Free the place of a thread that could not be begun. Without any, nobody would do what waits."""
        _log.error("no thread can be had for work that may block", lane=line.name)
        with self._lock:
            line.threads -= 1
            left = [] if line.threads else list(line.waiting)
            if left:
                line.waiting.clear()
        for job in left:
            self._end(job, Failure(StepError("no thread can be had for it")))

    def _do_next(self, line: _Line) -> bool:
        """Do the next job as soon as there is one. Return False if this thread is to end."""
        job = self._take(line)
        if job is None:
            return False
        if job.is_abandoned:
            self._serve(line)
        self._end(job, outcome_of(job.work))
        return True

    def _take(self, line: _Line) -> Job | None:
        with self._lock:
            while not self._is_closed and line.threads <= line.limit:
                if line.waiting:
                    job = line.waiting.popleft()
                    job.has_begun = True
                    line.hanging += job.is_abandoned
                    return job
                if not self._wait(line):
                    break
            line.threads -= 1
            return None

    def _wait(self, line: _Line) -> bool:
        """Wait for more to do. Return whether to look again."""
        if self._idle_for <= 0:
            return False
        line.idle += 1
        is_told = line.changed.wait(self._idle_for)
        line.idle -= 1
        return is_told or bool(line.waiting)

    def _end(self, job: Job, outcome: object) -> None:
        with self._lock:
            if job.has_begun:
                job.line.hanging -= job.is_abandoned
            job.is_abandoned = True  # there is nothing left to abandon
            line = self._next_of(job.turn)
        self._serve(line)
        job.done(outcome)


class Lane:
    """One lane of several: see ``Lanes``."""

    __slots__ = ("_key", "_lanes")

    def __init__(self, lanes: Lanes[Any], key: object) -> None:
        self._lanes = lanes
        self._key = key

    def start(
        self,
        work: Callable[[], object],
        done: Done,
        turn: Hashable | None = None,
        *,
        waits: bool = True,
        is_due_anyway: bool = False,
    ) -> InFlight:
        """Do ``work`` in this lane, as ``Lanes.start`` does."""
        return self._lanes.start(
            self._key, work, done, turn, waits=waits, is_due_anyway=is_due_anyway
        )


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


class CallLane:
    """Holds back steps of one actor's operations: at most ``most`` are in flight, the others wait in order.

    The engine frees a place when it has taken the outcome or waits for it no longer. If the answer itself
    freed it, a double answer would free it twice, a lost one never, and on somebody else's thread.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_flight: set[Hashable] = set()
        self._waiting: dict[Hashable, Callable[[], None]] = {}

    def __len__(self) -> int:
        """How many are in flight."""
        return len(self._in_flight)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __contains__(self, ticket: Hashable) -> bool:
        """Whether the step of ``ticket`` is in flight."""
        return ticket in self._in_flight

    def enter(self, ticket: Hashable, begin: Callable[[], None]) -> None:
        """Begin now, or when there is room."""
        self._waiting[ticket] = begin
        self._begin_waiting()

    def leave(self, ticket: Hashable) -> None:
        """Free the place of ``ticket``, or take it out of the line. May repeat."""
        self._waiting.pop(ticket, None)
        self._in_flight.discard(ticket)
        self._begin_waiting()

    def _begin_waiting(self) -> None:
        while self._waiting and len(self._in_flight) < self._most:
            ticket = next(iter(self._waiting))
            begin = self._waiting.pop(ticket)
            self._in_flight.add(ticket)
            begin()
