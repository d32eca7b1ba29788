"""Deadlines in order. Anybody may set or cancel one; the control thread alone fires them."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

from messages.units import Seconds

_WORTH_COMPACTING = 64
"""Below this many entries a scan for cancelled ones costs more than it frees."""


class Timer:
    """One deadline: an action, run once, unless cancelled before."""

    __slots__ = ("_timers", "action", "due", "owner")

    def __init__(
        self,
        due: Seconds,
        action: Callable[[], None],
        timers: Timers,
        owner: set[Timer] | None,
    ) -> None:
        self.due = due
        self.action: Callable[[], None] | None = action
        self.owner = owner
        self._timers = timers

    def cancel(self) -> None:
        """Keep it from firing. Harmless when it has fired or was cancelled."""
        self._timers.cancel(self)

    def spend(self) -> Callable[[], None] | None:
        """Return the action, if it is still to be run, and forget it and whose it was."""
        action, self.action = self.action, None
        if self.owner is not None:
            self.owner.discard(self)
        return action


class Timers:
    """A heap of deadlines. Cancelled ones leave it: at most as many dead as live entries stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heap: list[tuple[Seconds, int, Timer]] = []
        self._serial = itertools.count()
        self._dead = 0

    def __len__(self) -> int:
        """How many are to fire."""
        return len(self._heap) - self._dead

    def add(
        self, due: Seconds, action: Callable[[], None], owner: set[Timer] | None = None
    ) -> tuple[Timer, bool]:
        """Return the timer for ``action`` at ``due``, and whether it is the next to fire.

        It is in ``owner`` as long as it is to fire.
        """
        timer = Timer(due, action, self, owner)
        with self._lock:
            if owner is not None:
                owner.add(timer)
            heapq.heappush(self._heap, (due, next(self._serial), timer))
            return timer, self._heap[0][2] is timer

    def cancel(self, timer: Timer) -> None:
        """Take ``timer`` out: at once from its owner, from the heap when half of it is such."""
        with self._lock:
            if timer.spend() is None:
                return
            self._dead += 1
            if self._dead * 2 > len(self._heap) > _WORTH_COMPACTING:
                self._heap = [entry for entry in self._heap if entry[2].action is not None]
                heapq.heapify(self._heap)
                self._dead = 0

    def clear(self) -> None:
        """Cancel all of them."""
        for _, _, timer in tuple(self._heap):
            timer.cancel()

    def next_due(self) -> Seconds | None:
        """When the next live timer is due."""
        with self._lock:
            self._drop_cancelled_front()
            return self._heap[0][0] if self._heap else None

    def pop_due(self, now: Seconds) -> Callable[[], None] | None:
        """Return the action of the earliest timer that is due by ``now`` and forget it."""
        with self._lock:
            self._drop_cancelled_front()
            if not self._heap or self._heap[0][0] > now:
                return None
            return heapq.heappop(self._heap)[2].spend()

    def _drop_cancelled_front(self) -> None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._dead -= 1
