"""The control thread. All supervisors and timers run on it, one event after the other.

So supervision needs no locks, and never waits for a pool that may be stuck. On the ``Steps`` runtime
there is no such thread: ``step`` runs one event when the schedule says so.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import structlog

from kernel.clock import Clock, Timer, Timers
from messages.units import Seconds

_log = structlog.get_logger("kernel")


class Control:
    """A queue of events and a heap of deadlines, with one consumer."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.timers = Timers()
        self._events: deque[Callable[[], None]] = deque()
        """An event leaves the queue when it is done, so the queue is empty only when nothing happens."""
        self._wakeups: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closed = False
        self._is_firing = False
        self.events = 0
        """How many events and timers were run."""
        clock.on_advance(self._wake)

    def post(self, event: Callable[[], None]) -> None:
        """Run ``event`` on the control thread, after the events posted before.

        Takes no lock, so it may be called from anywhere, even from a signal handler. After ``close``
        nothing else changes any more, and ``event`` runs at once on the calling thread.
        """
        if self._closed:
            self._run(event)
            return
        self._events.append(event)
        self._wake()

    def set_timer(
        self, delay: Seconds, action: Callable[[], None], owner: set[Timer] | None = None
    ) -> Timer:
        """Run ``action`` on the control thread in ``delay`` seconds. Callable from any thread.

        The timer stays in ``owner`` until it fires or is cancelled.
        """
        return self.set_timer_at(Seconds(self.clock.monotonic() + max(0.0, delay)), action, owner)

    def set_timer_at(
        self, due: Seconds, action: Callable[[], None], owner: set[Timer] | None = None
    ) -> Timer:
        """Run ``action`` on the control thread at ``due``, or now if that has passed. Like ``set_timer``."""
        timer, is_next = self.timers.add(due, action, owner)
        if is_next:
            self._wake()
        return timer

    def open(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._loop, name="control", daemon=True).start()

    def close(self) -> None:
        """End the thread after the events posted so far."""
        self.post(self._close)

    def step(self) -> bool:
        """Run one event or one due timer on the calling thread. Return False if there was none."""
        return self._run_event() or self._fire()

    @property
    def has_work(self) -> bool:
        """Whether an event or a due timer waits or is being run."""
        if self._closed:
            return False
        # In this order: a timer counts as firing before it leaves the heap.
        due = self.timers.next_due()
        is_due = due is not None and due <= self.clock.monotonic()
        return is_due or bool(self._events) or self._is_firing

    def _loop(self) -> None:
        while not self._closed:
            due = self.timers.next_due()
            delay = None if due is None else self.clock.real_delay(due)
            with suppress(queue.Empty):
                self._wakeups.get(timeout=delay)
                self._run_event()
            while self._fire():
                pass
        while self._run_event():
            pass

    def _run_event(self) -> bool:
        if not self._events:
            return False
        self._run(self._events[0])
        self._events.popleft()
        return True

    def _fire(self) -> bool:
        self._is_firing = True
        action = self.timers.pop_due(self.clock.monotonic())
        if action is not None:
            self._run(action)
        self._is_firing = False
        return action is not None

    def _run(self, event: Callable[[], None]) -> None:
        try:
            event()
        except BaseException:  # noqa: BLE001  # whatever it is, the control thread goes on
            # Supervisors guard their own events. This is one of the kernel's, and must not end the thread.
            _log.exception("control event failed")
        self.events += 1

    def _wake(self) -> None:
        """Make the control thread look at its events and timers."""
        self._wakeups.put(None)

    def _close(self) -> None:
        self._closed = True
        self.timers.clear()
