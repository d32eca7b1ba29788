"""Lanes for work that may block: files of pods, cgroups, plugins and files of images."""

from __future__ import annotations

from typing import Final

from kernel import Lanes, LaneSize
from runtimes.cri.operations.flow import Disk, DiskLane

SIZES: Final = {
    DiskLane.FILES: LaneSize(64),
    DiskLane.CGROUPS: LaneSize(1, more=0),
    DiskLane.CGROUP_REMOVALS: LaneSize(4),
    DiskLane.REMOVALS: LaneSize(1, more=0),
    DiskLane.WORDS: LaneSize(4),
    DiskLane.LOGS: LaneSize(4),
    DiskLane.IMAGES: LaneSize(16),
}
"""A file system that hangs takes one thread for each container that uses it, however often that is tried
again: so there are more than pods that use one, and not any number. What is known of classes of cgroups is
one thread's alone, and each removal of files begins with those that an earlier one left: these two lanes have
no further thread while a job hangs."""


def disk_lanes() -> Disk:
    """Return lanes with threads of their own, which begin as they are needed."""
    return Lanes("cri", SIZES)
