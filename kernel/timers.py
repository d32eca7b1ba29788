"""Timers in the order of their deadlines. Any thread sets and cancels them; the control thread fires them."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

from messages.units import Seconds

_WORTH_COMPACTING = 64
"""Below this many entries a scan for cancelled ones costs more than it frees."""


class Timer:
    """One deadline. Its action runs once, unless it is cancelled before."""

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
        """Keep it from firing. Does nothing when it has fired or was cancelled."""
        self._timers.cancel(self)

    def take_action(self) -> Callable[[], None] | None:
        """Return the action if it is still to run, and drop it. Also leaves the owner's set."""
        action, self.action = self.action, None
        if self.owner is not None:
            self.owner.discard(self)
        return action


class Timers:
    """A heap of timers. Of cancelled ones it keeps at most as many as there are live ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heap: list[tuple[Seconds, int, Timer]] = []
        self._serial = itertools.count()
        self._dead = 0

    def __len__(self) -> int:
        """How many timers are to fire."""
        return len(self._heap) - self._dead

    def add(
        self, due: Seconds, action: Callable[[], None], owner: set[Timer] | None = None
    ) -> tuple[Timer, bool]:
        """Add a timer for ``action`` at ``due``. Return it, and whether it is the next to fire.

        The timer stays in ``owner`` until it fires or is cancelled.
        """
        timer = Timer(due, action, self, owner)
        with self._lock:
            if owner is not None:
                owner.add(timer)
            heapq.heappush(self._heap, (due, next(self._serial), timer))
            return timer, self._heap[0][2] is timer

    def cancel(self, timer: Timer) -> None:
        """Cancel ``timer``. It leaves its owner at once, and the heap when half of that is cancelled."""
        with self._lock:
            if timer.take_action() is None:
                return
            self._dead += 1
            if self._dead * 2 > len(self._heap) > _WORTH_COMPACTING:
                self._heap = [entry for entry in self._heap if entry[2].action is not None]
                heapq.heapify(self._heap)
                self._dead = 0

    def clear(self) -> None:
        """Cancel all timers."""
        for _, _, timer in tuple(self._heap):
            timer.cancel()

    def next_due(self) -> Seconds | None:
        """Return when the next live timer is due; ``None`` when there is none."""
        with self._lock:
            self._drop_cancelled_front()
            return self._heap[0][0] if self._heap else None

    def pop_due(self, now: Seconds) -> Callable[[], None] | None:
        """Remove the earliest timer that is due by ``now``, and return its action; ``None`` if none is."""
        with self._lock:
            self._drop_cancelled_front()
            if not self._heap or self._heap[0][0] > now:
                return None
            return heapq.heappop(self._heap)[2].take_action()

    def _drop_cancelled_front(self) -> None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._dead -= 1
