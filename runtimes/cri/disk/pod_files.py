"""The files and directories of a pod, from before its containers are created until they are removed.

A ``DiskTask`` says what is to be on the disk before a container is created.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, assert_never

import structlog

from actors.volumes.making.foreign_search import foreign_volumes
from actors.volumes.mounts.mount_table import propagation_trouble
from actors.volumes.mounts.places import PARENT_MODE
from actors.volumes.mounts.removal import remove_pod_files
from actors.volumes.mounts.sub_paths import SubPath, bind_sub_path
from actors.volumes.mounts.system_calls import KernelMounts, MountCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteHostsFile:
    """The pod's ``/etc/hosts`` is there."""

    path: str
    content: str = field(repr=False)
    node_file: str = ""
    """A file of the node whose content comes first; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeLogDirectory:
    """The directory of a container's logs is there, and no part of it is a link to somewhere else."""

    path: str
    """Of all pods' logs. What is above it is the node's own business."""
    names: tuple[str, ...]
    """The directories that lead from there to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeTerminationFile:
    """The file is there, empty, to which any user can write the termination message of one instance."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BindSubPath:
    """The part of a volume that a container mounts is bound to a place that no container can reach."""

    volume: str
    """Its name."""
    container: str
    shown: str
    """The part as the specification has it. Expanded it may show values of Secrets."""
    part: SubPath = field(repr=False)

    @property
    def path(self) -> str:
        """Where the part is found."""
        return self.part.place.path


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPropagation:
    """Mounts of the node can propagate as a container's mount demands it."""

    volume: str
    path: str
    """Of what is mounted. Links are followed."""
    propagation: str
    """In the API's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """Where it may stand why a container ended."""

    file: str = ""
    """What it wrote its termination message to; empty for none."""
    logs_dir: str = ""
    """The directory of all pods' logs. Links are not followed below it."""
    log: tuple[str, ...] = ()
    """The names that lead from there to its log, whose end counts where the file says nothing; empty if it
    does not count."""


DiskTask: TypeAlias = (
    BindSubPath | CheckPropagation | WriteHostsFile | MakeLogDirectory | MakeTerminationFile
)


LOG_DIR_MODE: Final = 0o755
HOSTS_MODE: Final = 0o644
TERMINATION_MODE: Final = 0o666
LARGEST_HOSTS_FILE: Final = 1 << 20
"""Bytes of the node's own file. What is beyond is left out."""
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

_log = structlog.get_logger("runtime")


def bind_part(task: BindSubPath, calls: MountCalls | None = None) -> str:
    """Bind a part of a volume, and return why that is not possible; empty once it is done. May repeat."""
    try:
        bind_sub_path(calls or KernelMounts(), task.part)
    except OSError as error:
        # The path of the error is the expanded one, which may be confidential.
        return (
            f'failed to prepare subPath for volumeMount "{task.volume}" of container '
            f'"{task.container}": `{task.shown}`: {_why(error)}'
        )
    return ""


def check_propagation(task: CheckPropagation, calls: MountCalls | None = None) -> str:
    """Return why mounts cannot propagate as it is demanded; empty if they can."""
    table = (calls or KernelMounts()).table()
    trouble = propagation_trouble(table, os.path.realpath(task.path), task.propagation)
    return trouble and f'volume "{task.volume}": {trouble}'


def _why(error: OSError) -> str:
    if error.errno == errno.EPERM:
        return "nothing can be mounted on this node, and a part of a volume has to be"
    return error.strerror or type(error).__name__


def carry_out(tasks: Iterable[DiskTask], calls: MountCalls | None = None) -> str:
    """Carry out ``tasks`` in order. Return what the first one fails of; empty if all succeed. May repeat."""
    for task in tasks:
        try:
            trouble = _carry_out(task, calls)
        except OSError as error:
            trouble = f"{error.filename or task.path}: {error.strerror}"
        if trouble:
            return trouble
    return ""


def _carry_out(task: DiskTask, calls: MountCalls | None) -> str:
    path = Path(task.path)
    match task:
        case BindSubPath():
            return bind_part(task, calls)
        case CheckPropagation():
            return check_propagation(task, calls)
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


def forget_pod_files(directory: str, calls: MountCalls | None = None) -> None:
    """Remove the directory of a pod, or log why it stays."""
    if trouble := remove_unless_held(directory, calls):
        _log.warning("the files of a pod are not removed", trouble=trouble)


def remove_unless_held(directory: str, calls: MountCalls | None = None) -> str:
    """Remove the directory of a pod. Return why it stays; empty once it is gone. May repeat.

    It stays as it is, whole, while there is a volume in it that somebody else has made.
    """
    path = Path(directory)
    calls = calls or KernelMounts()
    mounts = calls.table()
    try:
        held = foreign_volumes(str(path.parent.parent), path.name, mounts)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    return held[0].why_held if held else remove_pod_files(directory, calls, mounts=mounts)
