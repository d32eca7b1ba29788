"""The directories of pods on the disk: which there are, and the removal of those without a pod."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
from typing_extensions import override

from actors.volumes.mounts.system_calls import MountCalls
from kernel import Failure
from messages.pods import PodUid
from messages.port import Port
from messages.volumes import ReleaseAnswer, ReleaseVolumes, VolumesGone
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.node import pod_dir
from runtimes.cri.disk.pod_files import remove_unless_held
from runtimes.cri.operations.flow import Disk, DiskLane, trouble_of

_log: Final = structlog.get_logger("runtime")


class OnceGone(Port[ReleaseAnswer]):
    """Goes on once the volumes of a pod are gone."""

    def __init__(self, rest: Callable[[], None]) -> None:
        self._rest = rest

    @override
    def tell(self, message: ReleaseAnswer, /) -> None:
        if isinstance(message, VolumesGone):
            self._rest()


class PodDirectoriesOnDisk:
    """Those below ``pods`` in a root directory. It belongs to the process, not to a life of an actor."""

    def __init__(
        self,
        root_dir: str,
        disk: Disk,
        volumes: Callable[[], Port[ReleaseVolumes] | None] = lambda: None,
        mounts: MountCalls | None = None,
    ) -> None:
        """``volumes`` gives who makes volumes. What is mounted goes before the directory it is in."""
        self._root_dir = root_dir
        self._disk = disk
        self._volumes = volumes
        self._mounts = mounts
        self._troubles: dict[PodUid, str] = {}
        """What was said of a directory that stays."""

    def pods(self) -> list[PodUid]:
        """Return the pods that have a directory. It may block."""
        try:
            with os.scandir(f"{self._root_dir}/pods") as entries:
                names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        # What is hidden is being removed already.
        return [PodUid(name) for name in sorted(names) if not name.startswith(".")]

    def remove(self, uid: PodUid) -> None:
        """Have the directory of a pod removed. Why one stays is said once."""
        try:
            directory = pod_dir(self._root_dir, uid)
        except ConfigRefusedError:
            return  # a name that no pod can have: nothing of ours
        volumes, rest = self._volumes(), partial(self._remove, uid, directory)
        if volumes is None:
            rest()
        else:
            gone = OnceGone(rest)
            volumes.tell(ReleaseVolumes(uid=uid, reply_to=gone, unless_wanted=True))

    def _remove(self, uid: PodUid, directory: str) -> None:
        work = partial(remove_unless_held, directory, self._mounts)
        self._disk[DiskLane.REMOVALS].start(work, partial(self._removed, uid))

    def _removed(self, uid: PodUid, outcome: object) -> None:
        trouble = trouble_of(outcome) if isinstance(outcome, Failure) else str(outcome)
        if not trouble:
            self._troubles.pop(uid, None)
            _log.info("files of a pod that is gone are removed", uid=uid)
        elif self._troubles.get(uid) != trouble:
            self._troubles[uid] = trouble
            _log.warning("the files of a pod are not removed", trouble=trouble)
