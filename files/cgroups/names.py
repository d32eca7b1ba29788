"""Names of cgroups under both drivers. Pure.

A cgroup's name is the parts of its path, as ``("kubepods", "burstable", "podUID")``. Each driver writes it in
its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, TypeAlias

from files.cgroups.options import CgroupDriver, CgroupOptions
from manifests.qos import QosClass

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
