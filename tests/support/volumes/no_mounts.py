"""A kernel that mounts nothing."""

from __future__ import annotations

import errno
import os

from typing_extensions import override

from actors.volumes.mounts.mount_table import MountPoint
from actors.volumes.mounts.system_calls import MountCalls, MountFlag


class NoMounts(MountCalls):
    """A kernel that lets this process mount nothing."""

    @override
    def table(self) -> tuple[MountPoint, ...]:
        return ()

    @override
    def mount(self, source: str, target: str, kind: str, flags: MountFlag, options: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), target)

    @override
    def unmount(self, target: str, *, lazily: bool = False) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), target)

    @override
    def kind_of(self, descriptor: int) -> int:
        return 0
