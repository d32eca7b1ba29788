"""What is to happen later, in one heap. Pure: it knows no clock."""

from __future__ import annotations

import heapq
import itertools
from typing import Final

from messages.units import Seconds
from runtimes.hollow.records import HollowStep

_WORTH_COMPACTING: Final = 64
"""Below this many entries a scan for cancelled ones costs more than it frees."""


class Schedule:
    """Steps in the order in which they are due; those due at once in the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[Seconds, int, HollowStep]] = []
        self._serial = itertools.count()
        self._cancelled = 0

    def __len__(self) -> int:
        """How many steps are to happen."""
        return len(self._heap) - self._cancelled

    def add(self, step: HollowStep) -> None:
        """Add a step."""
        heapq.heappush(self._heap, (step.due, next(self._serial), step))

    def cancel(self, step: HollowStep | None) -> None:
        """Take a step back that has not happened. Does nothing for None."""
        if step is None or step.is_cancelled:
            return
        step.is_cancelled = True
        self._cancelled += 1
        if self._cancelled * 2 > len(self._heap) > _WORTH_COMPACTING:
            self._heap = [entry for entry in self._heap if not entry[2].is_cancelled]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def next_due(self) -> Seconds | None:
        """Return when the next step is due; None if there is none."""
        self._drop_cancelled()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: Seconds) -> HollowStep | None:
        """Remove the next step if it is due by ``now``, and return it."""
        self._drop_cancelled()
        if not self._heap or self._heap[0][0] > now:
            return None
        step = heapq.heappop(self._heap)[2]
        step.is_cancelled = True  # it has happened: to cancel it does nothing
        return step

    def _drop_cancelled(self) -> None:
        while self._heap and self._heap[0][2].is_cancelled:
            heapq.heappop(self._heap)
            self._cancelled -= 1
