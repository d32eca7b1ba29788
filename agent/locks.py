"""Lock files, which end with their process however it ends. What the lock is of says the caller."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from settings.errors import StartError


def open_lock(path: Path, mode: int) -> int:
    """Return the open lock file at ``path``, which is made if it is missing. Raises ``OSError``."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)


def take_lock(descriptor: int, used: str) -> None:
    """Lock an open file until it is closed, and leave this process's ID in it.

    Raises ``StartError`` if another agent has it; ``used`` is what that one uses, and what to do about it.
    Raises ``OSError`` if there are no locks here.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.read(descriptor, 32).decode(errors="replace").strip()
        who = f" (process {owner})" if owner.isdigit() else ""
        raise StartError(f"another agent{who} uses {used}") from None
    # The process ID is only a hint for the sentence above: a full disk is no reason not to start.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
