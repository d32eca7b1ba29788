"""What the keeper of container logs is asked by others, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from messages.pods import PodUid
from messages.port import Port


class LogOwner(NamedTuple):
    """Whose logs they are."""

    uid: PodUid
    namespace: str
    pod: str
    container: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeContainerLogs:
    """Asks how much room logs take. Answered by one ``ContainerLogsDescribed``."""

    reply_to: Port[ContainerLogsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLogsDescribed:
    """How much room logs take, and what became of their rotations since the process began."""

    used_bytes: Mapping[LogOwner, int]
    """``kubelet_container_log_filesystem_used_bytes``: of each container of a pod that the runtime has, with
    what its logs were rotated to."""
    rotated: int
    failed: int
    """Rotations that were not carried out, or undone."""
