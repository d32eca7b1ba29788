"""Finding the volumes whose files somebody removed. A part of the keeper of volumes.

A kubelet compares all files of a pod's volumes whenever it syncs the pod, about once a minute. Here one job
looks whether all volumes with files show any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from actors.volumes.keeper_parts import LostFilesDue, VolumeKeeperMemory, VolumeKeeperPorts
from actors.volumes.kept_volumes import KeptVolume
from actors.volumes.making.jobs import VolumeJob, VolumeLane, VolumesLookedAt
from kernel import Timer
from messages.pods import PodUid
from messages.units import Seconds


class LostFiles:
    """Has them looked for, for one life of the keeper. While no pod has volumes, there is no timer."""

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
