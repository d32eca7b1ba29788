"""Removing the files of a pod of which nothing is left, and saying why they stay."""

from __future__ import annotations

import structlog

from volumes.mounts.removal import remove_pod_files

_log = structlog.get_logger("runtime")


def forget_pod_files(directory: str) -> None:
    """Remove the directory of a pod, or log why it stays."""
    if trouble := remove_pod_files(directory):
        _log.warning("the files of a pod are not removed", trouble=trouble)
