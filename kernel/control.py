"""The control thread: every supervisor and every timer runs here, one event after the other.

So supervision needs no locks and never waits for a pool that may be stuck. In tests there is no
thread: ``step`` runs one event when the schedule says so.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import structlog

from kernel.clock import Clock
from kernel.timers import Timer, Timers
from messages.units import Seconds

_log = structlog.get_logger("kernel")


class Control:
    """A queue of events and a heap of deadlines, with one consumer."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.timers = Timers()
        self._events: deque[Callable[[], None]] = deque()
        """An event leaves when it is done: while there is one, something happens."""
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closed = False
        self._is_firing = False
        self.events = 0
        """How many events were run."""
        clock.on_advance(self._wake)

    def post(self, event: Callable[[], None]) -> None:
        """Run ``event`` on the control thread, after those posted before.

        Takes no lock, and so may be called from anywhere, even from a signal handler. After the end
        of the thread nothing changes any more, and ``event`` is run at once.
        """
        if self._closed:
            self._run(event)
            return
        self._events.append(event)
        self._wake()

    def set_timer(
        self, delay: Seconds, action: Callable[[], None], owner: set[Timer] | None = None
    ) -> Timer:
        """Run ``action`` on the control thread in ``delay`` seconds; callable from any thread.

        The timer is in ``owner`` as long as it is to fire.
        """
        due = Seconds(self.clock.monotonic() + max(0.0, delay))
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
        """Run one event or one due timer on the calling thread; return False if there was none."""
        return self._run_event() or self._fire()

    @property
    def has_work(self) -> bool:
        """Whether ``step`` would find something, or is at it."""
        if self._closed:
            return False
        # In this order: what leaves the heap is firing before it has left.
        due = self.timers.next_due()
        is_due = due is not None and due <= self.clock.monotonic()
        return is_due or bool(self._events) or self._is_firing

    def _loop(self) -> None:
        while not self._closed:
            due = self.timers.next_due()
            delay = None if due is None else self.clock.real_delay(due)
            with suppress(queue.Empty):
                self._bell.get(timeout=delay)
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
            # Supervisors guard their own events; this one is the kernel's, and must not end it.
            _log.exception("control event failed")
        self.events += 1

    def _wake(self) -> None:
        """Make the control thread look at its events and timers."""
        self._bell.put(None)

    def _close(self) -> None:
        self._closed = True
        self.timers.clear()
