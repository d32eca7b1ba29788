"""What systemd is told of a slice with limits. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from files.cgroups.conversions import UNLIMITED, weight_of
from files.cgroups.limits import CgroupLimits

_PERCENT = 100


def properties_of(limits: CgroupLimits, *, is_unified: bool) -> tuple[str, ...]:
    """Return the settings of a slice. Huge pages are not among them: systemd does not know these.

    A quota is rounded up to the next hundredth of a cpu, as systemd counts.
    """
    return tuple(_properties(limits, is_unified=is_unified))


def _properties(limits: CgroupLimits, *, is_unified: bool) -> Iterator[str]:
    yield from ("CPUAccounting=yes", "MemoryAccounting=yes", "TasksAccounting=yes")
    if limits.cpu_shares is not None:
        shares = limits.cpu_shares
        yield f"CPUWeight={weight_of(shares)}" if is_unified else f"CPUShares={shares}"
    if limits.cpu_quota is not None:
        yield f"CPUQuota={_percent(limits.cpu_quota, limits.cpu_period or 1)}"
    if limits.cpu_quota is not None and limits.cpu_period:
        yield f"CPUQuotaPeriodSec={limits.cpu_period}us"
    if limits.memory is not None:
        yield f"{'MemoryMax' if is_unified else 'MemoryLimit'}={_or_infinity(limits.memory)}"
    if limits.pids is not None:
        yield f"TasksMax={_or_infinity(limits.pids)}"


def _percent(quota: int, period: int) -> str:
    """Return a quota as systemd writes it; empty for none."""
    return "" if quota == UNLIMITED else f"{-(-quota * _PERCENT // period)}%"


def _or_infinity(limit: int) -> str:
    return "infinity" if limit == UNLIMITED else str(limit)
