"""Finds out what cgroups this machine has, and opens them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from files.cgroups.files import KernelFiles
from files.cgroups.kernel_trees import V1Tree, V2Tree
from files.cgroups.mounts import CgroupMounts, mounts_in
from files.cgroups.names import CgroupDriver, CgroupOptions
from files.cgroups.systemd_tree import SystemdTree
from files.cgroups.trees import CgroupTree, CgroupWork, FolderTree, TimedTree
from runtimes.cri.cgroups.pod_cgroups import PodCgroups

_KIBI = 1024


def open_cgroups(
    options: CgroupOptions,
    system: Path = Path("/"),
    noted: Callable[[CgroupWork], None] = lambda _: None,
) -> PodCgroups:
    """Return the cgroups of pods on the machine whose ``/proc`` and ``/sys`` are below ``system``.

    ``noted`` hears of each cgroup that was made, limited or removed, on the thread that did it.
    """
    mounts = mounts_in(_text(system / "proc/self/mountinfo"))
    folders = _folders(mounts)
    tree: CgroupTree | None = folders
    if folders is not None and options.driver is CgroupDriver.SYSTEMD:
        tree = SystemdTree(folders)
    if tree is not None:
        tree = TimedTree(tree, noted, time.monotonic)
    trouble = _trouble(options, mounts, system)
    return PodCgroups(options, tree, trouble, page_sizes_of(system))


def page_sizes_of(system: Path) -> tuple[int, ...]:
    """Return the sizes of huge pages that the machine has, in bytes."""
    folders = (system / "sys/kernel/mm/hugepages").glob("hugepages-*kB")
    sizes = (each.name.removeprefix("hugepages-").removesuffix("kB") for each in folders)
    return tuple(sorted(int(size) * _KIBI for size in sizes if size.isdecimal()))


def _folders(mounts: CgroupMounts) -> FolderTree | None:
    if mounts.is_unified:
        return V2Tree(KernelFiles(), mounts.v2)
    return V1Tree(KernelFiles(), mounts) if mounts.v1 else None


def _trouble(options: CgroupOptions, mounts: CgroupMounts, system: Path) -> str:
    if options.driver is CgroupDriver.SYSTEMD:
        if not (system / "run/systemd/system").is_dir():
            return "cgroupDriver is systemd, and systemd does not run here"
        if shutil.which("systemctl") is None:
            return "cgroupDriver is systemd, and there is no systemctl to ask it by"
    return mounts.trouble


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
