"""Unmounting, and removing the files of volumes and pods of which nothing is left.

Containers can mount things into their volumes that the node sees, too. What is mounted is never removed, and
neither is anything beside it: the directory stays as it is then.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from secrets import token_hex
from typing import Final

from actors.volumes.mounts.mount_table import MountPoint, mounts_below
from actors.volumes.mounts.places import (
    DIRECTORY,
    LEAVING,
    VolumePlace,
    handle,
    open_plain,
    opened_parent,
)
from actors.volumes.mounts.system_calls import KernelMounts, MountCalls

_MOVED: Final = ".moved-"
_MOST_MOUNTS: Final = 64
"""On top of each other at one place."""
_LISTING: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unmounted(Enum):
    """What became of a mount."""

    NOTHING_THERE = auto()
    DONE = auto()
    DETACHED = auto()
    """Somebody uses it still. It cannot be reached any more, and ends with its last user."""


def unmount_volume(calls: MountCalls, place: VolumePlace, *, detach: bool = False) -> Unmounted:
    """Unmount what is at the place. Raises ``OSError`` (``EBUSY`` while it is in use). May repeat.

    With ``detach``, what is in use is detached instead: the last resort, which the caller tells people of. No
    file system is asked anything, so one that does not answer is detached as well.
    """
    with suppress(FileNotFoundError), opened_parent(place, is_made=False) as parent:
        name = place.names[-1]
        try:
            return Unmounted.DONE if unmount_all(calls, parent, name) else Unmounted.NOTHING_THERE
        except OSError as error:
            if error.errno != errno.EBUSY or not detach:
                raise
        calls.unmount(f"{handle(parent)}/{name}", lazily=True)
        return Unmounted.DETACHED
    return Unmounted.NOTHING_THERE


def unmount_all(calls: MountCalls, parent: int, name: str) -> int:
    """Unmount all that is on top of each other at a name in an open directory. Return how many there were.

    Raises ``OSError``, but not if nothing is mounted there.
    """
    for number in range(_MOST_MOUNTS):
        try:
            calls.unmount(f"{handle(parent)}/{name}")
        except OSError as error:
            # Who may not unmount anything has not mounted anything, either.
            if error.errno in {errno.EINVAL, errno.ENOENT, errno.EPERM}:
                return number
            raise
    return _MOST_MOUNTS


def remove_pod_files(
    directory: str, calls: MountCalls | None = None, *, mounts: Sequence[MountPoint] | None = None
) -> str:
    """Remove the directory of a pod, or of a volume. Return why it stays; empty once it is gone. May repeat.

    One call at a time: it also removes what an earlier one had begun to remove. ``mounts`` are those that
    there are, if that was looked at just now.
    """
    path = Path(directory)
    table = _Table(calls or KernelMounts(), mounts)
    try:
        _finish_earlier(path.parent, table)
        if not _is_directory(path):
            return ""
        if (mounted := table.below(path)) is not None:
            return f"{path} stays: something is mounted at {mounted}"
        leaving = path.with_name(f"{LEAVING}{path.name}")
        path.rename(leaving)
        remove_tree(leaving)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    return ""


def remove_tree(path: Path) -> None:
    """Remove a directory with all in it. Links are not followed, and mounts not entered. Raises ``OSError``.

    Directories in it are moved to its top first, one by one. So it does not matter how deep they are.
    """
    top = os.open(path, DIRECTORY | os.O_NOFOLLOW)
    try:
        _empty(top, top)
        while found := _entries(top):
            for name, _ in found:
                _remove_one(top, name)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{path}/{error.filename or ''}") from None
    finally:
        os.close(top)
    path.rmdir()


def _remove_one(top: int, name: str) -> None:
    try:
        opened = open_plain(top, name, DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        os.unlink(name, dir_fd=top)
        return
    try:
        _empty(opened, top)
    finally:
        os.close(opened)
    os.rmdir(name, dir_fd=top)


def _empty(directory: int, top: int) -> None:
    """Remove the files of a directory, and move the directories in it to the top."""
    for name, is_directory in _entries(directory):
        if not is_directory:
            os.unlink(name, dir_fd=directory)
        elif directory != top:
            moved = f"{_MOVED}{token_hex(8)}"
            os.rename(name, moved, src_dir_fd=directory, dst_dir_fd=top)


def _entries(directory: int) -> list[tuple[str, bool]]:
    """Return the names in a directory, and whether each is a directory. Nothing that is named is asked."""
    listed = os.open(".", _LISTING, dir_fd=directory)
    try:
        with os.scandir(listed) as entries:
            return [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
    finally:
        os.close(listed)


class _Table:
    """What is mounted: as it was seen just now, or as it is when that is asked."""

    def __init__(self, calls: MountCalls, mounts: Sequence[MountPoint] | None) -> None:
        self._calls = calls
        self._mounts = mounts

    def below(self, path: Path) -> str | None:
        """Return where something is mounted below ``path``; None if nothing is."""
        mounts = self._calls.table() if self._mounts is None else self._mounts
        found = mounts_below(mounts, os.path.realpath(path))
        return found[0].path if found else None


def _finish_earlier(parent: Path, table: _Table) -> None:
    """Remove what was being removed when the agent ended."""
    if not _is_directory(parent):
        return
    with os.scandir(parent) as entries:
        left = [each.path for each in entries if each.name.startswith(LEAVING)]
    for each in left:
        if table.below(Path(each)) is None:
            remove_tree(Path(each))


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False
