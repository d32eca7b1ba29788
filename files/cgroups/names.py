"""The configuration of cgroups, and their names under both drivers. Pure.

A cgroup's name is the parts of its path, as ``("kubepods", "burstable", "podUID")``. Each driver writes it in
its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Final, TypeAlias

from manifests.qos import QosClass
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


CgroupName: TypeAlias = tuple[str, ...]

PODS: Final = "kubepods"
_POD: Final = "pod"
_SLICE: Final = ".slice"
_LEVELS: Final = {QosClass.BURSTABLE: ("burstable",), QosClass.BEST_EFFORT: ("besteffort",)}
LEVELS: Final = tuple(_LEVELS)
"""The classes that have a cgroup of their own. Guaranteed pods are in that of all pods."""
_UID = re.compile(r"[A-Za-z0-9_.-]{1,200}")


def is_plain_uid(uid: str) -> bool:
    """Return whether a pod's UID can be part of a cgroup's name."""
    return _UID.fullmatch(uid) is not None


def name_of_pods(options: CgroupOptions) -> CgroupName:
    """Return the cgroup that all pods are in."""
    return (*(part for part in options.root.split("/") if part), PODS)


def name_of_level(options: CgroupOptions, qos: QosClass) -> CgroupName:
    """Return the cgroup that pods of this class are in."""
    return name_of_pods(options) + _LEVELS.get(qos, ())


def name_of_pod(options: CgroupOptions, qos: QosClass, uid: str) -> CgroupName:
    """Return a pod's own cgroup."""
    return name_in_level(name_of_level(options, qos), uid)


def name_in_level(level: CgroupName, uid: str) -> CgroupName:
    """Return what cgroup a pod has or would have in that of a class."""
    return (*level, _POD + uid)


def names_above(name: CgroupName) -> tuple[CgroupName, ...]:
    """Return what a cgroup is in, from the top down."""
    return tuple(name[:depth] for depth in range(1, len(name)))


def path_of(name: CgroupName, driver: CgroupDriver) -> str:
    """Return the path of a cgroup, which is also what a runtime is told as the parent of a sandbox.

    Under systemd each slice is in those whose names its own name begins with.
    """
    if driver is CgroupDriver.CGROUPFS:
        return "/" + "/".join(name)
    return "".join(f"/{each}" for each in slices_of(name))


def slices_of(name: CgroupName) -> tuple[str, ...]:
    """Return the slices that a cgroup consists of under systemd, the innermost one last."""
    parts = (part.replace("-", "_") for part in name)
    return tuple(f"{each}{_SLICE}" for each in accumulate(parts, "{}-{}".format))


def uid_in(folder: str, driver: CgroupDriver) -> str:
    """Return the UID in a pod's cgroup's folder as it is written there; empty if it is no pod's.

    Under systemd dashes are underscores: compare with ``written_uid``.
    """
    last = folder
    if driver is CgroupDriver.SYSTEMD:
        if not folder.endswith(_SLICE):
            return ""
        last = folder.removesuffix(_SLICE).rpartition("-")[2]
    uid = last.removeprefix(_POD)
    return uid if last.startswith(_POD) and is_plain_uid(uid) else ""


def written_uid(uid: str, driver: CgroupDriver) -> str:
    """Return how a pod's UID is written in the name of its cgroup's folder."""
    return uid.replace("-", "_") if driver is CgroupDriver.SYSTEMD else uid


def written_uids(uids: Iterable[str], driver: CgroupDriver) -> frozenset[str]:
    """Return how these are written."""
    return frozenset(written_uid(uid, driver) for uid in uids)
