"""Where the message of a container that ended is to be read. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from runtimes.cri.configs import names
from runtimes.cri.disk.tasks import LastWords
from runtimes.cri.wire import cri_pb2 as cri

FALLBACK: Final = "FallbackToLogsOnError"
_NEVER_RAN: Final = frozenset({"ContainerCannotRun", "StartError"})
"""Reasons of containers that cannot have written a log."""


def last_words(status: cri.ContainerStatus, pod_logs_dir: str) -> LastWords | None:
    """Return where the message of ``status`` is; None if there can be none.

    What labels and mounts say may be anybody's. So a file counts only where a node agent puts it, and a log
    only below the directory of logs.
    """
    if status.state != cri.CONTAINER_EXITED:
        return None
    file, log = _file(status), _log(status, pod_logs_dir)
    return LastWords(file=file, logs_dir=pod_logs_dir, log=log) if file or log else None


def message_of(told: str, written: str) -> str:
    """Return the message of a container: what the runtime told, and what the container wrote."""
    return f"{told}: {written}" if told and written else told or written


def _file(status: cri.ContainerStatus) -> str:
    inside = status.annotations.get(names.TERMINATION_MESSAGE_PATH)
    if not inside:
        return ""
    inside = inside if inside.startswith("/") else f"/{inside}"
    labels = status.labels
    for mount in status.mounts:
        parts = PurePosixPath(mount.host_path).parts
        owner = ("pods", labels.get(names.POD_UID), "containers", labels.get(names.CONTAINER_NAME))
        if mount.container_path == inside and parts[-5:-1] == owner and ".." not in parts:
            return mount.host_path
    return ""


def _log(status: cri.ContainerStatus, pod_logs_dir: str) -> tuple[str, ...]:
    policy = status.annotations.get(names.TERMINATION_MESSAGE_POLICY)
    if policy != FALLBACK or status.exit_code == 0 or status.reason in _NEVER_RAN:
        return ()
    root, path = PurePosixPath(pod_logs_dir), PurePosixPath(status.log_path)
    if not path.is_relative_to(root) or ".." in path.parts:
        return ()
    return path.relative_to(root).parts
