"""What every node of the tree uses of the actor system that it belongs to."""

from __future__ import annotations

from kernel.addresses import Addresses
from kernel.clock import Clock
from kernel.control import Control
from kernel.loops import FailedLoops
from kernel.reports import Reports
from kernel.runtimes import Runtime
from kernel.telemetry import Telemetry


class Services:
    """The parts of one actor system that supervisors and their children share."""

    def __init__(self, clock: Clock, runtime: Runtime) -> None:
        self.control = Control(clock)
        self.runtime = runtime
        self.telemetry = Telemetry()
        self.addresses = Addresses(self.telemetry)
        self.failed_loops = FailedLoops()
        self.reports = Reports(self.telemetry)
