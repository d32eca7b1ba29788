"""What a process has and takes, read from ``/proc``: memory, processor time, threads, connections."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_ESTABLISHED = "01"


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has; 0 for one that ended."""
    return _number_in_status(pid, "VmRSS") * 1024


def highest_resident_bytes(pid: int) -> int:
    """Return how much memory a process has had at most."""
    return _number_in_status(pid, "VmHWM") * 1024


def threads(pid: int) -> int:
    """Return how many threads a process has."""
    return _number_in_status(pid, "Threads")


def cpu_seconds(pid: int) -> float:
    """Return how long a process has computed, in user and system mode."""
    # The second field is the command in parentheses, which may hold spaces.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def descriptors(pid: int) -> int:
    """Return how many file descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def connections(pid: int, port: int) -> int:
    """Return how many connections a process has to ``port``, wherever that is."""
    to_port = _inodes_connected_to(Path(f"/proc/{pid}/net/tcp").read_text(encoding="utf-8"), port)
    return sum(_target(path) in to_port for path in Path(f"/proc/{pid}/fd").iterdir())


def _inodes_connected_to(table: str, port: int) -> set[str]:
    rows = (line.split() for line in table.splitlines()[1:])
    wanted = f":{port:04X}"
    return {
        f"socket:[{fields[9]}]"
        for fields in rows
        if fields[2].endswith(wanted) and fields[3] == _ESTABLISHED
    }


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:  # closed since it was listed
        return ""


def _number_in_status(pid: int, field: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(rf"^{field}:\s+(\d+)", status, re.MULTILINE)
    return int(found.group(1)) if found else 0
