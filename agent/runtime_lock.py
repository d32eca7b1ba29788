"""One agent for each container runtime of this machine: of two, each would stop the pods of the other.

The lock is a file below ``/run``, called by the digest of the socket's real path. It is not beside the
socket: that directory may be missing while the runtime is, and go when it stops. So an agent in a container
of its own, with another ``/run``, is not noticed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from agent.locks import open_lock, take_lock
from settings.errors import StartError

LOCKS: Final = Path("/run/actorlet")
_DIRECTORY_MODE: Final = 0o700
"""Whoever can open a lock file can lock it, and so keep the agent from starting."""

_log = structlog.get_logger("actorlet")


@contextmanager
def runtime_lock(socket: Path, directory: Path = LOCKS) -> Iterator[None]:
    """Keep other agents off the container runtime behind ``socket`` until the end of the context.

    Links to one socket are one socket. It need not be there yet. Raises ``StartError`` when another agent has
    it. Where no lock can be made, such as by an agent that is not root, a warning says so and nothing more.
    """
    path = directory / f"runtime-{_digest(socket)}.lock"
    try:
        descriptor = _locked(path, socket)
    except OSError as error:
        _log.warning(
            "container runtime not locked: another agent on it would not be noticed, and stop its pods",
            socket=str(socket),
            file=str(path),
            reason=error.strerror,
        )
        yield
        return
    try:
        yield
    finally:
        # While it is locked, so that nobody has the lock of a file that is gone without knowing it.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _locked(path: Path, socket: Path) -> int:
    """Return the descriptor that has the lock. Raises ``StartError`` and ``OSError``."""
    path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
    used = f"the container runtime at {socket}: stop it, or name another socket"
    while True:
        descriptor = open_lock(path, 0o600)
        try:
            take_lock(descriptor, used)
            is_ours = _is_at(path, descriptor)
        except (StartError, OSError):
            os.close(descriptor)
            raise
        if is_ours:
            return descriptor
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether the file that was opened is still there: its owner may have ended, and removed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _digest(socket: Path) -> str:
    return hashlib.sha256(os.path.realpath(socket).encode()).hexdigest()[:16]
