"""Removing the files of a pod of which nothing is left.

Containers can mount things into their volumes that the node sees, too. What is mounted is never removed, and
neither is anything beside it: the directory stays as it is then.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

_log = structlog.get_logger("runtime")

_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")
_LEAVING: Final = ".removing-"
"""How directories begin that are being removed. A pod of the same UID has a new one meanwhile."""


def forget_pod_files(directory: str) -> None:
    """Remove the directory of a pod, or log why it stays."""
    if trouble := remove_pod_files(directory):
        _log.warning("the files of a pod are not removed", trouble=trouble)


def remove_pod_files(directory: str) -> str:
    """Remove the directory of a pod. Return why it stays; empty once it is gone. May repeat.

    One call at a time: it also removes what an earlier one had begun to remove.
    """
    path = Path(directory)
    try:
        _finish_earlier(path.parent)
        if not _is_directory(path):
            return ""
        if (mounted := _mounted_below(path)) is not None:
            return f"{path} stays: something is mounted at {mounted}"
        leaving = path.with_name(f"{_LEAVING}{path.name}")
        path.rename(leaving)
        shutil.rmtree(leaving)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    return ""


def _finish_earlier(parent: Path) -> None:
    """Remove what was being removed when the agent ended."""
    if not _is_directory(parent):
        return
    with os.scandir(parent) as entries:
        left = [each.path for each in entries if each.name.startswith(_LEAVING)]
    for each in left:
        if _mounted_below(Path(each)) is None:
            shutil.rmtree(each)


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _mounted_below(path: Path) -> str | None:
    real = os.path.realpath(path)
    for point in _mount_points():
        if point == real or point.startswith(f"{real}/"):
            return point
    return None


def _mount_points() -> Iterator[str]:
    for line in _MOUNTS.read_bytes().splitlines():
        escaped = line.split(b" ", 5)[4]
        yield os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), escaped))
