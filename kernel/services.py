"""What every node of the tree uses of the actor system that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from kernel.addresses import Addresses
from kernel.control import Control
from kernel.loops import FailedLoops
from kernel.reports import Reports
from kernel.runtimes import Runtime
from kernel.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of one actor system that supervisors and their children share."""

    control: Control
    runtime: Runtime
    telemetry: Telemetry
    addresses: Addresses
    failed_loops: FailedLoops
    reports: Reports
