"""What is written to which file of a cgroup, for v1 and for v2. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from files.cgroups.conversions import UNLIMITED, page_size_name, weight_of
from files.cgroups.limits import CgroupLimits

MAX: Final = "max"
QUOTA: Final = "cpu.cfs_quota_us"
PERIOD: Final = "cpu.cfs_period_us"
MEMORY_V1: Final = "memory.limit_in_bytes"
MEMORY_AND_SWAP: Final = "memory.memsw.limit_in_bytes"
MEMORY_V2: Final = "memory.max"
USED_V2: Final = "memory.current"
_UNLIMITED_FROM: Final = 2**62
"""Bytes. The kernel shows its largest number of whole pages for no limit."""


class CgroupWrite(NamedTuple):
    """One value in one file."""

    controller: str
    file: str
    text: str
    is_optional: bool = False
    """Whether there may be no such file: of pages of a size that the machine does not have, say."""


def v1_writes(limits: CgroupLimits) -> tuple[CgroupWrite, ...]:
    """Return what limits a cgroup of v1."""
    return (*_v1_cpu(limits), *_v1_rest(limits))


def _v1_cpu(limits: CgroupLimits) -> Iterator[CgroupWrite]:
    if limits.cpu_shares is not None:
        yield CgroupWrite("cpu", "cpu.shares", str(limits.cpu_shares))
    if limits.cpu_quota is None:
        return
    quota = CgroupWrite("cpu", QUOTA, str(limits.cpu_quota))
    period = [CgroupWrite("cpu", PERIOD, str(limits.cpu_period))] if limits.cpu_period else []
    # No period is refused while there is no quota.
    yield from (quota, *period) if limits.cpu_quota == UNLIMITED else (*period, quota)


def _v1_rest(limits: CgroupLimits) -> Iterator[CgroupWrite]:
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
