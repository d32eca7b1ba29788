"""Locks that keep two agents off one root directory and one container runtime, and a look for kubelets.

The operating system frees a lock when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from files.records import make_directory
from settings.errors import StartError

_log = structlog.get_logger("actorlet")


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


_ROOT_MODE: Final = 0o750  # state is not for everybody to read
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
        make_directory(path, _ROOT_MODE)
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


LOCKS: Final = Path("/run/actorlet")
_LOCKS_MODE: Final = 0o700
"""Whoever can open a lock file can lock it, and so keep the agent from starting."""


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
    path.parent.mkdir(mode=_LOCKS_MODE, parents=True, exist_ok=True)
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


PROGRAMS: Final = frozenset({b"kubelet", b"kubelite"})
"""Names of processes. ``kubelite`` has a kubelet in it, among others."""
_PROC: Final = Path("/proc")


def warn_of_kubelets(proc: Path = _PROC) -> None:
    """Log a warning for each kubelet that runs on this machine."""
    for process in kubelets(proc):
        _log.warning(
            "a kubelet runs: if it uses the same container runtime, "
            "each of the two stops the pods of the other",
            process=process,
        )


def kubelets(proc: Path = _PROC) -> Sequence[int]:
    """Return the processes that are kubelets and see the same files as this one. The others are elsewhere.

    A kubelet in a container, such as one of a cluster in containers, has a runtime of its own there.
    """
    ours = _files(proc / "self")
    found = [each for each in proc.iterdir() if each.name.isdigit() and _is_one(each)]
    return sorted(int(each.name) for each in found if _files(each) in {ours, None})


def _is_one(process: Path) -> bool:
    try:
        return (process / "comm").read_bytes().strip() in PROGRAMS
    except OSError:  # it has just ended
        return False


def _files(process: Path) -> str | None:
    """Return the namespace of mounts of a process; None if it may not be seen."""
    with suppress(OSError):
        return (process / "ns" / "mnt").readlink().name
    return None
