"""What a containerd leaves behind when it is killed, and how all of it ends.

A world is one folder with everything of one containerd. Its owner holds a lock on a file in it for as long
as it lives, so folders of tests that were killed are told from those that somebody uses.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.support.containers import network
from tests.support.containers.cgroups import remove_cgroup
from tests.support.patience import PATIENCE

PREFIX: Final = "actorlet-containerd-"
LOCK: Final = "owner.lock"
SHIM_SOCKETS: Final = Path("/run/containerd/s")
"""Where shims have their sockets, whatever the configuration says."""
NAMESPACE: Final = "k8s.io"
TASKS: Final = f"state/io.containerd.runtime.v2.task/{NAMESPACE}"


def own_folder() -> tuple[Path, int]:
    """Make a folder, and return it with the descriptor that says that it is ours while it is open."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)  # Somebody else has swept it before it was locked.


def sweep() -> list[Path]:
    """End and remove everything of tests that are dead, and return the folders that it was in."""
    swept = []
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR)
        except OSError:
            continue  # Its owner is just making or removing it.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            remove_world(folder)
            swept.append(folder)
        finally:
            os.close(lock)
    return swept


def remove_world(folder: Path) -> None:
    """Kill everything of a world, and remove it with its folder."""
    empty_world(folder)
    network.remove_bridge(folder)
    remove_cgroup(cgroup_of(folder))
    shutil.rmtree(folder, ignore_errors=True)


def empty_world(folder: Path) -> None:
    """Kill everything of a world, and remove what it has outside of its folder, and its mounts."""
    ids = task_ids(folder)
    specs = [spec for each in ids if (spec := _spec(folder, each))]
    _kill_all(folder)
    _unmount(sorted(_mounts_below(folder), reverse=True))
    for spec in specs:
        _remove_what_was_made_for(spec)
    for each in ids:
        shim_socket(folder, each).unlink(missing_ok=True)


def cgroup_of(folder: Path) -> str:
    """Return the cgroup, from the root, below which tests may make theirs."""
    return f"/{folder.name}"


def task_ids(folder: Path) -> list[str]:
    """Return the ids of sandboxes and containers that have processes, or had when they were left."""
    tasks = folder / TASKS
    return sorted(path.name for path in tasks.iterdir()) if tasks.is_dir() else []


def shim_of(folder: Path, task: str) -> int | None:
    """Return the process ID of the shim that keeps a sandbox and its containers."""
    for pid, command in _commands():
        if _is_shim(folder, command) and command[command.index("-id") + 1] == task:
            return pid
    return None


def shim_socket(folder: Path, task: str) -> Path:
    """Return the socket of a sandbox's shim. One that is killed leaves it behind."""
    name = f"{folder}/containerd.sock/{NAMESPACE}/{task}"
    return SHIM_SOCKETS / hashlib.sha256(name.encode()).hexdigest()


def processes_of(folder: Path) -> set[int]:
    """Return every process of a world: the daemon, shims, and what runs in containers."""
    own_namespace = Path("/proc/self/ns/mnt").readlink()
    found = set()
    for pid, command in _commands():
        if (
            str(folder / "config.toml") in command
            or _is_shim(folder, command)
            or _makes_a_container(folder, command)
            or _has_its_root_below(folder, pid, own_namespace)
        ):
            found.add(pid)
    return found


def _is_shim(folder: Path, command: list[str]) -> bool:
    is_shim = Path(command[0]).name.startswith("containerd-shim")
    return is_shim and str(folder / "containerd.sock") in command and "-id" in command


def _makes_a_container(folder: Path, command: list[str]) -> bool:
    """Return whether this is a runc at work. What it has begun to make ends with it."""
    return Path(command[0]).name == "runc" and any(str(folder) in word for word in command)


def _has_its_root_below(folder: Path, pid: int, own_namespace: Path) -> bool:
    """Return whether this runs in a container.

    Its root alone says so. Elsewhere it may see the mounts of all worlds: so does the first process of any
    container, until it has changed its root.
    """
    try:
        if Path(f"/proc/{pid}/ns/mnt").readlink() == own_namespace:
            return False
        lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    except OSError:
        return False  # It has ended.
    return any(line.split()[4] == "/" and folder.name in line for line in lines)


def _commands() -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            yield int(path.parent.name), words


def _kill_all(folder: Path) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE
    while pids := processes_of(folder):
        assert time.monotonic() < deadline, f"{pids} of {folder} do not end"
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        pause.wait(0.02)


def _mounts_below(folder: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [target for line in lines if (target := line.split()[4]).startswith(f"{folder}/")]


def _unmount(targets: list[str]) -> None:
    if targets:
        subprocess.run(["umount", "-l", *targets], capture_output=True, check=False)


def _spec(folder: Path, task: str) -> dict[str, object]:
    try:
        spec: dict[str, object] = json.loads((folder / TASKS / task / "config.json").read_text())
    except (OSError, ValueError):
        return {}
    return spec


def _remove_what_was_made_for(spec: dict[str, object]) -> None:
    linux = spec.get("linux")
    assert isinstance(linux, dict)
    remove_cgroup(linux.get("cgroupsPath", ""))
    for each in linux.get("namespaces", ()):
        path = Path(each.get("path", ""))
        if each["type"] == "network" and path.parent.name == "netns":
            _unmount([str(path)])
            path.unlink(missing_ok=True)
