"""Work that may block on the seeded schedule: each job is done in a turn of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from typing_extensions import override

from kernel import InFlight, Lane, Lanes, LaneSize
from kernel.lanes import Done
from tests.environment.runtimes.runtime import InThisLife
from tests.support.files.power import DiskTrouble


class SteppedLanes(Lanes[Any]):
    """The lanes of one life of the agent. Nothing is done after a SIGKILL. Jobs fail as ``trouble`` says."""

    def __init__(
        self,
        sizes: Mapping[Any, LaneSize],
        in_this_life: InThisLife,
        trouble: DiskTrouble | None = None,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__("stepped", sizes, begin=self._begin_worker, idle_for=0.0)
        self._in_this_life = in_this_life
        self._trouble = trouble
        self._begun = begun

    def _begin_worker(self, name: str, worker: Callable[[], bool]) -> None:
        def turn() -> None:
            if worker():
                self._begin_worker(name, worker)

        self._in_this_life(0.0, turn)

    @override
    def __getitem__(self, key: Any) -> Lane:
        return _TroubledLane(super().__getitem__(key), self._trouble, self._begun)


class _TroubledLane(Lane):
    def __init__(self, lane: Lane, trouble: DiskTrouble | None, begun: Callable[[], None]) -> None:
        self._lane = lane
        self._trouble = trouble
        self._begun = begun

    @override
    def start(
        self, work: Callable[[], object], done: Done, turn: Hashable | None = None, **how: bool
    ) -> InFlight:
        def struck() -> object:
            if self._trouble is not None:
                self._trouble.strike()
            return work()

        self._begun()
        return self._lane.start(struck, done, turn, **how)
