"""Volumes of the kind ``emptyDir``: on the disk, and of large pages. ``memory`` has those in memory.

The limit of one on the disk is not enforced by the file system: going beyond it is a reason to evict the pod.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from actors.volumes.mounts.memory import ANYBODY, GROUP_TOO, MadeVolume, is_mounted
from actors.volumes.mounts.places import DIRECTORY, PARENT_MODE, VolumePlace, handle, opened_parent
from actors.volumes.mounts.system_calls import MountCalls, MountFlag

DISK_MODE: Final = 0o777
GROUP_MODE: Final = 0o2777
HUGETLBFS: Final = 0x958458F6
"""The kernel's number for the type."""


def make_on_disk(path: Path, marker: Path, group: int | None) -> None:
    """Make a directory that anybody can write to. Raises ``OSError``. May repeat.

    One that was finished before, as ``marker`` says, stays as it is: containers may have changed it. One that
    somebody has taken away since is made again.
    """
    if marker.exists() and path.is_dir():
        return
    path.parent.mkdir(PARENT_MODE, parents=True, exist_ok=True)
    path.mkdir(exist_ok=True)
    if group is not None:
        os.chown(path, -1, group, follow_symlinks=False)
    path.chmod(DISK_MODE if group is None else GROUP_MODE)
    marker.parent.mkdir(PARENT_MODE, parents=True, exist_ok=True)
    marker.touch()


def make_of_huge_pages(
    calls: MountCalls, place: VolumePlace, page_size: int, group: int | None = None
) -> MadeVolume:
    """Have a file system of pages of this size at the place. Raises ``OSError``. May repeat.

    What the pod may use of it is limited by its cgroup.
    """
    with opened_parent(place) as parent:
        name = place.names[-1]
        with suppress(FileExistsError):
            os.mkdir(name, PARENT_MODE, dir_fd=parent)
        opened = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            if is_mounted(parent, opened):
                _check_kept(calls, opened, page_size)
            else:
                words = [f"pagesize={page_size}", f"mode={ANYBODY:o}"]
                words += [f"gid={group}"] * (group is not None)
                target = handle(opened)
                calls.mount("nodev", target, "hugetlbfs", MountFlag.NONE, ",".join(words))
        finally:
            os.close(opened)
        if group is not None:
            _be_of_group(parent, name)
    return MadeVolume(path=place.path, is_in_memory=True)


def _check_kept(calls: MountCalls, opened: int, page_size: int) -> None:
    if calls.kind_of(opened) != HUGETLBFS or os.fstatvfs(opened).f_bsize != page_size:
        raise OSError(errno.EBUSY, "something else is mounted there")


def _be_of_group(parent: int, name: str) -> None:
    """Let new files have the group, too: this file system takes no such mode as an option."""
    opened = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if not os.fstat(opened).st_mode & stat.S_ISGID:
            os.chmod(handle(opened), GROUP_TOO)  # noqa: PTH101
    finally:
        os.close(opened)
