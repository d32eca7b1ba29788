"""What the agent's process takes of the machine."""

from __future__ import annotations

import resource
import time

from server.ui.pages import process_usage


def test_usage_is_what_the_kernel_tells_of_this_process() -> None:
    before, usage, after = time.process_time(), process_usage(), time.process_time()
    assert round(before, 3) <= usage["cpuSeconds"] <= after + 0.001
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert highest / 4 < usage["residentBytes"] < highest * 2  # the two are not counted alike
    assert 0.0 < usage["ageSeconds"] < time.clock_gettime(time.CLOCK_BOOTTIME)
