"""The configuration of cgroups, and which of it cannot be obeyed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from manifests.requests import Amounts
from messages.units import Seconds

NO_PIDS_LIMIT: Final = -1
_PODS: Final = "pods"
_SHORTEST_PERIOD: Final = 0.001
_LONGEST_PERIOD: Final = 1.0


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
    """Return a sentence for each option that cannot be obeyed with cgroups of v2, or without."""
    if options.is_one_killed_alone is False and not is_unified:
        return ("singleProcessOOMKill can be false under cgroup v2 alone",)
    return ()
