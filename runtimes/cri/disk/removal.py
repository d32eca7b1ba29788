"""Removing the files of a pod of which nothing is left, and saying why they stay."""

from __future__ import annotations

from pathlib import Path

import structlog

from actors.volumes.making.foreign_search import foreign_volumes
from actors.volumes.mounts.removal import remove_pod_files
from actors.volumes.mounts.system_calls import KernelMounts

_log = structlog.get_logger("runtime")


def forget_pod_files(directory: str) -> None:
    """Remove the directory of a pod, or log why it stays."""
    if trouble := remove_unless_held(directory):
        _log.warning("the files of a pod are not removed", trouble=trouble)


def remove_unless_held(directory: str) -> str:
    """Remove the directory of a pod. Return why it stays; empty once it is gone. May repeat.

    It stays as it is, whole, while there is a volume in it that somebody else has made.
    """
    path = Path(directory)
    mounts = KernelMounts().table()
    try:
        held = foreign_volumes(str(path.parent.parent), path.name, mounts)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    return held[0].why_held if held else remove_pod_files(directory, mounts=mounts)
