"""The kernel's calls for mounts that Python does not have. All of them block.

An error is an ``OSError`` with the number that the kernel gave. ``MountCalls`` is what the rest of this room
uses, so that tests can stand in for a kernel that refuses, or that does not answer.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
from enum import IntFlag
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

from actors.volumes.mounts.mount_table import MountPoint, mounts_of

_MOUNT_TABLE: Final = Path("/proc/self/mountinfo")
_OPENAT2: Final = 437
"""The same on all processors, as every call since 2019."""
_ROOM_FOR_STATFS: Final = 256
_UMOUNT_NOFOLLOW: Final = 8
_MNT_DETACH: Final = 2


class MountFlag(IntFlag):
    """What ``mount`` is told beside its options."""

    NONE = 0
    READ_ONLY = 1
    NO_SUID = 2
    NO_DEVICES = 4
    NO_EXEC = 8
    REMOUNT = 32
    BIND = 4096
    PRIVATE = 1 << 18


class Resolve(IntFlag):
    """How ``openat2`` may go from one name to the next."""

    NO_XDEV = 1
    NO_MAGICLINKS = 2
    NO_SYMLINKS = 4
    BENEATH = 8


class MountCalls(Protocol):
    """What is asked of the kernel. Errors are ``OSError``."""

    def table(self) -> tuple[MountPoint, ...]:
        """Return everything that is mounted. With 1,000 mounts this takes some 5 ms."""
        ...

    def mount(self, source: str, target: str, kind: str, flags: MountFlag, options: str) -> None:
        """Mount a file system of this kind at ``target``, or change what is mounted there."""
        ...

    def unmount(self, target: str, *, lazily: bool = False) -> None:
        """Take away what is mounted at ``target``, which is not followed if it is a link.

        Lazily: it cannot be reached by a name any more, and ends with its last user.
        """
        ...

    def kind_of(self, descriptor: int) -> int:
        """Return the kernel's number for the type of the file system that ``descriptor`` is on."""
        ...


class KernelMounts(MountCalls):
    """The kernel of this machine."""

    @override
    def table(self) -> tuple[MountPoint, ...]:
        return mounts_of(_MOUNT_TABLE.read_bytes())

    @override
    def mount(self, source: str, target: str, kind: str, flags: MountFlag, options: str) -> None:
        words = [os.fsencode(word) for word in (source, target, kind)]
        result = _libc().mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None)
        _check(result, target)

    @override
    def unmount(self, target: str, *, lazily: bool = False) -> None:
        flags = _UMOUNT_NOFOLLOW | (_MNT_DETACH if lazily else 0)
        _check(_libc().umount2(os.fsencode(target), flags), target)

    @override
    def kind_of(self, descriptor: int) -> int:
        about = ctypes.create_string_buffer(_ROOM_FOR_STATFS)
        _check(_libc().fstatfs(descriptor, about), "")
        # The first field is the type: a word of the processor, but on one of them half a word.
        size = 4 if platform.machine() == "s390x" else ctypes.sizeof(ctypes.c_long)
        return int.from_bytes(about.raw[:size], byteorder="big" if _is_big() else "little")


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def openat2(directory: int, path: str, flags: int, resolve: Resolve) -> int:
    """Open ``path`` from an open directory on, under the conditions of ``resolve``. Once: no repetition."""
    how = _OpenHow(flags=flags | os.O_CLOEXEC, mode=0, resolve=resolve)
    call = (_OPENAT2, directory, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    result = _libc().syscall(
        *(ctypes.c_long(each) if isinstance(each, int) else each for each in call)
    )
    _check(result, path)
    return int(result)


@functools.cache
def has_openat2() -> bool:
    """Whether the kernel knows ``openat2``, and lets this process use it."""
    try:
        os.close(openat2(_CWD, "/", os.O_PATH | os.O_DIRECTORY, Resolve.NO_MAGICLINKS))
    except OSError as error:
        if error.errno in {errno.ENOSYS, errno.EPERM, errno.EACCES}:
            return False
        raise
    return True


_CWD: Final = -100


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _is_big() -> bool:
    return ctypes.c_uint16.from_buffer_copy(b"\0\1").value == 1


def _check(result: int, path: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
