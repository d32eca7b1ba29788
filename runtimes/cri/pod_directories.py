"""The directories of pods on the disk: which there are, and how those go that nobody needs."""

from __future__ import annotations

import os
from functools import partial
from typing import Final

import structlog

from messages.pods import PodUid
from runtimes.cri.configs.layout import pod_dir
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.operations.flow import Disk, DiskFailure, DiskJob, Lane
from volumes.mounts.removal import remove_pod_files

_log: Final = structlog.get_logger("runtime")


class PodDirectoriesOnDisk:
    """Those below ``pods`` in a root directory. It belongs to the process, not to a life of an actor."""

    def __init__(self, root_dir: str, disk: Disk) -> None:
        self._root_dir = root_dir
        self._disk = disk
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
        job: DiskJob[object] = DiskJob(partial(remove_pod_files, directory), Lane.REMOVALS)
        self._disk.start(job, partial(self._removed, uid))

    def _removed(self, uid: PodUid, outcome: object) -> None:
        trouble = outcome.message if isinstance(outcome, DiskFailure) else str(outcome)
        if not trouble:
            self._troubles.pop(uid, None)
            _log.info("files of a pod that is gone are removed", uid=uid)
        elif self._troubles.get(uid) != trouble:
            self._troubles[uid] = trouble
            _log.warning("the files of a pod are not removed", trouble=trouble)
