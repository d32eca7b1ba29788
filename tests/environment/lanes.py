"""Work that may block on the seeded schedule: each job is done in a turn of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from typing_extensions import override

from kernel import InFlight, Lanes, LaneSize
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
    def start(
        self,
        lane: Any,
        work: Callable[[], object],
        done: Done,
        turn: Hashable | None = None,
        *,
        waits: bool = True,
        is_due_anyway: bool = False,
    ) -> InFlight:
        def struck() -> object:
            if self._trouble is not None:
                self._trouble.strike()
            return work()

        self._begun()
        return super().start(lane, struck, done, turn, waits=waits, is_due_anyway=is_due_anyway)
