"""Lanes without threads: a job is done where it is begun, or when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from typing_extensions import override

from kernel import Failure, InFlight, Lane, Lanes, StepError
from kernel.lanes import Done, outcome_of


class HandJob(InFlight):
    """Work that was begun."""

    has_begun = False

    def __init__(self, lane: Any, turn: Hashable, done: Callable[[], None]) -> None:
        self.lane = lane
        self.turn = turn
        self.do = done
        self.is_abandoned = False

    @override
    def abandon(self) -> None:
        self.is_abandoned = True


class HandLanes(Lanes[Any]):
    """Does each job at once, on whichever thread begins it, unless it is paused or jobs hang."""

    def __init__(self) -> None:
        super().__init__("hand", {})
        self.is_paused = False
        """Jobs wait until ``work`` is called."""
        self.hangs = False
        """The same, but a thread has begun them."""
        self.trouble = ""
        """What every job fails for; empty if none fails."""
        self.waiting: list[HandJob] = []
        self.lanes: list[Any] = []
        """Of all jobs that were begun."""
        self.begun: list[HandJob] = []
        self.done = 0

    @override
    def __getitem__(self, key: Any) -> Lane:
        return _HandLane(self, key)

    @property
    def abandoned(self) -> list[HandJob]:
        """The jobs that nobody waits for any more."""
        return [job for job in self.begun if job.is_abandoned]

    def begin(self) -> None:
        """Have threads begin what waits, and hang in it."""
        for job in self.waiting:
            job.has_begun = True

    def work(self) -> None:
        """Do what waits."""
        waiting, self.waiting = self.waiting, []
        for job in waiting:
            job.do()

    def work_one(self) -> None:
        """Do what waits first."""
        self.waiting.pop(0).do()


class _HandLane(Lane):
    def __init__(self, lanes: HandLanes, key: object) -> None:
        self._lanes = lanes
        self._key = key

    @override
    def start(
        self, work: Callable[[], object], done: Done, turn: Hashable | None = None, **_how: bool
    ) -> InFlight:
        def do() -> None:
            job.has_begun = True
            lanes.done += 1
            failure = Failure(StepError(lanes.trouble)) if lanes.trouble else None
            done(failure or outcome_of(work))

        lanes = self._lanes
        job = HandJob(self._key, turn, do)
        job.has_begun = lanes.hangs
        lanes.lanes.append(self._key)
        lanes.begun.append(job)
        if lanes.is_paused or lanes.hangs:
            lanes.waiting.append(job)
        else:
            do()
        return job
