"""A machine whose power goes and whose disk fails: of what is in files, only what was synced survives."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(slots=True)
class DiskTrouble:
    """What will go wrong with a disk. Nothing by itself."""

    well: int = 0
    """So many more calls succeed,"""
    times: float = 0
    """and then so many fail,"""
    code: int = errno.ENOSPC
    """with this number of an error."""
    when_struck: Callable[[], object] = lambda: None
    """Called whenever one fails."""

    @property
    def is_due(self) -> bool:
        """Whether the next call fails."""
        return self.times > 0 and self.well <= 0

    def strike(self) -> None:
        """Raise ``OSError`` if this call is one that fails."""
        if not self.is_due:
            self.well -= self.times > 0
            return
        self.times -= 1
        self.when_struck()
        raise OSError(self.code, os.strerror(self.code))


@dataclass(frozen=True, slots=True)
class _Name:
    """What a name in a directory meant when that was synced."""

    inode: int
    content: bytes
    """What was synced of the file by then."""


def _troubled(call: Callable[..., None], trouble: DiskTrouble) -> Callable[..., None]:
    """Return a call that fails as ``trouble`` says where it is about names below an open directory."""

    def troubled(*where: Any, dir_fd: int | None = None, **how: Any) -> None:
        if dir_fd is not None:
            trouble.strike()
            how["dir_fd"] = dir_fd
        elif "src_dir_fd" in how:
            trouble.strike()
        call(*where, **how)

    return troubled


class Power:
    """Knows what was synced since it was made, by this process: contents of files, names in directories.

    Syncs fail as ``trouble`` says, and so do writes at a place: when a half was written. So does what makes
    or renames something below an open directory, as volumes are written, before it has an effect. The disk of
    this machine is not waited for.
    """

    def __init__(self, patched: pytest.MonkeyPatch, trouble: DiskTrouble | None = None) -> None:
        trouble = trouble or DiskTrouble()
        self._synced: dict[int, bytes] = {}
        """The content of each file as it was synced last, by its inode."""
        self._names: dict[int, dict[str, _Name]] = {}
        """The names in each directory as it was synced last, by its inode."""
        write_at = os.pwrite

        def synced(descriptor: int) -> None:
            trouble.strike()
            status = os.fstat(descriptor)
            place = Path(f"/proc/self/fd/{descriptor}")
            if stat.S_ISREG(status.st_mode):
                self._synced[status.st_ino] = place.read_bytes()
            elif stat.S_ISDIR(status.st_mode):
                self._names[status.st_ino] = {
                    each.name: _Name(each.inode(), self._synced.get(each.inode(), b""))
                    for each in os.scandir(place)
                }

        def written(descriptor: int, data: bytes | memoryview, at: int) -> int:
            if trouble.is_due:
                write_at(descriptor, data[: len(data) // 2], at)
            trouble.strike()
            return write_at(descriptor, data, at)

        patched.setattr(os, "fsync", synced)
        patched.setattr(os, "pwrite", written)
        for each in (os.mkdir, os.symlink, os.rename):
            patched.setattr(os, each.__name__, _troubled(each, trouble))

    def goes(self, directory: Path) -> None:
        """Leave below a directory the names that were synced there, and in files what was synced of them.

        A file that another one had replaced is back, and so is one that was removed.
        """
        if not directory.exists():
            return
        names = self._names.get(directory.stat().st_ino, {})
        found = {each.name: each for each in os.scandir(directory)}
        for name in found.keys() | names.keys():
            here, synced = found.get(name), names.get(name)
            file = directory / name
            is_same = here is not None and synced is not None and here.inode() == synced.inode
            if here is not None and here.is_dir(follow_symlinks=False):
                if is_same:
                    self.goes(file)
                else:
                    shutil.rmtree(file)
            elif synced is None:
                file.unlink()
            else:
                file.write_bytes(self._synced.get(synced.inode, b"") if is_same else synced.content)

    @staticmethod
    def empties(file: Path) -> None:
        """Leave nothing in a file, whatever was synced of it."""
        if file.exists():
            file.write_bytes(b"")
