"""What is done next about one volume. Pure.

| situation | step |
|---|---|
| a job about it is under way | nothing: what comes of it is told |
| it is to be made, and something that it shows is not read yet | nothing: the answer is told |
| it is to be made, and was written a moment ago, or has just failed | wait until then |
| it is to be made | make it |
| old files of it are left, and readers had time to leave them | tidy |
| otherwise | nothing |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from actors.volumes.atomic_directory import OLD_STAYS
from actors.volumes.kept_volumes import KeptVolume, VolumesOfPod
from actors.volumes.shown_objects import ShownObjects
from messages.pods import PodUid
from messages.units import Seconds

PACE: Final = Seconds(0.1)
"""Between two writes of one volume, so that one which changes all the time costs a bounded number of them.
The first is made at once, and the last is seen this much later at the most."""
_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 60.0
_MOST_DOUBLINGS: Final = 10


class VolumeStep(Enum):
    """What is done now."""

    NOTHING = auto()
    MAKE = auto()
    TIDY = auto()


@dataclass(frozen=True, slots=True)
class VolumeWaits:
    """Nothing now. Look again at this time."""

    at: Seconds


NextStep: TypeAlias = VolumeStep | VolumeWaits


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeNow:
    """Everything that the next step depends on."""

    is_busy: bool
    """A job about it is under way."""
    is_stale: bool
    """It is to be made, or written."""
    is_unread: bool
    """Something that it shows was not read since it is needed."""
    tried_at: Seconds | None
    """When it was made or written last, or when that failed."""
    failures: int
    """How often making it has failed in a row."""
    left_at: Seconds | None
    """When readers began to leave its old files; None if there are none."""


def volume_now(
    uid: PodUid, kept: VolumesOfPod, volume: KeptVolume, objects: ShownObjects
) -> VolumeNow:
    """Return what the next step about a volume of a pod depends on."""
    shown = map(objects.get, volume.objects)
    return VolumeNow(
        is_busy=volume.job is not None,
        is_stale=volume.is_stale,
        is_unread=kept.lacks_tokens(volume)
        or any(known is None or known.awaits_value(uid) for known in shown),
        tried_at=volume.tried_at,
        failures=volume.failures,
        left_at=volume.left_at,
    )


def next_step(volume: VolumeNow, now: Seconds) -> NextStep:
    """Return what is done now."""
    if volume.is_busy:
        return VolumeStep.NOTHING
    times: list[Seconds] = []
    if volume.is_stale and not volume.is_unread:
        at = _may_begin(volume)
        if at is None or at <= now:
            return VolumeStep.MAKE
        times.append(at)
    if volume.left_at is not None:
        at = Seconds(volume.left_at + OLD_STAYS)
        if at <= now:
            return VolumeStep.TIDY
        times.append(at)
    return VolumeWaits(min(times)) if times else VolumeStep.NOTHING


def retry_pause(failures: int) -> Seconds:
    """Return how long after an attempt the next one is made, if that many have failed in a row."""
    doublings = min(failures - 1, _MOST_DOUBLINGS)
    return Seconds(min(_FIRST_RETRY * 2**doublings, _LONGEST_RETRY))


def _may_begin(volume: VolumeNow) -> Seconds | None:
    if volume.tried_at is None:
        return None
    pause = retry_pause(volume.failures) if volume.failures else PACE
    return Seconds(volume.tried_at + pause)
