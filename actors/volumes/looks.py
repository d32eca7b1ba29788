"""What the keeper of volumes looks at again after a time, for one life of it, each with one timer."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from actors.volumes.keeper_parts import (
    HangingDue,
    JobOf,
    LostFilesDue,
    VolumeKeeperMemory,
    VolumeKeeperPorts,
    VolumesDue,
)
from actors.volumes.kept_volumes import KeptVolume
from actors.volumes.making.jobs import VolumeJob, VolumeLane, VolumesLookedAt
from kernel import Clock, Timer
from messages.pods import PodUid
from messages.units import Seconds

LOOKS_FOR_HANGING: Final = Seconds(5.0)
"""Between two looks, while any job is under way."""
HANGS_AFTER: Final = Seconds(30.0)
"""How long anybody waits for a job that is being done."""


class DueTimes:
    """When which volumes are to be looked at again. While there are none, there is no timer."""

    def __init__(
        self, clock: Callable[[], Clock], after: Callable[[Seconds, VolumesDue], Timer]
    ) -> None:
        self._clock = clock
        self._after = after
        self._due: list[tuple[Seconds, PodUid]] = []
        """A heap."""
        self._timer: tuple[Seconds, Timer] | None = None

    def add(self, at: Seconds, uid: PodUid) -> None:
        """Have a pod looked at again at a time."""
        heapq.heappush(self._due, (at, uid))
        self._set()

    def take(self) -> list[PodUid]:
        """Return the pods that are due. The timer told so."""
        self._timer, now = None, self._clock().monotonic()
        due: dict[PodUid, None] = {}
        while self._due and self._due[0][0] <= now:
            due[heapq.heappop(self._due)[1]] = None
        self._set()
        return list(due)

    def _set(self) -> None:
        if not self._due:
            return
        at = self._due[0][0]
        if self._timer is not None:
            if self._timer[0] <= at:
                return
            self._timer[1].cancel()
        delay = Seconds(max(at - self._clock().monotonic(), 0.0))
        self._timer = (at, self._after(delay, VolumesDue()))


class HangingJobs:
    """Looks for jobs about volumes that hang. While no job is under way, there is no timer."""

    def __init__(
        self,
        memory: VolumeKeeperMemory,
        after: Callable[[Seconds, HangingDue], Timer],
    ) -> None:
        self._memory = memory
        self._after = after
        self._timer: Timer | None = None

    def watch(self) -> None:
        """Have a timer, if any job is under way."""
        if self._timer is None and self._memory.jobs:
            self._timer = self._after(LOOKS_FOR_HANGING, HangingDue())

    def give_up(self, now: Seconds) -> list[JobOf]:
        """Let others take the place of jobs that hang. Return whose these are. The timer told so."""
        self._timer = None
        found = [(job, whose) for job, whose in self._memory.jobs.items() if _hangs(job, now)]
        for job, _ in found:
            job.is_hanging = True
            if job.in_flight is not None:
                job.in_flight.abandon()
        return [whose for _, whose in found]


def _hangs(job: VolumeJob, now: Seconds) -> bool:
    """Return whether ``job`` has begun to hang. Notes when it was seen first that a thread is at it."""
    in_flight = job.in_flight
    if in_flight is None or not in_flight.has_begun or job.is_hanging or job.outcome is not None:
        return False
    if job.seen_at is None:
        job.seen_at = now
    return now - job.seen_at >= HANGS_AFTER


class LostFiles:
    """Has the volumes looked for whose files somebody removed. While no pod has volumes, there is no timer.

    A kubelet compares all files of a pod's volumes whenever it syncs the pod, about once a minute. Here one
    job looks whether all volumes with files show any.
    """

    def __init__(
        self,
        ports: VolumeKeeperPorts,
        memory: VolumeKeeperMemory,
        after: Callable[[Seconds, LostFilesDue], Timer],
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._after = after
        self._timer: Timer | None = None

    def watch(self) -> None:
        """Have a timer, if there is anything to be looked at."""
        if self._timer is None and self._memory.pods:
            self._timer = self._after(self._ports.looks_every, LostFilesDue())

    def job(self) -> VolumeJob | None:
        """Return what looks at all volumes with files; None if there are none. The timer told so."""
        self._timer = None
        shown = tuple(each.shown for _, each in self._quiet() if each.shown is not None)
        if not shown:
            return None
        return VolumeJob(VolumeLane.DISK, partial(self._ports.maker.look_at, shown))

    def note(self, looked: VolumesLookedAt) -> list[PodUid]:
        """Have the volumes written again that show nothing. Return their pods."""
        pods: dict[PodUid, None] = {}
        for uid, volume in self._quiet():
            if volume.shown is not None and volume.shown.place.path in looked.empty:
                volume.is_stale = True
                pods[uid] = None
        return list(pods)

    def _quiet(self) -> Iterator[tuple[PodUid, KeptVolume]]:
        """Yield the volumes that were made, and that no job is about."""
        for uid, kept in self._memory.pods.items():
            for volume in kept.volumes.values() if kept.releasing is None else ():
                if volume.volume is not None and volume.job is None:
                    yield uid, volume
