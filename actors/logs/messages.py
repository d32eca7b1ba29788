"""What the keeper of logs hears, whom it tells, and what outlives its crashes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from kernel import Key, Port
from messages.container_logs import DescribeContainerLogs
from messages.container_runtime import (
    CallRuntime,
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeIsAway,
)
from messages.pod_lives import DescribePodLives, PodLivesDescribed
from messages.pod_manager import PodFact, PodsAre, PodsChanged, Subscribe
from messages.pods import PodUid, SourceName


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOfLogs:
    """Told by itself: it goes on with the logs that it has not looked at."""


LogKeeperMessage: TypeAlias = (
    RuntimeFact | RuntimeAnswered | PodFact | PodLivesDescribed | DescribeContainerLogs | RestOfLogs
)


def _name_of(message: LogKeeperMessage) -> Hashable | None:
    """Name what is level: of what is known of the same things only the newest counts.

    So what waits while the disk hangs grows with the pods that there are, not with what becomes of them.
    """
    match message:
        case PodContainersAre(uid=uid):
            return PodContainersAre, uid
        case ContainersAre() | RuntimeIsAway():
            return ContainersAre
        case PodsAre(source=source):
            return PodsAre, source
        case PodsChanged(source=source, changes=changes):
            return PodsChanged, source, frozenset(each.pod.uid for each in changes)
        case PodLivesDescribed():
            return PodLivesDescribed
        case _:
            return None


LOG_KEEPER = Key[LogKeeperMessage]("runtime/logs", coalesce=_name_of)


class PodDirectories(Protocol):
    """The directories of pods, beside those of their logs. They are somebody else's; the keeper says when."""

    def pods(self) -> list[PodUid]:
        """Return the pods that have one. It may block."""
        ...

    def remove(self, uid: PodUid) -> None:
        """Have that of a pod removed, elsewhere. May repeat."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogKeeperPorts:
    """Whom LogKeeper talks to."""

    me: Port[LogKeeperMessage]
    """Its own address, which outlives crashes."""
    containers: Port[FollowContainers | CallRuntime]
    pod_manager: Port[Subscribe]
    pod_keeper: Port[DescribePodLives]
    sources: frozenset[SourceName]
    """All sources of pods that there are. Nothing of a pod is removed before each has told what it wants."""
    directories: PodDirectories | None = None
    """What else pods have on the disk; None if that is nobody's."""


@dataclass(slots=True)
class LogKeeperMemory:
    """What outlives a life of LogKeeper."""

    rotated: int = 0
    failed: int = 0
    troubles: dict[str, str] = field(default_factory=dict)
    """What was said and is not over, by the kind of work."""
