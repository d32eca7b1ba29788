"""The volumes of pods: who makes them and keeps their files current, what it tells of them, and how they are.

No message carries content. The directories are told by path, and what they show by versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from messages.objects import ObjectId
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.units import Seconds, TimesCounted


@dataclass(frozen=True, slots=True, kw_only=True)
class PodVolume:
    """A volume that is there: containers can mount it."""

    path: str
    """Of its directory or file on the node."""
    read_only: bool = False
    """The agent alone writes it, whatever a container asks for."""
    is_own: bool = False
    """It is a directory of the agent's own, of this pod alone: with SELinux it gets the pod's label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeTrouble:
    """Why a volume is not there, or does not show what it should."""

    message: str
    """For people, one line, without content."""
    is_for_good: bool = False
    """There is never such a volume here, as it is written. The pod waits until it is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesAre:
    """All volumes of one pod. Complete, pushed, repeatable.

    A volume that is there stays there, whatever becomes of what it shows: it then has a trouble beside it.
    """

    uid: PodUid
    volumes: Mapping[str, PodVolume] = field(default_factory=dict)
    """By name: those that are there."""
    troubles: Mapping[str, VolumeTrouble] = field(default_factory=dict)
    """By name."""
    pending: frozenset[str] = frozenset()
    """Those that are neither there nor in trouble yet."""
    shown: Mapping[ObjectId, str] = field(default_factory=dict)
    """The ``resourceVersion`` of each object of which every file of this pod shows that version, or a later
    one, to readers. Empty for one that there is not, where the files show that. Objects that no volume shows
    are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesGone:
    """Nothing of a pod's volumes is mounted any more, and their directories are removed."""

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesStay:
    """Something of a pod's volumes cannot be taken away. It is tried again until ``VolumesGone`` is told.

    Pushed whenever that changes, and to whoever asks once more. A volume that somebody else has made, such as
    a driver, stays until they or a person have dealt with it, and so does all that the pod has on the disk.
    """

    uid: PodUid
    reasons: tuple[str, ...]
    """For people, each one line."""


ReleaseAnswer: TypeAlias = VolumesGone | VolumesStay


@dataclass(frozen=True, slots=True, kw_only=True)
class WantVolumes:
    """Make the volumes of this pod, and keep their files current, until ``ReleaseVolumes``.

    Level-triggered: it may repeat, and is repeated with every version of the pod. Answered by ``VolumesAre``,
    at once and whenever that changes. Volumes that an earlier life made are adopted with what they show.
    """

    pod: Pod
    reply_to: Port[VolumesAre]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseVolumes:
    """Take the volumes of this pod away: no container of it runs any more, and none will. May repeat.

    Answered by ``VolumesGone``, at once for a pod that has none, and until then by ``VolumesStay`` if
    something stays. It depends on neither the API server nor on what the pod's specification was: everything
    in its directory counts.
    """

    uid: PodUid
    reply_to: Port[ReleaseAnswer]
    unless_wanted: bool = False
    """It seems to be gone, and nobody is certain: nothing is done, or answered, if there is such a pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeTroublesAre:
    """Tells people what is wrong with the volumes of a pod, by name. Complete; empty when nothing is."""

    pod: Pod
    troubles: Mapping[str, VolumeTrouble]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOtherVolumes:
    """Take away what earlier processes left of pods that are gone. Not answered; may repeat.

    A directory of a pod in which containers had files of their own is left alone: who ran them removes it.
    """

    known: frozenset[PodUid]
    """The pods that are there: all sources have listed."""


VolumeMessage: TypeAlias = WantVolumes | ReleaseVolumes | ReleaseOtherVolumes
"""What the keeper of volumes hears from others."""


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
