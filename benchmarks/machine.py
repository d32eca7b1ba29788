"""Which machine it was, and how busy: without that no number means anything."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

_GIB = 2**30


def machine() -> dict[str, str | int | float]:
    """Return the processor, its cores, the memory in GiB, the kernel and the interpreter."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "memoryGiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB, 1),
        "kernel": platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def load() -> float:
    """Return how many threads were running or wanted to, on average of the last minute."""
    return os.getloadavg()[0]


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()
