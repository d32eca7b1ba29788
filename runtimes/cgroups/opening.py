"""Finds out what cgroups this machine has, and opens them."""

from __future__ import annotations

from pathlib import Path

from runtimes.cgroups.files import KernelFiles
from runtimes.cgroups.mounts import CgroupMounts, mounts_in
from runtimes.cgroups.options import CgroupDriver, CgroupOptions
from runtimes.cgroups.pod_cgroups import PodCgroups
from runtimes.cgroups.trees import CgroupTree
from runtimes.cgroups.v1_tree import V1Tree
from runtimes.cgroups.v2_tree import V2Tree

_KIBI = 1024


def open_cgroups(options: CgroupOptions, system: Path = Path("/")) -> PodCgroups:
    """Return the cgroups of pods on the machine whose ``/proc`` and ``/sys`` are below ``system``."""
    mounts = mounts_in(_text(system / "proc/self/mountinfo"))
    return PodCgroups(
        options, _tree(mounts), _trouble(options, mounts, system), page_sizes_of(system)
    )


def page_sizes_of(system: Path) -> tuple[int, ...]:
    """Return the sizes of huge pages that the machine has, in bytes."""
    folders = (system / "sys/kernel/mm/hugepages").glob("hugepages-*kB")
    sizes = (each.name.removeprefix("hugepages-").removesuffix("kB") for each in folders)
    return tuple(sorted(int(size) * _KIBI for size in sizes if size.isdecimal()))


def _tree(mounts: CgroupMounts) -> CgroupTree | None:
    if mounts.is_unified:
        return V2Tree(KernelFiles(), mounts.v2)
    return V1Tree(KernelFiles(), mounts) if mounts.v1 else None


def _trouble(options: CgroupOptions, mounts: CgroupMounts, system: Path) -> str:
    if options.driver is CgroupDriver.SYSTEMD and not (system / "run/systemd/system").is_dir():
        return "cgroupDriver is systemd, and systemd does not run here"
    return mounts.trouble


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
