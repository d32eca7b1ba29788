"""Clocks, and timers in the order of their deadlines.

Code that needs the time gets a clock passed in, so that tests can move it. Any thread sets and cancels
timers; the control thread fires them.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Protocol

from typing_extensions import override

from messages.units import Instant, Seconds, Timestamp


class Clock(Protocol):
    """Tells the time, and how long a thread has to wait for a moment."""

    def monotonic(self) -> Seconds:
        """Return seconds since some fixed moment. Never goes back."""
        ...

    def wall(self) -> Timestamp:
        """Return seconds since the Unix epoch."""
        ...

    def now(self) -> Instant:
        """Return this moment on both clocks."""
        return Instant(self.monotonic(), self.wall())

    def real_delay(self, due: Seconds) -> float | None:
        """Return how many real seconds a thread has to wait until ``due``.

        ``None`` when time does not pass by itself. Then moving the clock calls what ``on_advance`` was
        given.
        """
        ...

    def on_advance(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` whenever somebody has moved the clock."""
        ...


class SystemClock(Clock):
    """The machine's clock."""

    @override
    def monotonic(self) -> Seconds:
        return Seconds(time.monotonic())

    @override
    def wall(self) -> Timestamp:
        return Timestamp(time.time())

    @override
    def real_delay(self, due: Seconds) -> float | None:
        return max(0.0, due - time.monotonic())

    @override
    def on_advance(self, wake: Callable[[], None]) -> None:
        """Do nothing: nobody moves the machine's clock."""


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
