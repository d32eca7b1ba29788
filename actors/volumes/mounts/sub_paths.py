"""Mounting a part of a volume: opened safely, and bound to a place that no container can reach.

A runtime looks the path of a mount up again. So it is not given the path in the volume, which a container
can replace by a link meanwhile, but that of the bind.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from actors.volumes.mounts.places import (
    DIRECTORY,
    PARENT_MODE,
    VolumePlace,
    handle,
    make_inside,
    open_inside,
    opened_parent,
)
from actors.volumes.mounts.removal import unmount_all
from actors.volumes.mounts.system_calls import MountCalls, MountFlag

FILE_MODE: Final = 0o640
_KEPT: Final = {
    os.ST_NOSUID: MountFlag.NO_SUID,
    os.ST_NODEV: MountFlag.NO_DEVICES,
    os.ST_NOEXEC: MountFlag.NO_EXEC,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubPath:
    """A part of a volume that one container mounts."""

    volume: str
    """The volume's directory, or file. Links are followed up to it, and none out of it."""
    path: str = field(repr=False)
    """Expanded, relative, without ``..``. Values of Secrets may be part of it."""
    place: VolumePlace
    """Where the part is bound to."""
    read_only: bool = False
    may_make: bool = True
    """Whether what is missing is made, as a directory. Not in volumes that only the agent writes."""


def bind_sub_path(calls: MountCalls, wanted: SubPath) -> str:
    """Bind the part to its place, and return that path. Raises ``OSError``. May repeat.

    What is bound there already stays if it is the same part. One call for one place at a time.
    """
    with _source(wanted) as source, opened_parent(wanted.place) as parent:
        name = wanted.place.names[-1]
        if not _is_same(parent, name, source):
            unmount_all(calls, parent, name)
            with _target(parent, name, is_directory=_is_directory(source)) as target:
                calls.mount(handle(source), handle(target), "", MountFlag.BIND, "")
        if wanted.read_only:
            _be_read_only(calls, parent, name)
    return wanted.place.path


@contextmanager
def _source(wanted: SubPath) -> Iterator[int]:
    """Open the part. What is missing gets the mode of the volume: a group that may write there may here."""
    volume = os.open(wanted.volume, os.O_PATH | os.O_CLOEXEC)
    try:
        opened = _opened(volume, wanted)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{wanted.volume}/{wanted.path}") from None
    finally:
        os.close(volume)
    try:
        yield opened
    finally:
        os.close(opened)


def _opened(volume: int, wanted: SubPath) -> int:
    mode = os.fstat(volume).st_mode
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, "the volume is not a directory")
    if not wanted.may_make:
        return open_inside(volume, wanted.path)
    return make_inside(volume, wanted.path, mode & (stat.S_ISGID | 0o777))


@contextmanager
def _target(parent: int, name: str, *, is_directory: bool) -> Iterator[int]:
    """Have an empty file or directory to bind to. One of the other kind was for what the part was before."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        opened = os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        opened = -1
    if opened >= 0 and _is_directory(opened) != is_directory:
        os.close(opened)
        _remove_placeholder(parent, name)
        opened = -1
    if opened < 0:
        if is_directory:
            os.mkdir(name, PARENT_MODE, dir_fd=parent)
        else:
            created = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(name, created, FILE_MODE, dir_fd=parent))
        opened = os.open(name, flags, dir_fd=parent)
    try:
        yield opened
    finally:
        os.close(opened)


def _is_same(parent: int, name: str, source: int) -> bool:
    try:
        there = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(source))


def _be_read_only(calls: MountCalls, parent: int, name: str) -> None:
    """Change the bind alone: a bind that is made read-only in one call stays writable."""
    opened = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        flags = os.fstatvfs(opened).f_flag
        if flags & os.ST_RDONLY:
            return
        kept = MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY
        for each, flag in _KEPT.items():
            kept |= flag if flags & each else MountFlag.NONE
        calls.mount("", handle(opened), "", kept, "")
    finally:
        os.close(opened)


def _is_directory(opened: int) -> bool:
    return stat.S_ISDIR(os.fstat(opened).st_mode)


def _remove_placeholder(parent: int, name: str) -> None:
    try:
        opened = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        os.unlink(name, dir_fd=parent)
        return
    os.close(opened)
    os.rmdir(name, dir_fd=parent)
