"""Work on the cgroup of a pod, on the threads for it and in the order in which it was asked for. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kernel import Operation
from messages.pods import PodUid
from runtimes.cri.cgroups.pod_cgroups import PodCgroups, turn_of
from runtimes.cri.operations.flow import DiskLane, on_disk

T = TypeVar("T")


def on_cgroups(work: Callable[[], T], uid: PodUid) -> Operation[T]:
    """Make or limit the cgroup of a pod. Raises ``DiskError``."""
    return (yield from on_disk(work, DiskLane.CGROUPS, turn=turn_of(uid)))


def without_cgroup(uid: PodUid, cgroups: PodCgroups) -> Operation[bool]:
    """Remove the cgroup of a pod, and return whether it is gone. Raises ``DiskError``."""
    work = partial(cgroups.remove, uid)
    return (yield from on_disk(work, DiskLane.CGROUP_REMOVALS, turn=turn_of(uid)))
