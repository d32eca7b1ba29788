"""Directories of volumes: opened step by step, and never through a link.

Whoever may write into a volume may put a link into it at any moment. So each name is looked up in its open
directory, and nothing is removed across a mount.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE: Final = 0o600
_LONGEST_INFO: Final = 4096
_DEEPEST: Final = 128
"""Directories within each other: more than payloads have. What is deeper was made by somebody else."""


@contextmanager
def opened(name: str, parent: int | None = None) -> Iterator[int]:
    """Open a directory for the ``with`` block. Raises OSError: also where the last name is a link's."""
    directory = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        yield directory
    finally:
        os.close(directory)


def is_directory(name: str, parent: int) -> bool:
    """Return whether there is a directory of that name: no link to one."""
    with suppress(FileNotFoundError):
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return False


def read_file(name: str, parent: int) -> tuple[os.stat_result, bytes] | None:
    """Return what is known of a plain file, and its content; None if it is anything else."""
    try:
        file = os.open(name, _FILE, dir_fd=parent)
    except OSError:
        return None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return None
        read = [os.read(file, about.st_size + 1)]
        while read[-1]:
            read.append(os.read(file, about.st_size + 1))
        return about, b"".join(read)
    finally:
        os.close(file)


def write_file(name: str, parent: int, data: bytes, mode: int, owner: tuple[int, int]) -> None:
    """Make a file with all of ``data``. Raises OSError: also where there is anything of that name.

    ``owner`` is a user and a group, -1 for whoever writes. They come before the mode, which they would
    change.
    """
    file = os.open(name, _NEW_FILE, _NEW_MODE, dir_fd=parent)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]  # a full disk takes a part without an error
        if owner != (-1, -1):
            os.fchown(file, *owner)
        os.fchmod(file, mode)
    finally:
        os.close(file)


def remove_all(name: str, parent: int) -> None:
    """Remove whatever has that name, and what is in it. Raises OSError, but not if there is nothing.

    A directory that something is mounted on, or in, stays.
    """
    with suppress(FileNotFoundError):
        if is_directory(name, parent):
            _remove_directory(name, parent, _mount_of(parent))
        else:
            os.unlink(name, dir_fd=parent)


def _remove_directory(name: str, parent: int, mount: bytes, depth: int = 0) -> None:
    with opened(name, parent) as directory:
        if depth > _DEEPEST:
            raise OSError(errno.ELOOP, "Too many directories within each other", name)
        if _mount_of(directory) != mount:
            raise OSError(errno.EBUSY, "Something is mounted there", name)
        with os.scandir(directory) as found:
            inside = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
        for each, is_inner in inside:
            if is_inner:
                _remove_directory(each, directory, mount, depth + 1)
            else:
                os.unlink(each, dir_fd=directory)
    os.rmdir(name, dir_fd=parent)


def _mount_of(directory: int) -> bytes:
    """Return which mount an open directory is of: one file system may be mounted at many places."""
    file = os.open(f"/proc/self/fdinfo/{directory}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        about = os.read(file, _LONGEST_INFO)
    finally:
        os.close(file)
    return next(line for line in about.splitlines() if line.startswith(b"mnt_id:"))
