"""What limits a cgroup has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """What a cgroup may use. None leaves a limit as it is, and -1 takes it away."""

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    """Microseconds in each ``cpu_period``."""
    cpu_period: int | None = None
    """Microseconds."""
    memory: int | None = None
    """Bytes."""
    pids: int | None = None
    huge_pages: Mapping[int, int] = field(default_factory=dict)
    """Bytes, by the size of a page in bytes."""
