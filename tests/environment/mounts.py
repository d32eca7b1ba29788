"""A kernel that binds parts of volumes in memory: what is bound at a place is found there by its name."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from actors.volumes.mounts.mount_table import MountPoint
from actors.volumes.mounts.system_calls import MountFlag
from tests.support.volumes.no_mounts import NoMounts


@dataclass(frozen=True, slots=True)
class Bind:
    """What is bound at a place."""

    number: int
    source: str
    """Where that was then."""


class BindMounts(NoMounts):
    """Lets a process bind files and directories, and mount nothing else. Outlives the agent.

    A file is bound as a further name of it: so it stays that file, whatever becomes of the first name. A
    directory is bound as a link.
    """

    def __init__(self) -> None:
        self.binds: dict[str, Bind] = {}
        """By their places."""
        self._made = 0

    def loses_power(self) -> None:
        """Have nothing be mounted any more."""
        for place in list(self.binds):
            self._take(place)

    @override
    def table(self) -> tuple[MountPoint, ...]:
        return tuple(self._points())

    @override
    def mount(self, source: str, target: str, kind: str, flags: MountFlag, options: str) -> None:
        if not flags & MountFlag.BIND:
            super().mount(source, target, kind, flags, options)
        place = _path(target)
        if flags & MountFlag.REMOUNT:
            return
        self._made += 1
        part = self.binds[place] = Bind(self._made, _path(source))
        if Path(part.source).is_dir():
            Path(place).rmdir()
            Path(place).symlink_to(part.source)
        else:
            Path(place).unlink()
            Path(place).hardlink_to(part.source)

    @override
    def unmount(self, target: str, *, lazily: bool = False) -> None:
        place = _path(target)
        if place not in self.binds:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), target)
        self._take(place)

    def _take(self, place: str) -> None:
        """Take a bind away: what was there before is an empty file or directory."""
        del self.binds[place]
        is_directory = Path(place).is_symlink()
        Path(place).unlink()
        if is_directory:
            Path(place).mkdir()
        else:
            Path(place).touch()

    def _points(self) -> Iterator[MountPoint]:
        for place, bind in self.binds.items():
            yield MountPoint(
                number=bind.number,
                device="0:1",
                root=bind.source,
                path=place,
                options=frozenset(),
                tags=frozenset(),
                kind="ext4",
                super_options=frozenset(),
            )


def _path(handle: str) -> str:
    """Return the path of what a handle is about: of an open file, or of a name in an open directory."""
    _, proc, mine, group, number, *names = handle.split("/")
    return str(Path("/", proc, mine, group, number).readlink().joinpath(*names))
