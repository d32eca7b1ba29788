"""A machine whose power goes: of what is in files, only what was synced survives."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest


class Power:
    """Knows what was synced since it was made, by this process."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self._synced: dict[int, bytes] = {}
        """The content of each file as it was synced last, by its inode."""
        sync = os.fsync

        def synced(descriptor: int) -> None:
            sync(descriptor)
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                self._synced[status.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

        patched.setattr(os, "fsync", synced)

    def goes(self, directory: Path) -> None:
        """Leave in each file what was synced of it. All names survive, which is the worst."""
        for file in directory.rglob("*"):
            if file.is_file():
                file.write_bytes(self._synced.get(file.stat().st_ino, b""))
