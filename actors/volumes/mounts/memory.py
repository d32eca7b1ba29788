"""One file system in memory for each volume: a full one takes nothing from its neighbours.

What is mounted already is kept. A second one on top of it would hide its content from the agent, while
containers go on with the first one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from actors.volumes.mounts.places import DIRECTORY, PRIVATE_MODE, VolumePlace, handle, opened_parent
from actors.volumes.mounts.system_calls import MountCalls, MountFlag

PAGE: Final = os.sysconf("SC_PAGESIZE")
TMPFS: Final = 0x01021994
"""The kernel's number for the type."""
ANYBODY: Final = 0o1777
GROUP_TOO: Final = 0o3777
_GENERATIONS: Final = 2
"""Of a volume's content that are there at one time: the old one, and the one that is being written."""
_SPARE_FILES: Final = 32
_SPARE_BYTES: Final = 64 << 10
_REFUSED: Final = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENODEV}


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPowers:
    """What the agent can do here. Looked at once."""

    can_mount: bool
    has_noswap: bool
    """Whether memory of such a file system can be kept out of the node's swap."""
    trouble: str = ""
    """Why nothing can be mounted, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRoom:
    """How much a file system in memory may hold."""

    size: int
    """Bytes. Whole pages count."""
    files: int | None = None
    """Files, directories and links in all; None for the kernel's own limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeVolume:
    """A volume's directory is there."""

    path: str
    is_in_memory: bool
    notice: str = ""
    """What people should know: why it is on the disk, say."""


def room_for_files(sizes: Iterable[int], directories: int = 0) -> MemoryRoom:
    """Return the room for content with files of these sizes, and for the next one beside it."""
    all_sizes = tuple(sizes)
    pages = sum(-(-size // PAGE) for size in all_sizes)
    entries = len(all_sizes) + directories + 1
    # A link with a long name takes a page. There is one for each file, at most.
    size = _GENERATIONS * pages * PAGE + len(all_sizes) * PAGE + _SPARE_BYTES
    return MemoryRoom(size=size, files=_GENERATIONS * entries + len(all_sizes) + _SPARE_FILES)


def options_of(room: MemoryRoom, powers: MountPowers, group: int | None = None) -> str:
    """Return the options to mount with."""
    words = [f"size={room.size}", f"mode={ANYBODY if group is None else GROUP_TOO:o}"]
    if room.files is not None:
        words.append(f"nr_inodes={room.files}")
    if group is not None:
        words.append(f"gid={group}")
    if powers.has_noswap:
        words.append("noswap")
    return ",".join(words)


def look_at_powers(calls: MountCalls, scratch: VolumePlace) -> MountPowers:
    """Return what can be done here, by doing it in a directory that is nobody else's. It is gone after that.

    Raises ``OSError`` if the directory cannot be made.
    """
    with opened_parent(scratch) as parent:
        name = scratch.names[-1]
        with suppress(FileExistsError):
            os.mkdir(name, PRIVATE_MODE, dir_fd=parent)
        try:
            return _tried(calls, parent, name)
        finally:
            _take_away(calls, parent, name)
            os.rmdir(name, dir_fd=parent)


def make_in_memory(
    calls: MountCalls,
    place: VolumePlace,
    room: MemoryRoom,
    powers: MountPowers,
    group: int | None = None,
) -> MadeVolume:
    """Have a file system in memory at the place, or a directory where nothing can be mounted.

    What is there already is kept, and gets the room if it had another. Raises ``OSError``, also if something
    else is mounted there. May repeat. One call for one place at a time.
    """
    with opened_parent(place, parent_mode=PRIVATE_MODE) as parent:
        name = place.names[-1]
        with suppress(FileExistsError):
            os.mkdir(name, PRIVATE_MODE, dir_fd=parent)
        opened = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            if is_mounted(parent, opened):
                _adopt(calls, opened, room, powers)
                return MadeVolume(path=place.path, is_in_memory=True)
            if reason := _reason_for_disk(opened, powers):
                _be_directory(opened, group)
                return MadeVolume(path=place.path, is_in_memory=False, notice=reason)
            options = options_of(room, powers, group)
            calls.mount("tmpfs", handle(opened), "tmpfs", MountFlag.NONE, options)
        finally:
            os.close(opened)
    return MadeVolume(path=place.path, is_in_memory=True)


def is_mounted(parent: int, opened: int) -> bool:
    """Whether ``opened`` is another file system than the directory that it is in."""
    return os.fstat(parent).st_dev != os.fstat(opened).st_dev


def _adopt(calls: MountCalls, opened: int, room: MemoryRoom, powers: MountPowers) -> None:
    """Keep what is mounted. Its content stays, and what has it mounted sees the new room."""
    if calls.kind_of(opened) != TMPFS:
        raise OSError(errno.EBUSY, "something else is mounted there")
    about = os.fstatvfs(opened)
    has_size = about.f_blocks * about.f_frsize == -(-room.size // PAGE) * PAGE
    if has_size and room.files in {None, about.f_files}:
        return
    words = [f"size={room.size}"] + [f"nr_inodes={room.files}"] * (room.files is not None)
    # Whether memory may be swapped is decided for good by the first mounting.
    swapping = [["noswap"], []] if powers.has_noswap else [[]]
    for number, more in enumerate(swapping, 1):
        try:
            options = ",".join([*words, *more])
            calls.mount("tmpfs", handle(opened), "tmpfs", MountFlag.REMOUNT, options)
        except OSError as error:
            if error.errno != errno.EINVAL or number == len(swapping):
                raise
        else:
            return


def _reason_for_disk(opened: int, powers: MountPowers) -> str:
    if not powers.can_mount:
        return f"it is on the disk, since nothing can be mounted here: {powers.trouble}"
    if _has_entries(opened):
        # Containers may have it mounted: they would never see what is written over it.
        return "it stays on the disk, where it was before"
    return ""


def _has_entries(opened: int) -> bool:
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=opened)
    try:
        with os.scandir(listed) as entries:
            return next(entries, None) is not None
    finally:
        os.close(listed)


def _be_directory(opened: int, group: int | None) -> None:
    """Be as open as a file system in memory is: only the directory above keeps others of the node out."""
    if group is not None:
        os.chown(handle(opened), -1, group)
    os.chmod(handle(opened), ANYBODY if group is None else GROUP_TOO)  # noqa: PTH101


def _tried(calls: MountCalls, parent: int, name: str) -> MountPowers:
    trouble = ""
    for options in ("size=4k,noswap", "size=4k"):
        _take_away(calls, parent, name)
        try:
            calls.mount("tmpfs", f"{handle(parent)}/{name}", "tmpfs", MountFlag.NONE, options)
        except OSError as error:
            trouble = error.strerror or str(error.errno)
            if error.errno in _REFUSED:
                break
        else:
            return MountPowers(can_mount=True, has_noswap="noswap" in options)
    return MountPowers(can_mount=False, has_noswap=False, trouble=trouble)


def _take_away(calls: MountCalls, parent: int, name: str) -> None:
    """Unmount, also what a process that was killed amid this had mounted."""
    with suppress(OSError):
        calls.unmount(f"{handle(parent)}/{name}")
