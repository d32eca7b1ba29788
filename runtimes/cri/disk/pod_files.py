"""The files and directories of a pod: made before its containers are created."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, assert_never

from actors.volumes.mounts.places import PARENT_MODE
from runtimes.cri.disk.mounting import bind_part, check_propagation
from runtimes.cri.disk.tasks import (
    BindSubPath,
    CheckPropagation,
    DiskTask,
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
)

LOG_DIR_MODE: Final = 0o755
HOSTS_MODE: Final = 0o644
TERMINATION_MODE: Final = 0o666
LARGEST_HOSTS_FILE: Final = 1 << 20
"""Bytes of the node's own file. What is beyond is left out."""
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def carry_out(tasks: Iterable[DiskTask]) -> str:
    """Carry out ``tasks`` in order. Return what the first one fails of; empty if all succeed. May repeat."""
    for task in tasks:
        try:
            trouble = _carry_out(task)
        except OSError as error:
            trouble = f"{error.filename or task.path}: {error.strerror}"
        if trouble:
            return trouble
    return ""


def _carry_out(task: DiskTask) -> str:
    path = Path(task.path)
    match task:
        case BindSubPath():
            return bind_part(task)
        case CheckPropagation():
            return check_propagation(task)
        case WriteHostsFile():
            _write_hosts_file(path, task)
        case MakeLogDirectory():
            _make_log_directory(path, task.names)
        case MakeTerminationFile():
            path.parent.mkdir(PARENT_MODE, parents=True, exist_ok=True)
            with os.fdopen(_opened(path, os.O_TRUNC), "wb") as file:
                os.fchmod(file.fileno(), TERMINATION_MODE)
        case _:
            assert_never(task)
    return ""


def _write_hosts_file(path: Path, task: WriteHostsFile) -> None:
    """Write the file in place: what containers have mounted cannot be replaced by another file."""
    path.parent.mkdir(PARENT_MODE, parents=True, exist_ok=True)
    content = _of_node(task.node_file) + task.content.encode()
    with os.fdopen(_opened(path), "r+b") as file:
        if file.read(len(content) + 1) == content:
            return
        file.seek(0)
        file.write(content)
        file.truncate()
        os.fchmod(file.fileno(), HOSTS_MODE)


def _make_log_directory(root: Path, names: tuple[str, ...]) -> None:
    """Make the directory, and raise ``OSError`` if there is a link on the way to it."""
    root.mkdir(LOG_DIR_MODE, parents=True, exist_ok=True)
    opened = os.open(root, _DIRECTORY)
    for number, name in enumerate(names, 1):
        try:
            with suppress(FileExistsError):
                os.mkdir(name, LOG_DIR_MODE, dir_fd=opened)
            below = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
        except OSError as error:
            # The name alone would not say where it is.
            path = root.joinpath(*names[:number])
            raise OSError(error.errno, error.strerror, str(path)) from None
        finally:
            os.close(opened)
        opened = below
    os.close(opened)


def _of_node(path: str) -> bytes:
    if not path:
        return b""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_HOSTS_FILE)
    except FileNotFoundError:
        return b""
    return content if content.endswith(b"\n") or not content else content + b"\n"


def _opened(path: Path, flags: int = 0) -> int:
    """Open a file of the agent's own, and make it where it is missing. Links are not followed."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | flags, HOSTS_MODE)
