"""A machine whose power goes and whose disk fails: of what is in files, only what was synced survives."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


class Power:
    """Knows what was synced since it was made, by this process.

    Syncs fail as ``trouble`` says, and so do writes at a place: when a half was written. The disk of this
    machine is not waited for.
    """

    def __init__(self, patched: pytest.MonkeyPatch, trouble: DiskTrouble | None = None) -> None:
        self._synced: dict[int, bytes] = {}
        """The content of each file as it was synced last, by its inode."""
        write_at = os.pwrite

        def synced(descriptor: int) -> None:
            if trouble is not None:
                trouble.strike()
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                self._synced[status.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

        def written(descriptor: int, data: bytes | memoryview, at: int) -> int:
            if trouble is not None and trouble.is_due:
                write_at(descriptor, data[: len(data) // 2], at)
            if trouble is not None:
                trouble.strike()
            return write_at(descriptor, data, at)

        patched.setattr(os, "fsync", synced)
        patched.setattr(os, "pwrite", written)

    def goes(self, directory: Path) -> None:
        """Leave in each file what was synced of it. All names survive, which is the worst."""
        for file in directory.rglob("*"):
            if file.is_file():
                file.write_bytes(self._synced.get(file.stat().st_ino, b""))

    @staticmethod
    def empties(file: Path) -> None:
        """Leave nothing in a file, whatever was synced of it."""
        if file.exists():
            file.write_bytes(b"")
