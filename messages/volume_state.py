"""How the volumes of pods are, for people and metrics. No message carries content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from messages.pods import PodUid
from messages.port import Port
from messages.statuses import TimesCounted
from messages.units import Seconds


class VolumeState(StrEnum):
    """How a volume is."""

    PENDING = "pending"
    """It is being made, or waits for what it shows."""
    THERE = "there"
    TROUBLE = "trouble"
    """It is not there, or does not show what it should."""
    LEAVING = "leaving"
    """It is being taken away."""
    HELD = "held"
    """Somebody else has made it, such as a driver. It is left as it is, and so is all of its pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDescribed:
    """One volume, without content."""

    uid: PodUid
    pod: str
    """``<namespace>/<name>``."""
    name: str
    """Of one that somebody else has made: the name of its directory."""
    plugin: str
    """The kubelet's name of its kind; the field of the specification for one that is not supported."""
    state: VolumeState
    path: str
    """Empty while it is not there, and for one that the runtime mounts itself."""
    trouble: str
    shown: Mapping[str, str]
    """The ``resourceVersion`` of each object that readers see, by ``KIND NAMESPACE/NAME``."""
    tried_at: Seconds | None
    """When it was made or written last, or when that failed, by the agent's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeVolumes:
    """Asks how all volumes are. Answered by one ``VolumesDescribed``."""

    reply_to: Port[VolumesDescribed]
    in_detail: bool = False
    """Whether to describe them one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesDescribed:
    """How all volumes are. Counts of events are since the process began."""

    volumes: tuple[VolumeDescribed, ...]
    """Empty unless they were asked for one by one."""
    states: Mapping[tuple[str, VolumeState], int]
    """How many there are, by plugin and state."""
    writes: int
    """Writes of files that readers saw."""
    written_bytes: int
    errors: int
    """Attempts to make, to check or to write one that failed."""
    delays: TimesCounted
    """From when it was known that an object has changed until readers saw it, for each volume."""
    unmounts_failing: int
    """Pods whose volumes could not be taken away so far."""
