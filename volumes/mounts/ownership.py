"""Giving a volume to the group of a pod's files, step by step.

The steps follow no link and enter no other mount, whatever containers do meanwhile. The root of the volume is
changed last: so what a crash cut short is seen by its root, and done again.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from volumes.mounts.places import handle
from volumes.mounts.safe_opening import open_plain

ENTRIES_OF_A_STEP: Final = 256
"""Some 5 ms on a quiet machine."""
_READ: Final = 0o440
_READ_WRITE: Final = 0o660
_DIRECTORY_TOO: Final = stat.S_ISGID | 0o110
_LISTING: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NAMED: Final = os.O_PATH | os.O_NOFOLLOW
_GONE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV}
"""What was listed is not there any more, or was replaced, or is another mount."""


class GroupChangePolicy(StrEnum):
    """When a volume is given to the group, in the API's words."""

    ALWAYS = "Always"
    ON_ROOT_MISMATCH = "OnRootMismatch"


def steps_to_group(
    volume: int, group: int, policy: GroupChangePolicy, *, read_only: bool = False
) -> Iterator[int]:
    """Give all below the open directory ``volume`` to ``group``. Yields how many entries each step looked at.

    Whoever calls may stop after any step, and start again later. Raises ``OSError``.
    """
    if policy is GroupChangePolicy.ON_ROOT_MISMATCH and _fits(os.fstat(volume), group, read_only):
        return
    pending = [""]
    looked_at = 0
    while pending:
        path = pending.pop()
        listed = _listed(volume, path)
        if listed is None:
            continue
        try:
            if path:
                _give(listed, group, read_only=read_only)
            with os.scandir(listed) as entries:
                for entry in entries:
                    below = f"{path}/{entry.name}" if path else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(below)
                    else:
                        _give_entry(listed, entry.name, group, read_only=read_only)
                    looked_at += 1
                    if looked_at % ENTRIES_OF_A_STEP == 0:
                        yield ENTRIES_OF_A_STEP
        finally:
            os.close(listed)
    _give(volume, group, read_only=read_only)
    yield looked_at % ENTRIES_OF_A_STEP


def _fits(about: os.stat_result, group: int, read_only: bool) -> bool:  # noqa: FBT001
    wanted = _DIRECTORY_TOO | (_READ if read_only else _READ_WRITE)
    return about.st_gid == group and about.st_mode & wanted == wanted


def _listed(volume: int, path: str) -> int | None:
    try:
        return open_plain(volume, path, _LISTING)
    except OSError as error:
        if path and error.errno in _GONE:
            return None
        raise


def _give_entry(directory: int, name: str, group: int, *, read_only: bool) -> None:
    try:
        opened = open_plain(directory, name, _NAMED)
    except OSError as error:
        if error.errno in _GONE:
            return
        raise
    try:
        _give(opened, group, read_only=read_only)
    finally:
        os.close(opened)


def _give(opened: int, group: int, *, read_only: bool) -> None:
    """Change exactly what is open. What has nothing to change is not written to."""
    about = os.fstat(opened)
    if stat.S_ISLNK(about.st_mode):
        # Nobody looks at the group of a link, and its mode means nothing.
        return
    added = (_READ if read_only else _READ_WRITE) | (
        _DIRECTORY_TOO if stat.S_ISDIR(about.st_mode) else 0
    )
    mode = stat.S_IMODE(about.st_mode)
    if about.st_gid != group:
        os.chown(handle(opened), -1, group)
    # Changing the group takes some bits of a mode away. So the mode comes second.
    if about.st_gid != group or mode | added != mode:
        os.chmod(handle(opened), mode | added)  # noqa: PTH101
