"""Where the logs of containers are, and what their names say: a kubelet's layout. Pure.

A log is ``PODS/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log``. Beside it are the files that it was rotated to,
``ATTEMPT.log.20060102-150405``, and later the same with ``.gz``. What is being compressed is in a file whose
name ends with ``.tmp``. Log collectors find each log by a link, ``LINKS/POD_NAMESPACE_CONTAINER-ID.log``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from messages.pods import PodUid
from messages.units import Seconds

GZIP: Final = ".gz"
TEMPORARY: Final = ".tmp"
LOG: Final = ".log"

_LONGEST_NAME: Final = 255
"""Bytes of a file's name."""
_LINK = re.compile(r"(?P<rest>[^/]+)\.log", re.DOTALL)
_ATTEMPT = re.compile(r"(0|[1-9][0-9]{0,9})\.log", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Where logs are, and how long they get: with a kubelet's defaults."""

    pods_directory: Path = Path("/var/log/pods")
    """``podLogsDir``."""
    links_directory: Path | None = Path("/var/log/containers")
    """None for no links."""
    max_size: int = 10 * 2**20
    """``containerLogMaxSize``, in bytes. Below zero nothing is rotated."""
    max_files: int = 5
    """``containerLogMaxFiles``: of one container, with the one that is being written. At least 2."""
    workers: int = 1
    """``containerLogMaxWorkers``: logs that are rotated at the same time."""
    monitor_interval: Seconds = Seconds(10.0)
    """``containerLogMonitorInterval``: between two looks at the sizes."""


class LogFileStatus(NamedTuple):
    """What is known of a plain file without opening it."""

    size: int
    identity: tuple[int, int]
    """Its device and inode."""
    modified: float
    """Seconds since the Unix epoch."""
    mode: int
    """Its permissions."""


class LoggedPod(NamedTuple):
    """Whose a directory of logs is."""

    namespace: str
    name: str
    uid: PodUid


def pod_log_name(pod: LoggedPod) -> str:
    """Return the name of the directory with the logs of a pod."""
    return f"{pod.namespace}_{pod.name}_{pod.uid}"


def log_directory(root: Path, pod: LoggedPod) -> Path:
    """Return the directory with the logs of a pod: ``log_directory`` of its sandbox."""
    return root / pod_log_name(pod)


def log_path(container: str, attempt: int) -> str:
    """Return where the log of a container is in its pod's directory: ``log_path`` of the container."""
    return f"{container}/{log_name(attempt)}"


def log_name(attempt: int) -> str:
    """Return the name of the log of one instance of a container."""
    return f"{attempt}{LOG}"


def logged_pod(name: str) -> LoggedPod | None:
    """Return whose logs the directory ``name`` has; None if it is none of these.

    Neither namespaces nor names of pods nor UIDs have a ``_``.
    """
    parts = name.split("_")
    if len(parts) != 3 or not all(parts):
        return None
    namespace, pod, uid = parts
    return LoggedPod(namespace, pod, PodUid(uid))


def attempt_of(name: str) -> int | None:
    """Return which instance writes the log ``name``; None if that is the name of no log that is written."""
    found = _ATTEMPT.fullmatch(name)
    return int(found[1]) if found is not None else None


def owner_of(name: str) -> int | None:
    """Return to which instance the file ``name`` belongs: its log, or what that was rotated to."""
    stem, dot, _ = name.partition(LOG)
    return attempt_of(stem + dot)


def rotated_names(name: str, names: Iterable[str]) -> list[str]:
    """Return what the log ``name`` was rotated to, the oldest first: one name for each.

    A process that was killed may have left a file and its compressed form. The plain one is named then.
    """
    prefix, found = f"{name}.", dict[str, str]()
    for each in names:
        if each.startswith(prefix) and not each.endswith(TEMPORARY):
            plain = each.removesuffix(GZIP)
            found[plain] = min(each, found.get(plain, each))
    return [found[plain] for plain in sorted(found)]


def link_name(pod: LoggedPod, container: str, container_id: str) -> str:
    """Return the name of the link to a log, cut as a kubelet cuts it.

    ``container_id`` may have the name of its runtime before it (``containerd://``).
    """
    bare = container_id.rpartition("://")[2]
    name = f"{pod.name}_{pod.namespace}_{container}-{bare}"
    return name[: _LONGEST_NAME - len(LOG)] + LOG


def is_link_name(name: str) -> bool:
    """Return whether a link of this name can be one of ours."""
    found = _LINK.fullmatch(name)
    return found is not None and found["rest"].count("_") == 2
