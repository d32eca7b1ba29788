"""What the keeper of statuses hears, whom it talks to, and what outlives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from actors.pods.start_times import StartTimesMemory
from actors.pods.startup_latency import StartupLatencies
from actors.pods.status_records import StatusRecord
from kernel import Key, Port
from messages.api import CallApi
from messages.events import PostEvent
from messages.pod_lives import RepeatPodStatuses
from messages.pod_manager import PodFact, Subscribe
from messages.pods import PodUid
from messages.statuses import (
    SYNC_BOUNDS,
    PodStatusChanged,
    PodStatusIs,
    StatusKeeperMessage,
)
from stores.histograms import TimesCounter

StatusKeeperOwnMessage: TypeAlias = StatusKeeperMessage | PodFact


def _pod_of_status(message: StatusKeeperOwnMessage) -> Hashable | None:
    return message.pod.uid if isinstance(message, PodStatusIs) else None


STATUS_KEEPER = Key[StatusKeeperOwnMessage]("status-keeper", coalesce=_pod_of_status)
"""Of the statuses of one pod that wait, only the newest is handled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPorts:
    """The ports that StatusKeeper uses. A standalone agent has no API server: the last three are None."""

    me: Port[PodFact]
    """Its own address, which outlives a crash: what it subscribes with."""
    pod_keeper: Port[RepeatPodStatuses] | None = None
    """Tells all statuses again after a crash: one may have been lost with it."""
    pod_manager: Port[Subscribe] | None = None
    calls: Port[CallApi] | None = None
    events: Port[PostEvent] | None = None


@dataclass(slots=True)
class StatusMemory:
    """What outlives a life of StatusKeeper."""

    records: dict[PodUid, StatusRecord] = field(default_factory=dict)
    followers: dict[Port[PodStatusChanged], None] = field(default_factory=dict)
    written: int = 0
    deleted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    starts: StartTimesMemory = field(default_factory=StartTimesMemory)
    latencies: StartupLatencies = field(default_factory=StartupLatencies)
    syncs: TimesCounter = field(default_factory=lambda: TimesCounter(SYNC_BOUNDS))
