"""What happens outside of the agent, in its time: it goes on while the agent is dead."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Outside:
    """Actions that are due, by the one clock of the world. It moves when the node says so."""

    now: float = 0.0
    """Seconds since the world began."""
    _due: list[tuple[float, int, Callable[[], object], Callable[[], bool]]] = field(
        default_factory=list
    )
    _serial: itertools.count[int] = field(default_factory=itertools.count)

    def later(
        self,
        seconds: float,
        action: Callable[[], object],
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Have something done after so many seconds; never, after infinitely many, or once it is over."""
        if seconds != math.inf:
            due = self.now + seconds
            heapq.heappush(self._due, (due, next(self._serial), action, is_over))

    def next_due(self) -> float:
        """Return when the next action is due. Infinity if there is none."""
        while self._due and self._due[0][3]():
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else math.inf

    def do_next(self) -> None:
        """Do what is due next."""
        heapq.heappop(self._due)[2]()
