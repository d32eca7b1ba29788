"""Work on volumes that may block, what comes of it, and who does it. No work is done here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias, cast

from actors.volumes.making.foreign import ForeignVolume
from kernel import BugError, Failure, InFlight, Lanes, LaneSize
from messages.pods import PodUid
from messages.units import Seconds


class VolumeLane(StrEnum):
    """Which threads do a job."""

    MEMORY = "memory"
    """One thread: file systems in memory are not written sooner by two."""
    DISK = "disk"
    """Two threads."""
    NODE = "node"
    """Many threads: paths of the node may be on file systems that do not answer."""
    REMOVALS = "removals"
    """Two threads: what containers have mounted may not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeMade:
    """What came of making a volume, or of writing its files."""

    is_there: bool
    trouble: str = ""
    """Why it is not there, or does not show what it should. For people, without content."""
    is_missing: bool = False
    """What it should show is not there. It may come: there is no use in trying again by the clock."""
    is_for_good: bool = False
    is_written: bool = False
    """Readers see other files than before."""
    written_bytes: int = 0
    leaving: tuple[str, ...] = ()
    """Old generations of its files, to be removed a moment later."""
    notes: tuple[str, ...] = ()
    """What people should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesTornDown:
    """What came of taking the volumes of a pod away."""

    trouble: str = ""
    """Why something of them is left; empty if nothing is, or if somebody else's volumes are why."""
    held: tuple[ForeignVolume, ...] = ()
    """The volumes of somebody else for which all of the pod is left as it was."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VolumesLeftBehind:
    """Which pods that are gone have volumes still."""

    pods: tuple[PodUid, ...]


@dataclass(frozen=True, slots=True)
class VolumeTidied:
    """Old generations are removed, or one stays for ``trouble``: the next write removes it."""

    trouble: str = ""


@dataclass(frozen=True, slots=True)
class VolumesLookedAt:
    """What is to be seen of volumes with files."""

    empty: frozenset[str]
    """The paths of those that show nothing: somebody removed their files."""


@dataclass(frozen=True, slots=True)
class VolumeJobFailure:
    """A job did not return, by an error of the operating system, or by a bug."""

    message: str


VolumeOutcome: TypeAlias = (
    VolumeMade
    | VolumesTornDown
    | VolumeTidied
    | VolumesLookedAt
    | VolumesLeftBehind
    | VolumeJobFailure
)


@dataclass(slots=True, eq=False)
class VolumeJob:
    """One piece of work, and its outcome once there is one. Its thread sets that, and nobody else."""

    lane: VolumeLane
    work: Callable[[], VolumeOutcome] = field(repr=False)
    in_flight: InFlight | None = field(default=None, repr=False)
    """Says whether a thread has begun it."""
    seen_at: Seconds | None = None
    """When its actor saw first that a thread has begun it."""
    is_hanging: bool = False
    """It was running for longer than anybody waits. It may end all the same."""
    outcome: VolumeOutcome | None = None

    def note(self, outcome: object) -> None:
        """Note what came of the work, on the thread that did it."""
        match outcome:
            case Failure(error=BugError(kind=kind)):
                self.outcome = VolumeJobFailure(f"the agent has a bug: {kind}")
            case Failure(error=error):
                self.outcome = VolumeJobFailure(str(error) or type(error).__name__)
            case _:
                self.outcome = cast("VolumeOutcome", outcome)


VolumeLanes: TypeAlias = Lanes[VolumeLane]
"""Who does jobs. They belong to the process."""


MOST_GIVEN_UP: Final = 32
"""Threads of one lane more, while as many hang. With more of them the machine has other troubles."""
SIZES: Final = {
    VolumeLane.MEMORY: LaneSize(1, MOST_GIVEN_UP),
    VolumeLane.DISK: LaneSize(2, MOST_GIVEN_UP),
    VolumeLane.NODE: LaneSize(16, MOST_GIVEN_UP),
    VolumeLane.REMOVALS: LaneSize(2, MOST_GIVEN_UP),
}
"""On file systems in memory two threads gained nothing and four lost; on a disk two gained a quarter
(measured)."""


def volume_lanes() -> VolumeLanes:
    """Return lanes with threads of their own, which begin as they are needed."""
    return Lanes("volumes", SIZES)
