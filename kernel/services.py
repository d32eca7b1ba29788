"""What every node of the tree uses of the actor system that it belongs to."""

from __future__ import annotations

from collections.abc import Callable

from kernel.addresses import Addresses
from kernel.clock import Clock
from kernel.loops import FailedLoops
from kernel.reports import Reports
from kernel.runtimes import FailSystem, Runtime
from kernel.telemetry import Telemetry
from kernel.timers import Timer
from messages.units import Seconds

MOST_HANGS = 8
"""Most pool threads that may be lost to hanging handlers of one system. They never come back, so after more
of them its root fails: it is better started again."""


class Services:
    """The parts of one actor system that supervisors and their children share."""

    def __init__(self, clock: Clock | None, runtime: Runtime, fail: FailSystem) -> None:
        """``fail`` makes the root fail."""
        self.control = runtime.control(clock)
        self.runtime = runtime
        self.telemetry = Telemetry()
        self.addresses = Addresses(self.telemetry)
        self.failed_loops = FailedLoops()
        self.reports = Reports(self.telemetry)
        self._fail = fail
        self._hangs = 0
        """Pool threads that were lost to handlers of this system."""
        self._timers: set[Timer] = set()

    def set_timer(self, delay: Seconds, action: Callable[[], None]) -> Timer:
        """Run ``action`` on the control thread in ``delay`` seconds, unless the system is down by then."""
        return self.control.set_timer(delay, action, self._timers)

    def open(self) -> None:
        """Start the threads."""
        self.runtime.open(self.control, self._fail)

    def note_hang(self) -> None:
        """Count a pool thread that is lost, and give up after too many. On the control thread."""
        self._hangs += 1
        if self._hangs > MOST_HANGS:
            self._fail("too many handlers hang")

    def close(self) -> None:
        """Let go of threads, timers and addresses: the tree is down. On the control thread."""
        self.addresses.close()
        for timer in tuple(self._timers):
            timer.cancel()
        self.runtime.close(self.control, self._fail)
