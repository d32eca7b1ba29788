"""What is configured of cgroups, and what of it cannot be obeyed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from manifests.requests import Amounts
from messages.units import Seconds

NO_PIDS_LIMIT: Final = -1
_PODS: Final = "pods"
_NOTHING: Final = "none"
_SHORTEST_PERIOD: Final = 0.001
_LONGEST_PERIOD: Final = 1.0
_ROOT = re.compile(r"(?:/[A-Za-z0-9_.:@-]{1,200}){0,16}/?")


class CgroupDriver(StrEnum):
    """Who makes cgroups. The runtime of containers must have the same."""

    CGROUPFS = "cgroupfs"
    """Folders are made in the cgroup file systems."""
    SYSTEMD = "systemd"
    """Every cgroup is a slice of systemd's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupOptions:
    """How cgroups are kept. Defaults are a kubelet's."""

    per_qos: bool = True
    """Whether pods have cgroups of their own. Otherwise containers are wherever the runtime puts them."""
    root: str = "/"
    """The cgroup that ``kubepods`` is made in. It must be there."""
    driver: CgroupDriver = CgroupDriver.CGROUPFS
    pods_pids: int = NO_PIDS_LIMIT
    """How many processes and threads a pod may have. Less than 1 is no limit."""
    has_cpu_quota: bool = True
    """Whether limits of cpu are enforced."""
    cpu_period: Seconds = Seconds(0.1)
    """The time in which a quota of cpu is used up and given anew: from 1 ms to 1 s."""
    is_one_killed_alone: bool | None = None
    """Whether a process that is out of memory dies alone, not with its whole container. None is the default:
    alone under cgroup v1, where nothing else is possible, and not under v2."""
    enforced: frozenset[str] = frozenset({_PODS})
    """What is held to its share of the node. Only ``pods`` is supported."""
    system_cgroup: str = ""
    """The cgroup of the system's daemons. Not supported."""
    kube_cgroup: str = ""
    """The cgroup of the node's own daemons. Not supported."""
    capacity: Amounts = field(default_factory=dict)
    """What the node has: cpu in thousandths, memory in bytes, ``pid``, ``hugepages-2Mi``."""
    reserved: Amounts = field(default_factory=dict)
    """What of it is not for pods: kubeReserved and systemReserved together."""

    @property
    def for_pods(self) -> Mapping[str, int]:
        """What all pods together may use. Thresholds of eviction are not taken off, as kubelets do not."""
        if _PODS not in self.enforced:
            return self.capacity
        return {
            name: max(0, amount - self.reserved.get(name, 0))
            for name, amount in self.capacity.items()
        }

    @property
    def period(self) -> int:
        """``cpu_period`` in microseconds, within what the Linux kernel takes."""
        bounded = min(max(self.cpu_period, _SHORTEST_PERIOD), _LONGEST_PERIOD)
        return round(bounded * 1_000_000)


def refusals(options: CgroupOptions, *, is_unified: bool = True) -> tuple[str, ...]:
    """Return a sentence for each option that cannot be obeyed, with cgroups of v2 or without."""
    if options.is_one_killed_alone is False and not is_unified:
        return (*_refusals(options), "singleProcessOOMKill can be false under cgroup v2 alone")
    return tuple(_refusals(options))


def _refusals(options: CgroupOptions) -> Iterator[str]:
    for name in sorted(options.enforced - {_PODS, _NOTHING}):
        yield f"enforceNodeAllocatable: {name} is not supported: only pods are held to their share"
    if options.system_cgroup:
        yield "systemReservedCgroup is not supported: only pods have cgroups of the agent's"
    if options.kube_cgroup:
        yield "kubeReservedCgroup is not supported: only pods have cgroups of the agent's"
    if options.enforced - {_NOTHING} and not options.per_qos:
        yield "enforceNodeAllocatable needs cgroupsPerQOS: without it there is no cgroup of all pods"
    if not _SHORTEST_PERIOD <= options.cpu_period <= _LONGEST_PERIOD:
        yield f"cpuCFSQuotaPeriod must be from 1ms to 1s, not {options.cpu_period} s"
    if not is_root(options.root):
        yield f"cgroupRoot must be an absolute path of plain names, not {options.root!r}"


def is_root(root: str) -> bool:
    """Return whether ``root`` is a path that leads nowhere but down."""
    parts = root.split("/")
    return bool(_ROOT.fullmatch(root)) and not {".", ".."} & set(parts)
