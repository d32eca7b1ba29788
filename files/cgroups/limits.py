"""The limits of a cgroup, and what is written to which of its files for them, for v1 and for v2. Pure.

The rounding is a kubelet's. An amount that is too small or too large for the kernel becomes the nearest
value that it accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

SHARES_OF_CPU: Final = 1024
LEAST_SHARES: Final = 2
MOST_SHARES: Final = 2**18
LEAST_WEIGHT: Final = 1
MOST_WEIGHT: Final = 10_000
LEAST_QUOTA: Final = 1_000
"""Microseconds. The kernel takes no less."""
MOST_QUOTA: Final = 2**44 - 1
"""Microseconds. The kernel takes no more."""
UNLIMITED: Final = -1
MOST_BYTES: Final = 2**63 - 1
_KIBI: Final = 1024

MAX: Final = "max"
QUOTA: Final = "cpu.cfs_quota_us"
PERIOD: Final = "cpu.cfs_period_us"
MEMORY_V1: Final = "memory.limit_in_bytes"
MEMORY_AND_SWAP: Final = "memory.memsw.limit_in_bytes"
MEMORY_V2: Final = "memory.max"
USED_V2: Final = "memory.current"
_UNLIMITED_FROM: Final = 2**62
"""Bytes. The kernel shows its largest number of whole pages for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """The limits of a cgroup. None leaves a limit as it is, and -1 takes it away."""

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


def shares_of(milli_cpu: int) -> int:
    """Return the shares of cgroup v1 for a request of thousandths of a cpu."""
    return min(max(milli_cpu * SHARES_OF_CPU // 1000, LEAST_SHARES), MOST_SHARES)


def quota_of(milli_cpu: int, period: int) -> int:
    """Return how many microseconds of each ``period`` may be used; ``UNLIMITED`` for a limit of 0."""
    if milli_cpu <= 0:
        return UNLIMITED
    return min(max(milli_cpu * period // 1000, LEAST_QUOTA), MOST_QUOTA)


def weight_of(shares: int) -> int:
    """Return the weight of cgroup v2 for shares of v1.

    It grows evenly, from 1 for 2 shares to 10,000 for the most. This is how a kubelet converts for cgroups
    of pods and of classes. Newer runtimes of containers convert in another way, by which 1024 shares are
    100 and not 39. That concerns containers within one pod alone, which are all converted alike.
    """
    bounded = min(max(shares, LEAST_SHARES), MOST_SHARES)
    span = MOST_SHARES - LEAST_SHARES
    return LEAST_WEIGHT + (bounded - LEAST_SHARES) * (MOST_WEIGHT - LEAST_WEIGHT) // span


def page_size_name(size: int) -> str:
    """Return the kernel's name of a size of huge pages: ``2MB`` for 2 MiB."""
    for unit in ("B", "KB", "MB"):
        if size < _KIBI or size % _KIBI:
            return f"{size}{unit}"
        size //= _KIBI
    return f"{size}GB"


class CgroupWrite(NamedTuple):
    """One value in one file."""

    controller: str
    file: str
    text: str
    is_optional: bool = False
    """Whether there may be no such file: of pages of a size that the machine does not have, say."""


def v1_writes(limits: CgroupLimits) -> tuple[CgroupWrite, ...]:
    """Return what limits a cgroup of v1."""
    return (*_v1_cpu(limits), *_v1_others(limits))


def _v1_cpu(limits: CgroupLimits) -> Iterator[CgroupWrite]:
    if limits.cpu_shares is not None:
        yield CgroupWrite("cpu", "cpu.shares", str(limits.cpu_shares))
    if limits.cpu_quota is None:
        return
    quota = CgroupWrite("cpu", QUOTA, str(limits.cpu_quota))
    period = [CgroupWrite("cpu", PERIOD, str(limits.cpu_period))] if limits.cpu_period else []
    # No period is refused while there is no quota.
    yield from (quota, *period) if limits.cpu_quota == UNLIMITED else (*period, quota)


def _v1_others(limits: CgroupLimits) -> Iterator[CgroupWrite]:
    if limits.memory is not None:
        yield CgroupWrite("memory", MEMORY_V1, str(limits.memory))
    if limits.pids is not None:
        yield CgroupWrite("pids", "pids.max", _or_max(limits.pids))
    for size, limit in limits.huge_pages.items():
        name = f"hugetlb.{page_size_name(size)}"
        yield CgroupWrite("hugetlb", f"{name}.limit_in_bytes", str(limit), is_optional=True)
        yield CgroupWrite("hugetlb", f"{name}.rsvd.limit_in_bytes", str(limit), is_optional=True)


def v2_writes(limits: CgroupLimits) -> tuple[CgroupWrite, ...]:
    """Return what limits a cgroup of v2."""
    return tuple(_v2(limits))


def _v2(limits: CgroupLimits) -> Iterator[CgroupWrite]:
    if limits.cpu_shares is not None:
        yield CgroupWrite("cpu", "cpu.weight", str(weight_of(limits.cpu_shares)))
    if limits.cpu_quota is not None:
        period = f" {limits.cpu_period}" if limits.cpu_period else ""
        yield CgroupWrite("cpu", "cpu.max", f"{_or_max(limits.cpu_quota)}{period}")
    if limits.memory is not None:
        yield CgroupWrite("memory", MEMORY_V2, _or_max(limits.memory))
    if limits.pids is not None:
        yield CgroupWrite("pids", "pids.max", _or_max(limits.pids))
    for size, limit in limits.huge_pages.items():
        name = f"hugetlb.{page_size_name(size)}"
        yield CgroupWrite("hugetlb", f"{name}.max", str(limit), is_optional=True)
        yield CgroupWrite("hugetlb", f"{name}.rsvd.max", str(limit), is_optional=True)


def is_unlimited(text: str) -> bool:
    """Return whether the kernel's text says that there is no limit."""
    return text in {MAX, str(UNLIMITED)} or (text.isdigit() and int(text) >= _UNLIMITED_FROM)


def is_same(there: str, wanted: str) -> bool:
    """Return whether a file already says what is wanted."""
    return there == wanted or (is_unlimited(there) and is_unlimited(wanted))


def _or_max(limit: int) -> str:
    return MAX if limit == UNLIMITED else str(limit)
