"""What the agent's own process takes of the machine, for whoever watches it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from messages.pods import JsonObject

_PROCESS = Path("/proc/self")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_STARTED = 19
"""The place of the time of start in ``stat``, counted from the field behind the name."""


def process_usage() -> JsonObject:
    """Return its processor time, memory and age, as the kernel tells them."""
    behind_name = (_PROCESS / "stat").read_text().rpartition(")")[2].split()
    resident = int((_PROCESS / "statm").read_text().split()[1])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(behind_name[_STARTED]) / _TICKS
    return {
        "cpuSeconds": round(time.process_time(), 3),
        "residentBytes": resident * _PAGE,
        "ageSeconds": round(max(0.0, age), 2),
    }
