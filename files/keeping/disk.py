"""Small files that must be whole or not there: written by rename, for the agent's user alone."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

NEW: Final = ".new"
"""Added to the name of a file while it is being written."""
UNUSABLE: Final = ".unusable"
"""Added to the name of a file that is set aside: one that this agent cannot have written."""


def make_directory(directory: Path) -> None:
    """Make a directory for the agent's user alone, unless it is there."""
    directory.mkdir(mode=0o700, exist_ok=True)
    directory.chmod(0o700)


def read_file(file: Path, limit: int) -> bytes:
    """Return the first ``limit`` + 1 bytes of a file; nothing of what is no file."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, limit + 1) if is_file else b""
    finally:
        os.close(descriptor)


def write_file(file: Path, data: bytes) -> None:
    """Replace a file by one with ``data``. Raises OSError; then the file is as it was."""
    new = file.with_suffix(NEW)
    new.unlink(missing_ok=True)  # of a process that was killed while it wrote
    try:
        _write_new(new, data)
        new.replace(file)
    except OSError:
        remove_file(new)
        raise


def remove_file(file: Path) -> None:
    """Remove a file if that is possible."""
    with suppress(OSError):
        file.unlink()


def sync_directory(directory: Path) -> None:
    """Have the names in a directory survive a loss of power."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(file, flags, 0o600), "wb") as opened:  # noqa: PTH123 - it must not be others' for a moment
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
