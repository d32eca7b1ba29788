"""The control thread: every supervisor and every timer runs here, one event after the other.

So supervision needs no locks and never waits for a pool that may be stuck. In tests there is no
thread: ``step`` runs one event when the schedule says so.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import structlog

from actors.kernel.clock import Clock
from actors.kernel.timers import Timer, Timers
from actors.messages.units import Seconds

_log = structlog.get_logger("kernel")


class Control:
    """A queue of events and a heap of deadlines, with one consumer."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.timers = Timers()
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._closed = False
        self._busy = False
        self.events = 0
        """How many events were run."""
        clock.on_advance(self._wake)

    def post(self, event: Callable[[], None]) -> None:
        """Run ``event`` on the control thread, after those posted before."""
        self._events.put(event)

    def set_timer(self, delay: Seconds, action: Callable[[], None]) -> Timer:
        """Run ``action`` on the control thread in ``delay`` seconds; callable from any thread."""
        due = Seconds(self.clock.monotonic() + max(0.0, delay))
        timer, is_next = self.timers.add(due, action)
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
        try:
            event: Callable[[], None] | None = self._events.get_nowait()
        except queue.Empty:
            event = self.timers.pop_due(self.clock.monotonic())
        if event is None:
            return False
        self._run(event)
        return True

    @property
    def has_work(self) -> bool:
        """Whether ``step`` would find something."""
        if self._busy or not self._events.empty():
            return True
        due = self.timers.next_due()
        return due is not None and due <= self.clock.monotonic()

    def _loop(self) -> None:
        while not self._closed:
            due = self.timers.next_due()
            delay = None if due is None else self.clock.real_delay(due)
            try:
                event = self._events.get(timeout=delay)
            except queue.Empty:
                pass
            else:
                self._run(event)
            while (action := self.timers.pop_due(self.clock.monotonic())) is not None:
                self._run(action)

    def _run(self, event: Callable[[], None]) -> None:
        self._busy = True
        try:
            event()
        except BaseException:  # noqa: BLE001  # whatever it is, the control thread goes on
            # Supervisors guard their own events; this one is the kernel's, and must not end it.
            _log.exception("control event failed")
        finally:
            self.events += 1
            self._busy = False

    def _wake(self) -> None:
        self._events.put(_nothing)

    def _close(self) -> None:
        self._closed = True


def _nothing() -> None:
    """Make the control thread look at its timers again."""
