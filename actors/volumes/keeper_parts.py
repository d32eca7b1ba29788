"""Whom the keeper of volumes talks to, what outlives it, and what it tells itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from actors.volumes.kept_volumes import VolumesOfPod
from actors.volumes.making.jobs import VolumeJob, VolumeLanes
from actors.volumes.making.maker import VolumeMaker
from actors.volumes.making.teardown import Teardowns
from actors.volumes.shown_objects import ShownObjects
from kernel import Followable, Key, LevelIs
from messages.events import PostEvent
from messages.objects import (
    HeldObject,
    ObjectId,
    ObjectKind,
    RegisterPod,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pods import PodUid
from messages.port import Port
from messages.tokens import TokensAre, TokensMessage
from messages.units import Seconds
from messages.volumes import DescribeVolumes, VolumeMessage, VolumeTroublesAre
from stores.histograms import TimesCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeJobsEnded:
    """At least one job has an outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesDue:
    """Timer: volumes that wait for a time are looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreVolumesDue:
    """More waits to be done than one turn takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangingDue:
    """Timer: jobs that hang are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFilesDue:
    """Timer: volumes are looked at whose files somebody may have removed."""


VolumeTurn: TypeAlias = VolumesDue | MoreVolumesDue | HangingDue | LostFilesDue

VolumeKeeperMessage: TypeAlias = (
    VolumeMessage
    | DescribeVolumes
    | LevelIs[ObjectId, HeldObject]
    | TokensAre
    | VolumeJobsEnded
    | VolumeTurn
)


def _newest(message: VolumeKeeperMessage) -> str | None:
    return "ended" if isinstance(message, VolumeJobsEnded) else None


DELAYS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of delays, in seconds."""

VOLUME_KEEPER: Final = Key[VolumeKeeperMessage]("volume-keeper", coalesce=_newest)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeKeeperPorts:
    """Whom the keeper of volumes talks to, and what it works with."""

    me: Port[VolumeKeeperMessage]
    """Its own address, which outlives crashes."""
    managers: Mapping[ObjectKind, Port[RegisterPod | UnregisterPod | UnprovenTaken]]
    """Those of Secrets and of ConfigMaps."""
    objects: Mapping[ObjectKind, Followable[ObjectId, HeldObject]]
    """What is known of Secrets and of ConfigMaps."""
    tokens: Port[TokensMessage] | None = None
    """Who gets tokens of service accounts; None if nobody can."""
    events: Port[PostEvent] | None = None
    people: Port[VolumeTroublesAre] | None = None
    """Who tells people what is wrong."""
    lanes: VolumeLanes
    maker: VolumeMaker
    teardowns: Teardowns
    reads_every: Seconds | None = None
    """How often objects are looked at that nobody tells changes of; None if somebody does."""
    looks_every: Seconds
    """How often the volumes are looked at whose files somebody may have removed."""
    allocatable: Mapping[str, str] | None = None
    """What the node has for pods, as quantities."""


class JobOf(NamedTuple):
    """What a job is about."""

    uid: PodUid
    volume: str
    """Its name; empty for all that a pod has."""


ALL_VOLUMES: Final = JobOf(PodUid(""), "")
"""A job is about the volumes of all pods."""
NO_POD: Final = JobOf(PodUid(""), "left behind")
"""A job is about what earlier processes left."""


@dataclass(slots=True)
class VolumeCounts:
    """What happened since the process began."""

    writes: int = 0
    """Writes that readers see."""
    errors: int = 0
    written_bytes: int = 0
    delays: TimesCounter = field(default_factory=lambda: TimesCounter(DELAYS))
    """From when it was known that an object has changed until readers saw it."""


@dataclass(slots=True)
class VolumeKeeperMemory:
    """What outlives a life of the keeper of volumes. One life at a time uses it."""

    pods: dict[PodUid, VolumesOfPod] = field(default_factory=dict)
    objects: ShownObjects = field(default_factory=ShownObjects)
    counts: VolumeCounts = field(default_factory=VolumeCounts)
    jobs: dict[VolumeJob, JobOf] = field(default_factory=dict)
    """Those under way, and those whose outcome nobody has taken in yet."""
    ended: deque[VolumeJob] = field(default_factory=deque)
    """Of these, the ones that were told to have ended. Threads add to it."""
    notices: set[str] = field(default_factory=set)
    """What people were told of the node, and need not be told again."""
