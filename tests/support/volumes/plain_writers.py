"""Writers of volumes that do nothing by themselves: the test says when a job is done."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from typing_extensions import override

from volumes.making.jobs import VolumeJob, VolumeJobFailure, VolumeLane, VolumeWriters
from volumes.making.threads import do
from volumes.mounts.mount_table import MountPoint
from volumes.mounts.system_calls import MountCalls, MountFlag


class PlainWriters(VolumeWriters):
    """Does each job at once, on whichever thread starts it, unless it is paused."""

    def __init__(self) -> None:
        self.is_paused = False
        """Jobs wait until ``work`` is called."""
        self.trouble = ""
        """What every job fails for; empty if none fails."""
        self.waiting: list[tuple[VolumeJob, Callable[[], None]]] = []
        self.lanes: list[VolumeLane] = []
        """Of all jobs that were started."""
        self.given_up: list[VolumeJob] = []

    @override
    def start(self, job: VolumeJob, ended: Callable[[], None]) -> None:
        self.lanes.append(job.lane)
        if self.is_paused:
            self.waiting.append((job, ended))
            return
        self._do(job)
        ended()

    def _do(self, job: VolumeJob) -> None:
        if self.trouble:
            job.outcome = VolumeJobFailure(self.trouble)
        else:
            do(job)

    @override
    def give_up(self, job: VolumeJob) -> None:
        self.given_up.append(job)

    def work(self) -> None:
        """Do what waits."""
        waiting, self.waiting = self.waiting, []
        for job, ended in waiting:
            do(job)
            ended()

    def begin(self) -> None:
        """Have threads begin what waits, and hang in it."""
        for job, _ in self.waiting:
            job.is_running = True


class NoMounts(MountCalls):
    """A kernel that lets this process mount nothing."""

    @override
    def table(self) -> tuple[MountPoint, ...]:
        return ()

    @override
    def mount(self, source: str, target: str, kind: str, flags: MountFlag, options: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), target)

    @override
    def unmount(self, target: str, *, lazily: bool = False) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), target)

    @override
    def kind_of(self, descriptor: int) -> int:
        return 0
