"""The agent's own directory. It is made, tried and locked at the start, so that nothing fails on it later."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agent.locks import open_lock, take_lock
from settings.errors import StartError

_MODE: Final = 0o750  # state is not for everybody to read
LOCK_FILE: Final = "actorlet.lock"


@contextmanager
def root_dir(path: Path) -> Iterator[None]:
    """Make ``path`` if it is missing, try to write to it, and lock it against other agents.

    Raises ``StartError`` when one of these fails. A directory that exists keeps its mode and owner. The
    lock is released at the end of the context, and by the operating system however the process ends. The
    lock file stays. It has the process ID of its last owner, unless the disk was full.
    """
    _prepare(path)
    descriptor = _open(path / LOCK_FILE)
    try:
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _prepare(path: Path) -> None:
    try:
        path.mkdir(mode=_MODE, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except FileExistsError:
        raise StartError(f"--root-dir {path} is not a directory") from None
    except OSError as error:
        raise StartError(f"cannot write to --root-dir {path}: {error.strerror}") from None


def _open(path: Path) -> int:
    try:
        return open_lock(path, 0o640)
    except OSError as error:
        raise StartError(f"cannot open {path}: {error.strerror}") from None


def _lock(descriptor: int, path: Path) -> None:
    try:
        take_lock(descriptor, f"--root-dir {path}: stop it, or choose another directory")
    except OSError as error:
        raise StartError(f"cannot lock {path / LOCK_FILE}: {error.strerror}") from None
